"""`EventMask`: what happened in a run that makes values stand out without anything wrong."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from pytscope.analyses.around import Around
from pytscope.analyses.column import Column
from pytscope.model.panels import Panel, Row, Status, Table, Text
from pytscope.model.wording import listed
from pytscope.runs.run import Bools, Ints

WORDS = {
    "warm-up": "warm-up",
    "resume": "a resume",
    "restart": "a restart",
    "epoch": "the end of an epoch",
    "eval": "an evaluation",
    "checkpoint": "a checkpoint",
    "compile": "a compilation",
    "lr": "a raised learning rate",
    "skipped": "a skipped update",
}
"""Kinds of events, as sentences name them."""
_NAMED = 6


@attrs.frozen(eq=False, kw_only=True)
class Event:
    """One kind of event, and what it accounts for.

    Attributes:
        kind: One of `warm-up resume restart epoch eval checkpoint compile lr skipped`.
        count: How often it happened in the steps looked at.
        every: Its period in steps, or None when it keeps none.
        explains: Axes that may stand out because of it: of `loss`, `grad_norm`,
            `step_time` and `memory`; none when it happens in most steps.
        before: Steps before it that it accounts for.
        after: Steps after it.
        how: How it is known.
        step: Steps at which it happened.
        around: How often it happened besides, before the first step and after the last.
    """

    kind: str
    count: int
    every: int | None
    explains: tuple[str, ...]
    before: int
    after: int
    how: str
    step: Column = attrs.field(repr=False)
    around: Around = attrs.field(factory=Around)

    @property
    def told(self) -> str:
        """How often it happened, as text: `3 (2 between steps, 1 after the last)`."""
        total = f"{self.count + self.around.number:,}"
        return f"{total} ({self.around.counted(self.count)})" if self.around.number else total

    def covers(self, steps: Ints, gap: int = 1) -> Bools:
        """Which steps it accounts for.

        Args:
            steps: Global steps at which a series has a value.
            gap: Steps that one value of the series stands for, up to its own.
        """
        known = self.step.values
        first = np.searchsorted(known, steps - max(gap, 1) - self.after, side="right")
        return np.asarray(np.searchsorted(known, steps + self.before, side="right") > first)


@attrs.frozen(eq=False, kw_only=True)
class EventMask:
    """Known events of the shown rank, taken out before anything is called an anomaly.

    Attributes:
        rank: The rank.
        steps: Steps looked at, done-again ones left out.
        events: What happened, by kind.
        unknown: What cannot be known from this run, and what to record for it.
    """

    rank: int
    steps: int
    events: tuple[Event, ...]
    unknown: tuple[str, ...] = ()

    def event(self, kind: str) -> Event | None:
        """The events of a kind, or None."""
        return next((event for event in self.events if event.kind == kind), None)

    def explained(self, axis: str, steps: Ints, gap: int = 1) -> list[str]:
        """Kind of the event that accounts for each step, an empty string without one.

        Args:
            axis: `loss`, `grad_norm`, `step_time` or `memory`.
            steps: Global steps.
            gap: Steps that one value of the series stands for.
        """
        kinds = [""] * len(steps)
        for event in self.events:
            if axis in event.explains:
                for place in np.flatnonzero(event.covers(steps, gap)).tolist():
                    kinds[place] = kinds[place] or event.kind
        return kinds

    def masked(self, axis: str, steps: Ints, gap: int = 1) -> Bools:
        """Which steps some event accounts for; arguments as for `explained`."""
        masked = np.zeros(len(steps), np.bool_)
        for event in self.events:
            if axis in event.explains:
                masked |= event.covers(steps, gap)
        return masked

    def panel(self) -> Panel | None:
        """The EVENTS panel; none where nothing happened but warm-up, and nothing is logged."""
        if not self.unknown and {event.kind for event in self.events} <= {"warm-up"}:
            return None
        if not self.events:
            return None
        counts = [f"{event.kind} {event.told}" for event in self.events]
        headline = f"{' · '.join(counts)}   (known causes)"
        return Panel("events", "EVENTS", headline, Status.OK, self._rows(), order=42)

    def _rows(self) -> Iterator[Row]:
        header = ("event", "times", "every", "steps", "accounts for")
        yield Table(header, tuple(map(_cells, self.events)), right=(1, 2))
        if self.unknown:
            yield Text("not known: " + "; ".join(self.unknown))


def _cells(event: Event) -> tuple[str, ...]:
    steps = event.step.values
    if event.kind == "warm-up" and len(steps):
        where = f"{int(steps[0])} to {int(steps[-1])}"
    else:
        where = listed(map(str, steps[:_NAMED].tolist())) if len(steps) else ""
        where += f" and {event.count - _NAMED:,} more" if event.count > _NAMED else ""
        beside = event.around.counted(0)
        where = ", ".join(part for part in (where, beside) if part)
    every = f"{event.every:,}" if event.every else "-"
    explains = listed(name.replace("_", " ") for name in event.explains)
    return (event.kind, f"{event.count + event.around.number:,}", every, where, explains)
