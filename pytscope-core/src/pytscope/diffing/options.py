"""What a caller may ask of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from pytscope.analysis.options import AnalyzeOptions
from pytscope.diffing.gate import RegressionGate
from pytscope.diffing.identity import same_recording, seed_of
from pytscope.diffing.noise import NoiseStore
from pytscope.model.comparison import LeftOut
from pytscope.model.errors import PytscopeError, UsageError
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
class Unread:
    """A run that was given and cannot be read.

    Attributes:
        path: Where it should be.
        error: Why it cannot.
    """

    path: str
    error: PytscopeError

    @property
    def reason(self) -> str:
        """The error as a sentence that names no folder; a bare name may stay."""
        path = str(Path(self.path))
        said = str(self.error)
        return said.replace(path, "it") if len(Path(path).parts) > 1 else said


@attrs.frozen(eq=False)
class Compared:
    """The runs to compare, in order.

    Attributes:
        runs: All of them, those of the first arm first.
        arms: Arm of each, 0 or 1.
        labels: `A`, `B`, …, and after `Z` `AA`, `AB`, …, by their places among all given.
        grouped: Whether they are compared as two arms; otherwise the first is
            compared with each of the others.
        left_out: Runs that were given too.
    """

    runs: tuple[Run, ...]
    arms: tuple[int, ...]
    labels: tuple[str, ...]
    grouped: bool
    left_out: tuple[LeftOut, ...] = ()

    @classmethod
    def of(cls, first: Sequence[Run | Unread], second: Sequence[Run | Unread] = ()) -> Compared:
        """Runs as two arms, or the first run against the others.

        One that cannot be read is left out where two or more can, and one of each arm.

        Raises:
            UsageError: There is nothing to compare with, or a run is in both arms.
            PytscopeError: Of the first run that cannot be read, where too few can.
        """
        given = (*first, *second)
        if not first or len(given) < _FEWEST:
            msg = "a comparison needs at least two runs"
            raise UsageError(msg)
        unread = {at: one for at, one in enumerate(given) if isinstance(one, Unread)}
        runs = {at: one for at, one in enumerate(given) if isinstance(one, Run)}
        if second:
            _must_be_apart(runs, cls.letters(len(given)), len(first))
        arms = [int(at >= (len(first) if second else 1)) for at in range(len(given))]
        labels = cls.letters(len(given))
        if not _enough([arms[at] for at in runs], grouped=bool(second)):
            raise next(iter(unread.values())).error
        return cls(
            tuple(runs.values()),
            _sides([arms[at] for at in runs], grouped=bool(second)),
            tuple(labels[at] for at in runs),
            grouped=bool(second),
            left_out=tuple(
                LeftOut(label=labels[at], arm=arms[at], path=one.path, reason=one.reason)
                for at, one in unread.items()
            ),
        )

    def without(self, reasons: Mapping[int, str]) -> Compared | None:
        """The comparison without some runs; None where too few would be left.

        Args:
            reasons: Why each is left out, by its place.
        """
        kept = [at for at in range(len(self.runs)) if at not in reasons]
        arms = [self.arms[at] for at in kept]
        if not _enough(arms, grouped=self.grouped):
            return None
        out = (
            LeftOut(
                label=self.labels[at], arm=self.arms[at], path=self.runs[at].path, reason=reason
            )
            for at, reason in reasons.items()
        )
        return attrs.evolve(
            self,
            runs=tuple(self.runs[at] for at in kept),
            arms=_sides(arms, grouped=self.grouped),
            labels=tuple(self.labels[at] for at in kept),
            left_out=(*self.left_out, *out),
        )

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


def _must_be_apart(runs: Mapping[int, Run], labels: Sequence[str], first: int) -> None:
    """Let no run be a repeat of both arms: it would make them look alike.

    Raises:
        UsageError: One is.
    """
    for at, one in runs.items():
        for other, run in runs.items():
            apart = not at < first <= other or one.path != run.path or not one.path
            if not apart and same_recording(one, run):
                msg = (
                    f"{labels[at]} and {labels[other]} are one run ({run.path}): "
                    "a run stands on one side of --vs alone"
                )
                raise UsageError(msg)


def _enough(arms: Sequence[int], *, grouped: bool) -> bool:
    return len(set(arms)) == _FEWEST if grouped else len(arms) >= _FEWEST


def _sides(arms: Sequence[int], *, grouped: bool) -> tuple[int, ...]:
    """The arm of each run; where they are no arms, that of the first and that of the others."""
    return tuple(arms) if grouped else (0, *(1,) * (len(arms) - 1))


def _counterpart(place: int, first: int, seeds: Sequence[str]) -> int:
    alike = (other for other in range(first) if seeds[place] and seeds[other] == seeds[place])
    return next(alike, min(place - first, first - 1))


def _label(place: int) -> str:
    before, letter = divmod(place, _LETTERS)
    return (_label(before - 1) if before else "") + chr(ord("A") + letter)
