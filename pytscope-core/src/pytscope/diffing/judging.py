"""Is a difference between two arms of runs more than what repeats differ by?

The unit is the run, never the step: two seeds of one configuration differ at
thousands of steps in the same direction, which a test over steps takes for proof.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import attrs
import numpy as np

from pytscope.model.comparison import Verdict
from pytscope.stats import critical, holm, two_sided

ALPHA = 0.05
FEWEST = 3
"""Fewest runs of each arm for a verdict, and fewest repeats from which a spread is read."""
_Z80 = 0.841621
"""Normal quantile of the chance of seeing a difference of the smallest size that is visible."""
_MOST_ORDERS = 20_000


@attrs.frozen
class Judgement:
    """What a test says of a difference.

    Attributes:
        difference: Mean of the second less mean of the first.
        low: Lower end of its 95 % interval, or None.
        high: Upper end, or None.
        p: Chance of so large a difference between repeats, or None when untested.
        test: What was done, in words.
        smallest: Smallest difference that would be seen four times in five, or None.
        noise: Standard deviation between repeats, or None when unknown.
        known: 95 % interval of that noise, where few runs are held against the spread of
            repeats; None else.
        needed: Runs an arm that would show the difference, in that case; None for too many.
    """

    difference: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    test: str = ""
    smallest: float | None = None
    noise: float | None = None
    known: tuple[float, float] | None = None
    needed: int | None = None


def welch(first: Sequence[float], second: Sequence[float]) -> Judgement:
    """Welch's t test of two arms of at least two runs."""
    one, two = np.asarray(first, np.float64), np.asarray(second, np.float64)
    parts = one.var(ddof=1) / len(one), two.var(ddof=1) / len(two)
    error2 = float(sum(parts))
    freedom = float(len(one) + len(two) - 2)
    if error2 > 0:
        below = parts[0] ** 2 / (len(one) - 1) + parts[1] ** 2 / (len(two) - 1)
        freedom = error2**2 / float(below) if below > 0 else freedom
    pooled = ((len(one) - 1) * one.var(ddof=1) + (len(two) - 1) * two.var(ddof=1)) / (
        len(one) + len(two) - 2
    )
    return _student(
        float(two.mean() - one.mean()),
        math.sqrt(error2),
        freedom,
        f"Welch t, {len(one)} and {len(two)} runs",
        math.sqrt(float(pooled)),
    )


def unpaired(first: Sequence[float], second: Sequence[float]) -> Judgement:
    """Welch's t test, or the exact rank test where the values of neither arm differ.

    Distinct runs may come out at the same few values, such as an accuracy of 1.0;
    a t test would take that for no noise at all.
    """
    if len(set(first)) > 1 or len(set(second)) > 1 or first[0] == second[0]:
        return welch(first, second)
    ranked = by_rank(first, second, worst_high=True)
    return attrs.evolve(ranked, difference=second[0] - first[0], noise=0.0)


def paired(first: Sequence[float], second: Sequence[float]) -> Judgement:
    """Student's t test of the differences of pairs."""
    away = np.asarray(second, np.float64) - np.asarray(first, np.float64)
    sd = float(away.std(ddof=1))
    error = sd / math.sqrt(len(away))
    test = f"paired t, {len(away)} pairs of runs of one seed"
    if not away.any():
        return Judgement(0.0, 0.0, 0.0, p=1.0, test=f"{test}, all equal", noise=0.0)
    if sd <= 0 and away[0]:  # of so many signs, chance makes all equal
        p = 2.0 ** (1 - len(away))
        test = f"exact sign test, {len(away)} pairs of runs of one seed"
        return Judgement(float(away[0]), p=p, test=test, noise=0.0)
    return _student(float(away.mean()), error, len(away) - 1.0, test, sd / math.sqrt(2.0))


def _student(
    difference: float, error: float, freedom: float, test: str, noise: float | None
) -> Judgement:
    half = critical(freedom) * error
    away = difference / error if error > 0 else math.copysign(math.inf, difference)
    return Judgement(
        difference,
        difference - half,
        difference + half,
        two_sided(away, freedom) if difference else 1.0,
        test,
        smallest=visible(freedom) * error if error > 0 else None,
        noise=noise,
    )


def visible(freedom: float) -> float:
    """Standard errors that a t test finds four times in five, about.

    A normal approximation of the noncentral t distribution (Abramowitz and Stegun,
    26.7.10); with three runs an arm it is rather three times in four.
    """
    t = critical(freedom)
    return t * (1.0 - 0.25 / freedom) + _Z80 * math.sqrt(1.0 + t * t / (2.0 * freedom))


def by_rank(first: Sequence[float], second: Sequence[float], *, worst_high: bool) -> Judgement:
    """Exact rank test of two arms, some of whose runs did not end with a number.

    A run that ended in NaN or infinity is worse than any other; ties share ranks.

    Args:
        first: Values of the first arm.
        second: Values of the second arm.
        worst_high: Whether higher is worse.
    """
    worst = math.inf if worst_high else -math.inf
    joined = [value if math.isfinite(value) else worst for value in (*first, *second)]
    ranks = _ranks(joined)
    test = f"exact rank test, {len(first)} and {len(second)} runs"
    size, total = len(second), float(ranks[len(first) :].sum())
    expected = size * (len(ranks) + 1) / 2.0
    if math.comb(len(ranks), size) <= _MOST_ORDERS:
        orders = itertools.combinations(ranks.tolist(), size)
        sums = np.array([sum(order) for order in orders])
    else:
        chance = np.random.default_rng(0)
        drawn = [chance.permutation(ranks)[:size].sum() for _ in range(_MOST_ORDERS - 1)]
        sums = np.array([*drawn, total])
    p = float((np.abs(sums - expected) >= abs(total - expected) - 1e-9).mean())
    return Judgement(math.nan, p=p, test=test)


def _ranks(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    order = np.asarray(values, np.float64)
    return np.array([((order < v).sum() + (order <= v).sum() + 1) / 2.0 for v in order])


def adjusted(p: Sequence[float | None]) -> list[float | None]:
    """Probabilities after Holm's correction over those that were tested; None stays None."""
    tested = iter(holm([value for value in p if value is not None]))
    return [None if value is None else next(tested) for value in p]


def verdict(p: float | None, *, lower_is_better: bool | None, worse: bool) -> Verdict:
    """What the probability of a difference amounts to.

    Args:
        p: After Holm's correction; None when untested, as it is of fewer than three runs
            an arm.
        lower_is_better: Which way is worse, or None where neither is.
        worse: Whether the second arm is on the worse side, where there is one.
    """
    if p is None:
        return Verdict.UNDECIDED
    if p >= ALPHA:
        return Verdict.NO_DIFFERENCE
    if lower_is_better is None:
        return Verdict.UNDECIDED
    return Verdict.REGRESSION if worse else Verdict.IMPROVEMENT
