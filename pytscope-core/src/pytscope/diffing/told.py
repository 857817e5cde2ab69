"""What a comparison of two arms of runs rests on, as a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs

from pytscope.diffing import judging
from pytscope.diffing.numbers import quantity
from pytscope.diffing.spread import MOST_NEEDED
from pytscope.model.comparison import Measured, Verdict

UNKNOWN = (
    "how much repeats differ is not known; earlier repeats in a noise store would say it, and a "
    "verdict takes three runs an arm or more"
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
        yield from _few(measured, judged, told)
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
    times = _times(judged.difference, told.noise_within)
    return f"the gap is {times} times the noise from step to step within a run"


def _times(gap: float, noise: float) -> str:
    """A gap in units of a noise, as text."""
    times = abs(gap) / noise
    if times >= _VERY_MANY:
        return f"more than {_VERY_MANY:,}"
    return f"{times:.0f}" if times >= _AS_MANY else f"{times:.2g}"


def _few(measured: Measured, judged: judging.Judgement, told: Told) -> Iterator[str]:
    """Why there is no verdict, and what repeats say in its place."""
    if told.one_seed_each and min(told.runs) >= judging.FEWEST:
        yield ONE_SEED_EACH
    elif judged.known is None:
        yield f"{_arm_sizes(told)}: {UNKNOWN}"
    elif judged.low is None or judged.high is None or not judged.noise:
        yield (
            f"{_arm_sizes(told)}: no verdict; the repeats that are known do not differ at all, "
            "which says nothing of other seeds"
        )
    else:
        sd, low, high = (quantity(v, measured.unit, 2) for v in (judged.noise, *judged.known))
        yield f"repeats have a standard deviation of {sd}, known to be {low} to {high}"
        where = "inside" if judged.low <= 0.0 <= judged.high else "outside"
        whose = "two repeats" if told.runs == (1, 1) else "so many repeats"
        times = _times(judged.difference, judged.noise)
        yield f"the gap is {times} times that, {where} of what {whose} differ by in 95 of 100 cases"
        yield f"{_arm_sizes(told)}: no verdict; {_needed(judged)}"


def _needed(judged: judging.Judgement) -> str:
    if judged.needed is None:
        return f"to show so small a gap takes more than {MOST_NEEDED} runs an arm"
    return f"to show such a gap four times in five takes about {judged.needed} runs an arm"


def _arm_sizes(told: Told) -> str:
    words = {1: "one run", 2: "two runs"}
    sizes = [words.get(n, f"{n} runs") for n in told.runs]
    return f"{sizes[0]} an arm" if sizes[0] == sizes[1] else f"{sizes[0]} against {sizes[1]}"


def _corrected(measured: Measured, judged: judging.Judgement, told: Told) -> str:
    """That one of many metrics looks different is no wonder."""
    spoilt = _small(judged.p) and not _small(told.adjusted)
    if measured.verdict is not Verdict.NO_DIFFERENCE or not spoilt:
        return ""
    return (
        f"among {told.tests} results that were tested, one of so small a probability is no "
        f"surprise (Holm: {told.adjusted:.2g})"
    )
