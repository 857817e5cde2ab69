"""What runs logged, by global step, and the steps that they share."""

from __future__ import annotations

import attrs
import numpy as np

from pytscope.runs.last_pass import counting
from pytscope.runs.run import Floats, Ints, Run


@attrs.frozen(eq=False)
class Series:
    """A logged series: ascending global steps, each once, and their values."""

    steps: Ints
    values: Floats

    def __len__(self) -> int:
        """Number of values."""
        return len(self.steps)

    def until(self, last: int) -> Series:
        """Without what comes after a step."""
        kept = int(np.searchsorted(self.steps, last, side="right"))
        return Series(self.steps[:kept], self.values[:kept])

    def common(self, other: Series) -> tuple[Ints, Floats, Floats]:
        """Steps that both have, and either's values there."""
        steps, mine, theirs = common(self.steps, other.steps)
        return steps, self.values[mine], other.values[theirs]

    def equals(self, other: Series) -> int | None:
        """Number of common steps where all values are the same bits, or None; NaN equals NaN."""
        steps, mine, theirs = self.common(other)
        same = mine.view(np.int64) == theirs.view(np.int64)
        return len(steps) if (same | (np.isnan(mine) & np.isnan(theirs))).all() else None


def names(run: Run) -> tuple[str, ...]:
    """Names of everything that any rank logged, in order of appearance."""
    return tuple(dict.fromkeys(name for line in run.timelines for name in line.scalars))


def series(run: Run, name: str) -> Series | None:
    """What was logged under a name, of the lowest rank that did; None for nothing."""
    for timeline in run.timelines:
        if name in timeline.scalars:
            steps, values = counting(timeline, name)
            if len(steps):
                return Series(steps, np.ascontiguousarray(values, np.float64))
    return None


def integers(run: Run, name: str) -> tuple[Ints, Ints] | None:
    """The same of whole numbers, exact: fingerprints have more bits than a float keeps."""
    for timeline in run.timelines:
        if name in timeline.scalars:
            steps, values = counting(timeline, name)
            if values.dtype.kind == "i":
                return steps, values
    return None


def common(first: Ints, second: Ints) -> tuple[Ints, Ints, Ints]:
    """Steps that two ascending series share, and their places in either."""
    if np.array_equal(first, second):
        places: Ints = np.arange(len(first))
        return first, places, places
    return np.intersect1d(first, second, assume_unique=True, return_indices=True)
