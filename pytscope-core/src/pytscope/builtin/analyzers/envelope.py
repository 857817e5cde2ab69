"""The lower envelope of a series, and its trend."""

from __future__ import annotations

import math

import numpy as np

from pytscope.analyses.growth import BLOCKS, FEWEST, Growth
from pytscope.runs.run import Floats, Ints

MOST_EVEN = 1e6
_SPARED = 1
"""Pairwise slopes left out at each end: P(|S| <= 11) of six values is 98.3 %."""


def envelope(step: Ints, values: Ints, beside: str = "") -> Growth | None:
    """How the smallest values in the sixths of a series move.

    Args:
        step: Step numbers, ascending.
        values: Sizes there, bytes.
        beside: Passed on.

    Returns:
        None for fewer than 24 values.
    """
    if len(values) < FEWEST:
        return None
    edges = np.arange(BLOCKS + 1) * len(values) // BLOCKS
    minima = np.minimum.reduceat(values, edges[:-1]).astype(np.float64)
    middle = (step[edges[:-1]] + step[edges[1:] - 1]) / 2
    slopes = _slopes(middle, minima)
    ordered = np.sort(slopes)
    per_step = float(np.median(slopes))
    late = float(np.median(_slopes(middle[BLOCKS // 2 :], minima[BLOCKS // 2 :])))
    return Growth(
        minima=tuple(int(m) for m in minima),
        first_step=int(step[0]),
        last_step=int(step[-1]),
        samples=len(values),
        concordance=int(np.sign(slopes).sum()),
        per_step=per_step,
        low=float(ordered[_SPARED]),
        high=float(ordered[-1 - _SPARED]),
        late=late / per_step if per_step else 0.0,
        evenness=_evenness(np.diff(minima)),
        beside=beside,
    )


def _slopes(at: Floats, values: Floats) -> Floats:
    first, second = np.triu_indices(len(values), 1)
    slopes: Floats = (values[second] - values[first]) / (at[second] - at[first])
    return slopes


def _evenness(increments: Floats) -> float:
    """Mean over its standard error: what tells a trend from a random walk."""
    mean = float(increments.mean())
    error = float(increments.std(ddof=1)) / math.sqrt(len(increments))
    if not error:
        return math.copysign(MOST_EVEN, mean) if mean else 0.0
    return min(max(mean / error, -MOST_EVEN), MOST_EVEN)
