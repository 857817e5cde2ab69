"""The standard deviation of repeats, some of which may be no repeats at all.

A store fills with whatever ran with a configuration: a run of broken code among
them would widen the spread until the next broken run looks like a repeat.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pytscope.diffing.judging import FEWEST
from pytscope.diffing.spread import Spread
from pytscope.stats import critical

ODD_ALPHA = 0.001
"""Chance of leaving out a value of repeats that are all right."""
_MOST_ODD = 1 / 3
_FEWEST_TO_TELL = 5
_FEWEST_TO_POOL = 4
"""Degrees of freedom from which repeats of single versions of the code are enough."""


def spread_of_repeats(groups: Sequence[Sequence[float]], *, of_one_seed: bool) -> Spread | None:
    """How much repeats differ, or None with fewer than three.

    Where the repeats of single versions of the code are enough, as five of one are, their
    spread is pooled, and a change from version to version does not count. Else all
    are taken together, which can make the spread too large but not too small.

    Args:
        groups: Values by version of the code.
        of_one_seed: Whether all had one seed.
    """
    within = _pooled(groups)
    if within is not None and within[1] >= _FEWEST_TO_POOL:
        return Spread(*within, "earlier repeats", of_one_seed)
    together = _pooled([[value for group in groups for value in group]])
    if together is None:
        return None
    source = "earlier repeats" + (" of several versions of the code" if len(groups) > 1 else "")
    return Spread(*together, source, of_one_seed)


def _pooled(groups: Sequence[Sequence[float]]) -> tuple[float, int, int] | None:
    """Standard deviation within groups, its degrees of freedom, and the values it rests on."""
    kept = [without_odd(group) for group in groups]
    several = [group for group in kept if len(group) > 1]
    count = sum(map(len, several))
    freedom = count - len(several)
    if freedom < FEWEST - 1:
        return None
    squares = math.fsum(float(np.var(group)) * len(group) for group in several)
    return math.sqrt(squares / freedom), freedom, count


def without_odd(values: Sequence[float]) -> list[float]:
    """Values without outliers, by Rosner's generalised test; at most a third of them.

    Values that stand out together do not hide each other: the test looks at as many
    as there may be, the farthest first, and leaves out all up to the last that is odd.

    Args:
        values: In any order; of fewer than five all are kept.
    """
    known = list(values)
    n = len(known)
    if n < _FEWEST_TO_TELL:
        return known
    rest, odd = known.copy(), 0
    removed: list[float] = []
    for i in range(1, int(n * _MOST_ODD) + 1):
        mean, sd = float(np.mean(rest)), float(np.std(rest, ddof=1))
        if sd <= 0:
            break
        farthest = max(rest, key=lambda value: abs(value - mean))
        size = abs(farthest - mean) / sd
        rest.remove(farthest)
        removed.append(farthest)
        t = critical(n - i - 1, ODD_ALPHA / (2 * (n - i + 1)))
        if size > t * (n - i) / math.sqrt((n - i - 1 + t * t) * (n - i + 1)):
            odd = i
    for value in removed[:odd]:
        known.remove(value)
    return known
