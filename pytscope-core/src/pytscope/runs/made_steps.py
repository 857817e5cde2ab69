"""Steps given as plain Python durations, as exact columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import numpy as np

from pytscope.model.records import Segment
from pytscope.runs.columns import join_segments
from pytscope.runs.run import Ints

Duration = float | int
PhaseColumns = Mapping[str, Duration | Sequence[Duration]]
"""Durations by phase: one for all steps, or one a step."""
StepSegments = Sequence[Sequence[tuple[str, Duration]]]
"""Steps as segments, in time order."""
Phases = PhaseColumns | StepSegments

_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def unit_ns(unit: str) -> int:
    """Nanoseconds of a unit: `ns`, `us`, `ms` or `s`.

    Raises:
        ValueError: It is another unit.
    """
    if unit not in _NS:
        msg = f"unit {unit!r} is none of {', '.join(_NS)}"
        raise ValueError(msg)
    return _NS[unit]


def nanoseconds(value: Duration, scale: int) -> int:
    """A duration in units of `scale` nanoseconds, as the nearest whole number of them."""
    return value * scale if isinstance(value, int) else round(float(value) * scale)


@attrs.frozen(eq=False)
class MadeSteps:
    """Steps as columns in time order: one for every place a segment may stand at.

    Attributes:
        names: Phase of every place; a phase may have several.
        columns: Nanoseconds at every place, one a step; 0 where a step has none.
        steps: Number of steps.
    """

    names: tuple[str, ...]
    columns: tuple[Ints, ...]
    steps: int

    @classmethod
    def of(cls, phases: Phases, steps: int, scale: int) -> MadeSteps:
        """Make columns of durations.

        Args:
            phases: Durations by phase, or steps as segments.
            steps: Number of steps.
            scale: Nanoseconds of the durations' unit.
        """
        if isinstance(phases, Mapping):
            columns = tuple(_column(values, steps, scale) for values in phases.values())
            return cls(tuple(phases), columns, steps)
        names, columns = _by_place(phases, scale)
        return cls(names, columns, steps)

    def noisy(self, noise: float, random: np.random.Generator) -> MadeSteps:
        """The same with every duration multiplied by a lognormal factor of mean 1.

        Args:
            noise: Relative standard deviation of the factor.
            random: Where the factors come from.
        """
        sigma = float(np.sqrt(np.log1p(noise**2)))
        factors = random.lognormal(-(sigma**2) / 2, sigma, (len(self.names), self.steps))
        noisy = (
            np.rint(c * f).astype(np.int64) for c, f in zip(self.columns, factors, strict=True)
        )
        return attrs.evolve(self, columns=tuple(noisy))

    def wall_ns(self) -> Ints:
        """Wall time of every step."""
        return sum(self.columns, np.zeros(self.steps, np.int64))

    def segments(self, row: int) -> tuple[Segment, ...]:
        """Segments of one step."""
        values = (int(column[row]) for column in self.columns)
        return join_segments(zip(self.names, values, strict=True))

    def phase(self, name: str) -> tuple[Ints, Ints]:
        """Rows that have a phase, and its nanoseconds there."""
        chosen = [c for n, c in zip(self.names, self.columns, strict=True) if n == name]
        total = sum(chosen, np.zeros(self.steps, np.int64))
        rows = np.flatnonzero(total)
        return rows, total[rows]


def _column(values: Duration | Sequence[Duration], steps: int, scale: int) -> Ints:
    if isinstance(values, int | float):
        return np.full(steps, nanoseconds(values, scale), np.int64)
    return np.array([nanoseconds(value, scale) for value in values], np.int64)


def _by_place(steps: StepSegments, scale: int) -> tuple[tuple[str, ...], tuple[Ints, ...]]:
    """Line up steps of different shapes: a segment takes the next place of its phase."""
    names: list[str] = []
    columns: list[Ints] = []
    for row, segments in enumerate(steps):
        at = 0
        for phase, value in segments:
            while at < len(names) and names[at] != phase:
                at += 1
            if at == len(names):
                names.append(phase)
                columns.append(np.zeros(len(steps), np.int64))
            columns[at][row] = nanoseconds(value, scale)
            at += 1
    return tuple(names), tuple(columns)
