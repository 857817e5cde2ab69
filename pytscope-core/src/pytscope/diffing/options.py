"""What a caller may ask of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pytscope.analysis.options import AnalyzeOptions
from pytscope.diffing.arms import seed_of
from pytscope.diffing.gate import RegressionGate
from pytscope.diffing.noise import NoiseStore
from pytscope.model.errors import UsageError
from pytscope.runs.run import Run

_FEWEST = 2
_LETTERS = 26


@attrs.frozen(kw_only=True)
class CompareOptions:
    """Options of a comparison.

    Attributes:
        analysis: Warm-up, window, thresholds and the like, for every run.
        noise: What repeats of configurations were seen to do.
        gate: The gate of `--fail-on`, or None.
        detailed: Whether to show facts that hardly change numbers.
    """

    analysis: AnalyzeOptions = attrs.field(factory=AnalyzeOptions)
    noise: NoiseStore = attrs.field(factory=NoiseStore)
    gate: RegressionGate | None = None
    detailed: bool = False


@attrs.frozen(eq=False)
class Compared:
    """The runs to compare, in order.

    Attributes:
        runs: All of them, those of the first arm first.
        arms: Arm of each, 0 or 1.
        grouped: Whether they are compared as two arms; otherwise the first is
            compared with each of the others.
    """

    runs: tuple[Run, ...]
    arms: tuple[int, ...]
    grouped: bool

    @classmethod
    def of(cls, first: Sequence[Run], second: Sequence[Run] = ()) -> Compared:
        """Runs as two arms, or the first run against the others.

        Raises:
            UsageError: There is nothing to compare with.
        """
        runs = (*first, *second)
        if not first or len(runs) < _FEWEST:
            msg = "a comparison needs at least two runs"
            raise UsageError(msg)
        if second:
            return cls(runs, (0,) * len(first) + (1,) * len(second), grouped=True)
        return cls(runs, (0, *(1,) * (len(runs) - 1)), grouped=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """`A`, `B`, …, and after `Z` `AA`, `AB`, …."""
        return self.letters(len(self.runs))

    @staticmethod
    def letters(runs: int) -> tuple[str, ...]:
        """Labels of a number of runs, in order."""
        return tuple(map(_label, range(runs)))

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Places of the runs to look at side by side.

        The first run with each of the others; of two arms, each run of the
        second with one of the first: of its seeds where there is one, else
        its counterpart in order, or the last there is.
        """
        if not self.grouped:
            return tuple((0, other) for other in range(1, len(self.runs)))
        seeds = [seed_of(run) for run in self.runs]
        first = self.arms.index(1)
        return tuple(
            (_counterpart(place, first, seeds), place) for place in range(first, len(seeds))
        )


def _counterpart(place: int, first: int, seeds: Sequence[str]) -> int:
    alike = (other for other in range(first) if seeds[place] and seeds[other] == seeds[place])
    return next(alike, min(place - first, first - 1))


def _label(place: int) -> str:
    before, letter = divmod(place, _LETTERS)
    return (_label(before - 1) if before else "") + chr(ord("A") + letter)
