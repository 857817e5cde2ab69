"""`Spikes`: what stands out in loss, gradient norm, step time and memory."""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs
import numpy as np

from pytscope.analyses.column import Column
from pytscope.analyses.event_mask import WORDS
from pytscope.analyses.units import count, duration, size
from pytscope.model.jsonable import SHORTENED
from pytscope.model.panels import Panel, Row, Spark, Status, Table, Text
from pytscope.model.wording import listed
from pytscope.runs.run import Floats
from pytscope.signals.spikes import Spike

LOSS, GRAD_NORM, STEP_TIME, MEMORY = AXES = ("loss", "grad_norm", "step_time", "memory")
"""The axes, in the order in which they are shown."""
TITLES = {LOSS: "loss", GRAD_NORM: "grad norm", STEP_TIME: "step time", MEMORY: "memory"}
SPARK_VALUES = 1_200
"""Most values a sparkline is given; a multiple of the cells that reporters draw."""
MOST_WRITTEN = 100
"""Spikes of an axis that JSON holds: the tallest."""
_SHOWN = 8
_LOST = 5


@attrs.frozen
class KnownSpike:
    """A spike, and the event that accounts for it.

    Attributes:
        spike: What stands out.
        explained: Kind of the event, such as `checkpoint`; `period` when the spikes
            themselves keep one; empty when nothing accounts for it.
        beside: Other axes that stand out at the same time.
    """

    spike: Spike
    explained: str = ""
    beside: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """`spike`, or `odd point` for a single point without company."""
        return "spike" if self.spike.severe or self.beside else "odd point"


def _tallest(spikes: tuple[KnownSpike, ...]) -> tuple[KnownSpike, ...]:
    if len(spikes) <= MOST_WRITTEN:
        return spikes
    tall = sorted(spikes, key=lambda known: -known.spike.z)[:MOST_WRITTEN]
    return tuple(sorted(tall, key=lambda known: known.spike.start))


@attrs.frozen(eq=False, kw_only=True)
class AxisSpikes:
    """One axis.

    Attributes:
        name: One of `loss grad_norm step_time memory`.
        rank: Rank it is of.
        series: Name of the column it is read from.
        points: Values looked at.
        gap: Steps from one value to the next, the median.
        judged: Values that could have been called a spike: they have 16 before
            them, are no 0 that stands for no value, and no known event accounts for
            them.
        not_finite: Values that are NaN or infinite.
        lost_from: Step from which no value is finite any more, or None.
        number: How many spikes.
        spikes: The spikes; of more than 100, JSON holds the tallest.
        period: The spikes' own period in steps, or None.
        step: Steps of the values.
        each: The values; step time in nanoseconds, memory in bytes.
        unmasked: Steps of the judged values.
    """

    name: str
    rank: int
    series: str
    points: int
    gap: int
    judged: int
    not_finite: int
    lost_from: int | None
    number: int
    spikes: tuple[KnownSpike, ...] = attrs.field(metadata={SHORTENED: _tallest})
    period: int | None
    step: Column = attrs.field(repr=False)
    each: Column = attrs.field(repr=False)
    unmasked: Column = attrs.field(repr=False)

    @property
    def unexplained(self) -> tuple[KnownSpike, ...]:
        """Spikes that no known event accounts for."""
        return tuple(known for known in self.spikes if not known.explained)

    @property
    def lost(self) -> bool:
        """Whether it ends in values that are not finite, and in more than a skipped update."""
        if self.lost_from is None:
            return False
        return self.name == LOSS or int((self.step.values >= self.lost_from).sum()) >= _LOST

    def amount(self, value: float) -> str:
        """A value with its unit."""
        if not math.isfinite(value):
            return f"{value}"
        if self.name == STEP_TIME:
            return duration(value)
        return size(value) if self.name == MEMORY else f"{value:.4g}"


@attrs.frozen(eq=False, kw_only=True)
class Spikes:
    """What stands out upwards on each axis, and what accounts for it.

    Attributes:
        rank: Rank of step time and memory; loss and gradient norm are of it too where
            it logged them, else of the lowest rank that did.
        axes: The axes that could be judged, in the order of `AXES`.
        missing: Axes that could not, with the reason, as clauses.
        ranks: Ranks that were recorded.
        redone: Steps of the rank that were done again: what they were at first is not
            looked at.
    """

    rank: int
    axes: tuple[AxisSpikes, ...]
    missing: tuple[str, ...] = ()
    ranks: int = 1
    redone: int = 0

    def axis(self, name: str) -> AxisSpikes | None:
        """An axis, or None when it could not be judged."""
        return next((axis for axis in self.axes if axis.name == name), None)

    def panel(self) -> Panel:
        """The SPIKES panel."""
        return Panel("spikes", "SPIKES", self._headline(), self._status(), self._rows(), order=44)

    def _headline(self) -> str:
        parts = []
        for axis in self.axes:
            unexplained, all_of_it = len(axis.unexplained), axis.number
            said = f"{TITLES[axis.name]} {unexplained:,}"
            parts.append(
                said + (f" (+{all_of_it - unexplained:,} known)" if all_of_it > unexplained else "")
            )
        if self.axis(LOSS) is None:
            parts.append(f"{TITLES[LOSS]} not judged")
        return " · ".join(parts)

    def _status(self) -> Status:
        loss = self.axis(LOSS)
        unexplained = loss.unexplained if loss is not None else ()
        grave = [known.spike for known in unexplained if known.word == "spike"]
        if any(spike.recovered is False for spike in grave) or any(a.lost for a in self.axes):
            return Status.BAD
        return Status.WATCH if grave else Status.OK

    def _rows(self) -> Iterator[Row]:
        for axis in self.axes:
            if axis.name in (LOSS, GRAD_NORM):
                yield Spark(TITLES[axis.name], _thinned(axis.each.values), axis.series)
        rows = tuple(self._table())
        if rows:
            header = ("axis", "steps", "value", "usual", "times", "noise", "after", "known")
            yield Table(header, rows, right=(2, 3, 4, 5))
        yield Text(" · ".join(self._notes()))

    def _table(self) -> Iterator[tuple[str, ...]]:
        for axis in self.axes:
            tallest = sorted(axis.spikes, key=lambda k: (bool(k.explained), -k.spike.z))[:_SHOWN]
            for known in sorted(tallest, key=lambda k: k.spike.start):
                yield _cells(axis, known)

    def _notes(self) -> Iterator[str]:
        for axis in self.axes:
            if axis.number > _SHOWN:
                yield f"{TITLES[axis.name]}: {axis.number - _SHOWN:,} more spikes"
            if axis.lost_from is not None:
                yield f"{TITLES[axis.name]} is not finite from step {axis.lost_from} on"
            elif axis.not_finite:
                yield f"{TITLES[axis.name]}: {count(axis.not_finite, 'value')} not finite"
        looked = (f"{TITLES[a.name]} {a.judged:,} of {a.points:,}" for a in self.axes)
        yield f"judged: {', '.join(looked)} (not the first 16, not what known events hold)"
        if self.redone:
            yield f"{count(self.redone, 'step')} done again: only the last pass is looked at"
        if self.ranks > 1:
            by = {rank: [a for a in self.axes if a.rank == rank] for rank in self._of()}
            said = (f"{listed(TITLES[a.name] for a in axes)} of rank {r}" for r, axes in by.items())
            yield f"{', '.join(said)}; other ranks are not looked at"
        yield from self.missing

    def _of(self) -> list[int]:
        return sorted({axis.rank for axis in self.axes})


def _cells(axis: AxisSpikes, known: KnownSpike) -> tuple[str, ...]:
    spike = known.spike
    steps = str(spike.start) if spike.start == spike.end else f"{spike.start}-{spike.end}"
    ratio = "-" if spike.ratio is None or math.isinf(spike.ratio) else f"{spike.ratio:.3g}"
    if spike.shift:
        after = "a new level"
    else:
        after = {True: "recovered", False: "not recovered", None: "ends here"}[spike.recovered]
    said = WORDS.get(known.explained, "").removeprefix("a ").removeprefix("an ")
    if known.explained == "period":
        said = f"every {axis.period} steps"
    elif not said:
        said = f"with {', '.join(TITLES[b] for b in known.beside)}" if known.beside else "-"
    value, usual = axis.amount(spike.value), axis.amount(spike.level)
    noise = "-" if math.isinf(spike.z) else f"{spike.z:,.0f}"
    return (TITLES[axis.name], steps, value, usual, ratio, noise, after, said)


def _thinned(values: Floats) -> tuple[float, ...]:
    """The finite values, or the maxima of their pieces when there are many."""
    finite = values[np.isfinite(values)]
    if len(finite) <= SPARK_VALUES:
        return tuple(finite.tolist())
    starts = np.arange(SPARK_VALUES) * len(finite) // SPARK_VALUES
    return tuple(np.maximum.reduceat(finite, starts).tolist())
