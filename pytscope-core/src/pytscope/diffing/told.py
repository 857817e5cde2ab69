"""What a comparison of two arms of runs rests on, as a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs

from pytscope.diffing import judging
from pytscope.model.comparison import Measured, Verdict

UNKNOWN = (
    "how much repeats differ is not known; three runs an arm or more, or earlier repeats in a "
    "noise store, would tell"
)
ONE_SEED_EACH = (
    "all runs of an arm have one seed and the arms have different ones, so the seed may be the "
    "whole difference: repeat with several seeds"
)
_AS_MANY = 10.0
_VERY_MANY = 1000


@attrs.frozen(kw_only=True)
class Told:
    """What is known beside the numbers.

    Attributes:
        noise_within: Step-to-step standard deviation within the runs, 0 where there is
            nothing but rounding, or None where it is not known.
        cut: A clause on runs of different lengths, or an empty string.
        tests: Number of metrics that were tested together.
        adjusted: Probability after Holm's correction, or None when untested.
        runs: Observations of either arm.
        copies: Runs that are copies of others.
        shared: Runs that share their seed with others of their arm.
        one_seed_each: Whether each arm has but one seed, and not the same.
    """

    noise_within: float | None = None
    cut: str = ""
    tests: int = 1
    adjusted: float | None = None
    runs: tuple[int, int] = (1, 1)
    copies: int = 0
    shared: int = 0
    one_seed_each: bool = False

    @property
    def clause_on_copies(self) -> str:
        """That copies do not count, or an empty string."""
        if not self.copies:
            return ""
        runs = "run is a copy" if self.copies == 1 else "runs are copies"
        return f"{self.copies} {runs} of another, bit for bit: not counted again"


def sentence(measured: Measured, judged: judging.Judgement, told: Told) -> str:
    """Why a difference has its verdict; what test, probability and sizes say is left to them."""
    return "; ".join(clause for clause in _clauses(measured, judged, told) if clause)


def _clauses(measured: Measured, judged: judging.Judgement, told: Told) -> Iterator[str]:
    yield _not_finite(measured)
    if judged.p is None:
        yield _gap(judged, told)
        yield _untested(told, judged)
    elif measured.verdict is Verdict.UNDECIDED and not judged.may_judge:
        yield _held_against(judged)
        yield (
            f"a verdict on {_arm_sizes(told)} needs {judging.FEWEST_TO_JUDGE} repeats or more, "
            "or three runs an arm"
        )
    elif min(told.runs) < judging.FEWEST:
        yield _held_against(judged)
    if judged.p is not None and told.adjusted is not None:
        yield _corrected(measured, judged, told)
    if judged.p is not None and measured.lower_is_better is None and _small(told.adjusted):
        yield "differs; which way is better is not known"
    yield told.clause_on_copies
    if told.shared:
        yield f"{told.shared} runs share a seed with others of their arm: a seed counts once"
    yield told.cut


def _small(p: float | None) -> bool:
    return p is not None and p < judging.ALPHA


def _not_finite(measured: Measured) -> str:
    bad = [sum(not math.isfinite(v) for v in arm) for arm in (measured.first, measured.second)]
    if not any(bad):
        return ""
    sizes = len(measured.first), len(measured.second)
    said = [
        f"{n} of {of} in the {arm}"
        for n, of, arm in zip(bad, sizes, ("first", "second"), strict=True)
    ]
    return f"runs that end with NaN or infinity: {', '.join(said)} arm"


def _gap(judged: judging.Judgement, told: Told) -> str:
    if told.noise_within is None or not math.isfinite(judged.difference):
        return ""
    if not told.noise_within:
        return "within a run the last values do not vary"
    times = abs(judged.difference) / told.noise_within
    shown = f"{times:.0f}" if times >= _AS_MANY else f"{times:.2g}"
    if times >= _VERY_MANY:
        shown = f"more than {_VERY_MANY:,}"
    return f"the gap is {shown} times the noise from step to step within a run"


def _untested(told: Told, judged: judging.Judgement) -> str:
    if told.one_seed_each and min(told.runs) >= judging.FEWEST:
        return ONE_SEED_EACH
    if judged.noise is not None:
        return "the earlier repeats do not differ at all, which says nothing of other seeds"
    return f"{_arm_sizes(told)}: {UNKNOWN}"


def _arm_sizes(told: Told) -> str:
    words = {1: "one run", 2: "two runs"}
    sizes = [words.get(n, f"{n} runs") for n in told.runs]
    return f"{sizes[0]} an arm" if sizes[0] == sizes[1] else f"{sizes[0]} against {sizes[1]}"


def _held_against(judged: judging.Judgement) -> str:
    if not judged.noise or judged.low is None or judged.high is None:
        return ""
    times = abs(judged.difference) / judged.noise
    inside = judged.low <= 0.0 <= judged.high
    where = "inside" if inside else "outside"
    return (
        f"the gap is {times:.2g} times the standard deviation of repeats, {where} of what two "
        "repeats differ by in 95 of 100 cases"
    )


def _corrected(measured: Measured, judged: judging.Judgement, told: Told) -> str:
    """That one of many metrics looks different is no wonder."""
    spoilt = _small(judged.p) and not _small(told.adjusted)
    if measured.verdict is not Verdict.NO_DIFFERENCE or not spoilt:
        return ""
    return (
        f"among {told.tests} results that were tested, one of so small a probability is no "
        f"surprise (Holm: {told.adjusted:.2g})"
    )
