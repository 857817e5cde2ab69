"""The writer's side of instrumentation: keys are named once per shape of step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from pytscope.recording.drain import Drain
from pytscope.recording.keys import END, Key
from pytscope.recording.plain import name_of
from pytscope.recording.prefix import TYPES, alike, first_step
from pytscope_torch.naming import name_step, unfold
from pytscope_torch.stamps import RATE

MAX_KEYS = 1_000_000
"""Keys of the shapes of steps that are remembered, all together."""


class NamingDrain(Drain):
    """A drain that first names what instrumentation stamped."""

    def __init__(self, start_ns: int, first_step: int) -> None:
        super().__init__(start_ns, first_step)
        self._naming = Naming()

    def take(self, events: list[Any]) -> None:
        """As the base class."""
        super().take(self._named(events))

    def absorb(self, events: list[Any]) -> None:
        """As the base class."""
        super().absorb(self._named(events))

    def open_record(self, events: list[Any], now: int) -> bytes:
        """As the base class."""
        return super().open_record(self._named(events), now)

    def finish(self, events: list[Any], now: int) -> list[tuple[str, int]]:
        """As the base class."""
        return super().finish(self._named(events), now)

    def _named(self, events: list[Any]) -> list[Any]:
        keys, values = events[::2], events[1::2]
        named: list[Any] = []
        start = 0
        for step, count in self._naming.runs(keys):
            stop = start + step.size * count
            named += step.applied(values[start:stop], count)
            start = stop
        return named


class Named:
    """The keys of a shape of step, named.

    Args:
        keys: As stamped.

    Attributes:
        size: How many were stamped.
    """

    __slots__ = ("_keys", "_places", "_taken", "size")

    def __init__(self, keys: Sequence[object]) -> None:
        self.size = len(keys)
        unfolded, places = unfold(keys)
        self._keys, self._places = settled_rate(name_step(unfolded), places)
        self._taken = itemgetter(0, *self._places)  # of one place alone it would make no tuple

    def applied(self, values: list[Any], count: int) -> list[Any]:
        """Named keys and their values, of so many steps in a row.

        Args:
            values: What was stamped.
            count: How many steps.
        """
        size = self.size
        named: list[Any] = [None] * (2 * len(self._keys) * count)
        named[::2] = self._keys * count
        if count == 1:
            named[1::2] = self._taken(values)[1:]
        else:
            for at, place in enumerate(self._places):
                named[2 * at + 1 :: 2 * len(self._keys)] = values[place::size]
        return named


def settled_rate(keys: list[object], places: list[int]) -> tuple[list[object], list[int]]:
    """The keys of a step with its learning rate behind its end, where it is no earlier step's."""
    if RATE not in keys or keys[-1] is not END:
        return keys, places
    order = sorted(range(len(keys)), key=lambda place: keys[place] is RATE)
    return [keys[place] for place in order], [places[place] for place in order]


class Naming:
    """Names the keys of a recording, step by step."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[object, ...], Named] = {}
        self._size = 0

    def runs(self, keys: list[Any]) -> Iterator[tuple[Named, int]]:
        """The steps, named, and how many in a row have the same keys.

        Args:
            keys: Keys of the event list from just after a step end on; what
                follows the last step end is still going on.
        """
        size = first_step(keys)
        if size and not len(keys) % size and keys[size - 1] is END:
            count = len(keys) // size
            if alike(keys, size, count):
                yield self._step(tuple(keys[:size])), count
                return
        if not TYPES.issuperset(map(type, keys)):
            keys = [key if isinstance(key, Key) else name_of(key) for key in keys]
        start = 0
        while start < len(keys):
            stop = _end(keys, start)
            step = keys[start:stop]
            size, count = len(step), 1
            while keys[stop : stop + size] == step:
                stop += size
                count += 1
            yield self._step(tuple(step)), count
            start = stop

    def _step(self, keys: tuple[object, ...]) -> Named:
        named = self._shapes.get(keys)
        if named is None:
            self._size += len(keys)
            if self._size > MAX_KEYS:
                self._shapes.clear()
                self._size = len(keys)
            named = self._shapes[keys] = Named(keys)
        return named


def _end(keys: list[Any], start: int) -> int:
    """Where the step that begins there ends, or the keys do."""
    try:
        return keys.index(END, start) + 1
    except ValueError:
        return len(keys)
