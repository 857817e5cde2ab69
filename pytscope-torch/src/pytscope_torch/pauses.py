"""Garbage collections, put among the stamps of the steps they interrupted.

The collector tells of them without running Python (`seams.interruptions`), so
the training thread cannot stamp them; the writer's thread does, by their times.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from pytscope.recording.keys import CLOSE, DROPPED, is_value
from pytscope_torch.draining import NamingDrain
from pytscope_torch.stamps import GC

SHORTEST_NS = 50_000
"""Collections shorter than this stay part of the phase they interrupt."""
MOST = 1 << 16
"""Collections that wait for the writer at most; beyond, the oldest are forgotten."""


class Pause(NamedTuple):
    """A collection.

    Attributes:
        since: Its begin, on the recording's clock.
        until: Its end.
        here: Whether the recording's own thread made it.
    """

    since: int
    until: int
    here: bool


class PausedDrain(NamingDrain):
    """A drain that first puts collections among the stamps.

    Args:
        start_ns: The attempt's first stamp.
        first_step: Number of the first step.

    Attributes:
        found: Where collections are put, as the fields of `Pause`, in order.
    """

    def __init__(self, start_ns: int, first_step: int) -> None:
        super().__init__(start_ns, first_step)
        self.found: deque[tuple[Any, ...]] = deque(maxlen=MOST)
        self._waiting: list[Pause] = []
        self._behind = start_ns

    def take(self, events: list[Any]) -> None:
        """As the base class."""
        paused = self._paused(events)
        self._behind = Stamped(events, self._behind).last
        super().take(paused)

    def absorb(self, events: list[Any]) -> None:
        """As the base class."""
        paused = self._paused(events)
        self._behind = Stamped(events, self._behind).last
        super().absorb(paused)

    def open_record(self, events: list[Any], now: int) -> bytes:
        """As the base class."""
        return super().open_record(self._paused(events, now), now)

    def finish(self, events: list[Any], now: int) -> list[tuple[str, int]]:
        """As the base class."""
        return super().finish(self._paused(events, now), now)

    def _paused(self, events: list[Any], now: int = 0) -> list[Any]:
        while self.found:
            pause = Pause(*self.found.popleft())
            if pause.here and pause.until - pause.since >= SHORTEST_NS:
                self._waiting.append(pause)
        self._waiting = [pause for pause in self._waiting if pause.since >= self._behind]
        if not self._waiting:
            return events
        return with_pauses(events, self._waiting, self._behind, now)


class Stamped:
    """The times in a part of an event list.

    Args:
        events: Keys and values, alternating.
        before: The last stamp before it.

    Attributes:
        keys: The keys.
    """

    def __init__(self, events: list[Any], before: int) -> None:
        self.keys = events[::2]
        self._values = events[1::2]
        self._before = before

    def at(self, place: int) -> int:
        """The stamp at a place, or the last one before it if a logged value is there."""
        while place >= 0 and is_value(self.keys[place]):
            place -= 1
        if place < 0:
            return self._before
        value: Any = self._values[place]
        stamp: int = value[1] if self.keys[place] is DROPPED else value
        return stamp

    @property
    def last(self) -> int:
        """The last stamp."""
        return self.at(len(self.keys) - 1)

    def place(self, pause: Pause, now: int) -> int | None:
        """Where a collection belongs; None if it is elsewhere, or something was stamped in it."""
        place = bisect_right(range(len(self.keys)), pause.since, key=self.at)
        if place == len(self.keys):
            return place if pause.until <= now else None
        within = self.at(place) >= pause.until and self.keys[place] is not DROPPED
        return place if within else None


def with_pauses(events: list[Any], pauses: Iterable[Pause], before: int, now: int = 0) -> list[Any]:
    """A part of an event list with collections in it, as blocks.

    Args:
        events: Keys and values, alternating.
        pauses: The collections, in order; what does not belong here is left out.
        before: The last stamp before it.
        now: The stamp up to which it goes, if that is after its last one.
    """
    stamped = Stamped(events, before)
    out: list[Any] = []
    taken = 0
    for pause in pauses:
        place = stamped.place(pause, now)
        if place is not None:
            out += events[2 * taken : 2 * place]
            out += (GC, pause.since, CLOSE, pause.until)
            taken = place
    return out + events[2 * taken :]
