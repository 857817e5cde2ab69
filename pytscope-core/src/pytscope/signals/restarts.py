"""Restarts inside one log: the loss is back at its first value and falls as it first did."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytscope.stats import Floats, Ints

FEWEST_BEFORE = 16
FALLEN = 0.5
"""What the loss had fallen to before, as a part of its first value."""
NEAR_FIRST = 0.1
"""How near to the first value the loss must be, as a logarithm."""
NEAR_COURSE = 0.25
"""How near to the first course, the same."""
DESCENT = 0.8
"""What the first course must have fallen to within what is compared."""
LEAST_COMPARED, MOST_COMPARED = 5, 20
SUDDEN = 0.3
"""How far from what was usual the point before may be: a spike climbs, a restart does not."""
_BEFORE = 10


def find_restarts(steps: npt.ArrayLike, loss: npt.ArrayLike) -> tuple[int, ...]:
    """Steps at which training began anew within a log.

    The loss had fallen to half of its first value, is at once within a tenth of that
    value, and then follows its first course until that had fallen by a fifth. A model that
    collapses to chance has the first value, and not the course.

    Args:
        steps: Ascending step numbers.
        loss: One value a step.
    """
    at, x = np.asarray(steps, np.int64), np.asarray(loss, np.float64)
    finite = np.isfinite(x)
    at, x = at[finite], x[finite]
    if len(x) <= FEWEST_BEFORE or not (x > 0).all():
        return ()
    logs = np.log(x)
    usual = logs[0] + np.log(FALLEN)
    near = np.abs(logs - logs[0]) <= NEAR_FIRST
    near[1:] &= logs[:-1] <= usual + SUDDEN
    near[:FEWEST_BEFORE] = False
    found: list[int] = []
    for place in np.flatnonzero(near).tolist():
        before = float(np.median(logs[place - _BEFORE : place]))
        sudden = abs(logs[place - 1] - before) <= SUDDEN
        if before <= usual and sudden and _follows(at, logs, place):
            found.append(int(at[place]))
    return tuple(found)


def _follows(at: Ints, logs: Floats, place: int) -> bool:
    """Whether what comes after a place is what came first, at equal distances."""
    after = np.arange(place, min(place + MOST_COMPARED, len(at)))
    offsets = at[after] - at[place] + at[0]
    twins = np.searchsorted(at, offsets)
    known = (twins < place) & (at[np.minimum(twins, len(at) - 1)] == offsets)
    twins, after = twins[known], after[known]
    fallen = np.flatnonzero(logs[twins] <= logs[0] + np.log(DESCENT))
    if not len(fallen) or not fallen[0]:
        return False
    compared = slice(0, max(int(fallen[0]) + 1, LEAST_COMPARED))
    if len(twins) < LEAST_COMPARED:
        return False
    apart = np.abs(logs[twins[compared]] - logs[after[compared]])
    return bool((apart <= NEAR_COURSE).all())
