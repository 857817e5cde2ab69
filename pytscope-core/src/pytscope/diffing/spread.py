"""How much repeats differ, and what that says of a few runs: a statement, never a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from pytscope.diffing.judging import FEWEST, Judgement, visible
from pytscope.stats import critical

MOST_NEEDED = 100
"""Runs an arm up to which is said how many a gap takes."""
_TAIL = 0.025
_HALVINGS = 60


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

    @property
    def bounds(self) -> tuple[float, float]:
        """95 % interval of the true standard deviation: three repeats leave it wide."""
        high, low = (_chi_square(self.freedom, tail) for tail in (1.0 - _TAIL, _TAIL))
        return self.sd * math.sqrt(self.freedom / low), self.sd * math.sqrt(self.freedom / high)


def against(first: Sequence[float], second: Sequence[float], spread: Spread) -> Judgement:
    """Hold a difference of the means of a few runs against the known spread of repeats.

    The interval is the prediction interval of such a difference about zero, moved
    to where the difference is: repeats fall outside of it once in twenty times. There is
    no probability and so no verdict: one run stands for no arm, however well the noise
    about it is known.
    """
    error = spread.sd * math.sqrt(1.0 / len(first) + 1.0 / len(second))
    difference = math.fsum(second) / len(second) - math.fsum(first) / len(first)
    plain = Judgement(
        difference,
        test=f"prediction interval of {spread.repeats} {spread.source}",
        noise=spread.sd,
        known=spread.bounds,
    )
    if error <= 0:
        return plain
    half = critical(spread.freedom) * error
    return attrs.evolve(
        plain,
        low=difference - half,
        high=difference + half,
        needed=runs_needed(difference, spread.sd),
    )


def runs_needed(difference: float, sd: float) -> int | None:
    """Runs an arm of which a t test would see a difference four times in five.

    Args:
        difference: The difference.
        sd: Standard deviation between repeats.

    Returns:
        At least three; None for more than a hundred.
    """
    for runs in range(FEWEST, MOST_NEEDED + 1):
        if visible(2.0 * runs - 2.0) * sd * math.sqrt(2.0 / runs) <= abs(difference):
            return runs
    return None


def spread_of_an_arm(first: Sequence[float], second: Sequence[float]) -> Spread | None:
    """The spread of the one arm that has enough runs for one, or None."""
    for values in (first, second):
        if len(values) >= FEWEST:
            sd = float(np.std(values, ddof=1))
            return Spread(sd, len(values) - 1, len(values), "runs of the other arm")
    return None


def _chi_square(freedom: int, tail: float) -> float:
    """The value that a chi-square variable exceeds with a probability."""
    low, high = 0.0, freedom + 40.0 * math.sqrt(freedom)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _above(freedom, middle) > tail else (low, middle)
    return high


def _above(freedom: int, value: float) -> float:
    """Probability that a chi-square variable of whole degrees of freedom exceeds a value."""
    x = value / 2.0
    order, total = (1.0, math.exp(-x)) if freedom % 2 == 0 else (0.5, math.erfc(math.sqrt(x)))
    while order < freedom / 2.0:
        total += math.exp(order * math.log(x) - x - math.lgamma(order + 1.0)) if x else 0.0
        order += 1.0
    return total
