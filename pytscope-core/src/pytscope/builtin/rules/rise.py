"""Whether a series went up at some step for good, and by how much."""

from __future__ import annotations

import math

import attrs
import numpy as np

from pytscope.runs.run import Floats, Ints
from pytscope.stats import effective_size, mad_scale

FEWEST_A_SIDE = 20
"""Values that each side of a rise has at least."""
PART_A_SIDE = 0.1
"""The same as a part of the series."""
FEWEST_EFFECTIVE = 6.0
"""Independent values that a side must be worth."""
_MEDIAN_TO_MEAN = 1.2533
_FLOOR = 0.01
_CLIP = 4.0


@attrs.frozen
class Rise:
    """The place from which a series is higher, as medians of its two sides.

    Attributes:
        at: Index of the first value of the higher side.
        before: Median of the logarithm before it.
        after: Median of the logarithm from it on.
        gradual: Whether a straight line describes the logarithm better than a step.
    """

    at: int
    before: float
    after: float
    gradual: bool

    @property
    def times(self) -> float:
        """How many times as high the second side is."""
        return math.exp(self.after - self.before)


def find_rise(logs: Floats, least: float) -> Rise | None:
    """Find the rise that a series of logarithms holds, if it holds one.

    The place is where mid-ranks before and after differ most (a Wilcoxon
    statistic at every place, standardised). The rise is one when the medians of
    the two sides differ by at least `ln(least)` *and* by `3 + sqrt(2 ln n)`
    standard errors. The standard error is that of two medians, from the robust
    spread about them, or about a straight line where that fits better, and from
    the effective number of values on each side, so that noise that remembers
    counts for as little as it tells.

    Args:
        logs: Logarithms in time order.
        least: Smallest effect, as a ratio above 1.
    """
    n = len(logs)
    side = max(FEWEST_A_SIDE, math.ceil(PART_A_SIDE * n))
    if n < 2 * side:
        return None
    at = _split(logs, side)
    before, after = float(np.median(logs[:at])), float(np.median(logs[at:]))
    step = np.where(np.arange(n) < at, before, after)
    scale = max(mad_scale(logs - step), _FLOOR)
    line = _line(logs, before - _CLIP * scale, after + _CLIP * scale)
    gradual = bool(np.abs(logs - line).sum() < np.abs(logs - step).sum())
    rest = logs - (line if gradual else step)
    scale = max(mad_scale(rest), _FLOOR)
    told = effective_size(np.clip(rest, -_CLIP * scale, _CLIP * scale)) / n
    sizes = (told * at, told * (n - at))
    if min(sizes) < FEWEST_EFFECTIVE:
        return None
    error = _MEDIAN_TO_MEAN * scale * math.sqrt(1 / sizes[0] + 1 / sizes[1])
    limit = (5.0 if gradual else 3.0) + math.sqrt(2.0 * math.log(n))
    if after - before < max(math.log(least), limit * error):
        return None
    return Rise(at, before, after, gradual)


def log_median_error(logs: Floats) -> float:
    """Standard error of the median of logarithms in time order, by their effective number."""
    scale = mad_scale(logs)
    rest = np.clip(logs - np.median(logs), -_CLIP * scale, _CLIP * scale)
    return _MEDIAN_TO_MEAN * scale / math.sqrt(effective_size(rest))


def _split(logs: Floats, side: int) -> int:
    """The place where the values after are higher than those before, most clearly."""
    n = len(logs)
    _, inverse, counts = np.unique(logs, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2
    centred = middle[inverse] - (n + 1) / 2
    places: Ints = np.arange(side, n - side + 1)
    sums = np.cumsum(centred)[places - 1]
    return int(places[np.argmin(sums / np.sqrt(places * (n - places)))])


def _line(logs: Floats, low: float, high: float) -> Floats:
    """The straight line through a series, values cut off at both ends."""
    values = np.clip(logs, low, high)
    place = np.arange(len(logs)) - (len(logs) - 1) / 2
    slope = float(place @ values) / float(place @ place)
    line: Floats = values.mean() + slope * place
    return line
