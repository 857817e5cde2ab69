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

from pytscope.diffing.student import critical, two_sided
from pytscope.model.comparison import Verdict
from pytscope.stats import holm

ALPHA = 0.05
FEWEST = 3
"""Fewest runs of an arm, and fewest repeats, from which a spread is read."""
FEWEST_TO_JUDGE = 5
"""Fewest repeats whose spread may judge an arm that has too few runs of its own."""
_Z80 = 0.841621
"""Normal quantile of the chance of seeing a difference of the smallest size that is visible."""
_MOST_ORDERS = 20_000


@attrs.frozen
class Spread:
    """How much repeats of a configuration differ.

    Attributes:
        sd: Their standard deviation.
        freedom: Degrees of freedom that it rests on.
        repeats: Number of repeats.
        source: Where they are from, in words.
        of_one_seed: Whether all had one seed: then seeds may add to it.
    """

    sd: float
    freedom: int
    repeats: int
    source: str
    of_one_seed: bool = False


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
        may_judge: Whether a verdict may rest on it.
    """

    difference: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    test: str = ""
    smallest: float | None = None
    noise: float | None = None
    may_judge: bool = False


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
    if sd <= 0 and away[0]:  # of so many signs, chance makes all equal
        p = 2.0 ** (1 - len(away))
        test = f"exact sign test, {len(away)} pairs of runs of one seed"
        return Judgement(float(away[0]), p=p, test=test, noise=0.0, may_judge=True)
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
        smallest=_visible(freedom) * error,
        noise=noise,
        may_judge=True,
    )


def _visible(freedom: float) -> float:
    """Standard errors that a t test finds four times in five, about.

    A normal approximation of the noncentral t distribution (Abramowitz and Stegun,
    26.7.10); with three runs an arm it is rather three times in four.
    """
    t = critical(freedom)
    return t * (1.0 - 0.25 / freedom) + _Z80 * math.sqrt(1.0 + t * t / (2.0 * freedom))


def against(first: Sequence[float], second: Sequence[float], spread: Spread) -> Judgement:
    """Hold a difference of the means of a few runs against the known spread of repeats.

    The interval is the prediction interval of such a difference about zero, moved
    to where the difference is: two repeats fall outside of it once in twenty times.
    A verdict may rest on it from five repeats on: then these, not the single run,
    are what stands for the arm. With three or four the spread itself is uncertain
    by a factor of two or more, and one early, lucky set of repeats would go on to
    accuse every later run.
    """
    error = spread.sd * math.sqrt(1.0 / len(first) + 1.0 / len(second))
    difference = math.fsum(second) / len(second) - math.fsum(first) / len(first)
    test = f"prediction interval of {spread.repeats} {spread.source}"
    if error <= 0:
        return Judgement(difference, test=test, noise=spread.sd)
    judged = _student(difference, error, spread.freedom, test, spread.sd)
    return attrs.evolve(judged, may_judge=spread.freedom >= FEWEST_TO_JUDGE - 1)


def spread_of_an_arm(first: Sequence[float], second: Sequence[float]) -> Spread | None:
    """The spread of the one arm that has enough runs for one, or None."""
    for values in (first, second):
        if len(values) >= FEWEST:
            sd = float(np.std(values, ddof=1))
            return Spread(sd, len(values) - 1, len(values), "runs of the other arm")
    return None


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
    return Judgement(math.nan, p=p, test=test, may_judge=True)


def _ranks(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    order = np.asarray(values, np.float64)
    return np.array([((order < v).sum() + (order <= v).sum() + 1) / 2.0 for v in order])


def adjusted(p: Sequence[float | None]) -> list[float | None]:
    """Probabilities after Holm's correction over those that were tested; None stays None."""
    tested = iter(holm([value for value in p if value is not None]))
    return [None if value is None else next(tested) for value in p]


def verdict(
    judged: Judgement, p: float | None, *, lower_is_better: bool | None, worse: bool
) -> Verdict:
    """What a judgement amounts to.

    Args:
        judged: The judgement.
        p: Its probability after Holm's correction, or None when untested.
        lower_is_better: Which way is worse, or None where neither is.
        worse: Whether the second arm is on the worse side, where there is one.
    """
    if p is None or not judged.may_judge:
        return Verdict.UNDECIDED
    if p >= ALPHA:
        return Verdict.NO_DIFFERENCE
    if lower_is_better is None:
        return Verdict.UNDECIDED
    return Verdict.REGRESSION if worse else Verdict.IMPROVEMENT
