"""Statistics of step series: robust, aware of autocorrelation, numpy only."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MAD_TO_SD = 1.4826
"""Ratio of standard deviation to median absolute deviation for normal noise."""

Z95 = 1.959964
"""Two-sided 95 % point of the normal distribution."""

MIN_PERIOD_GAPS = 3
"""Fewest distances between events from which a period is read."""

_FIRST_LAGS = 1 << 12
_MORE_LAGS = 16
_CHUNK = 1 << 15
_EXACT = 1 << 16
_SHARING = 8


def mad_scale(values: npt.ArrayLike) -> float:
    """Median absolute deviation about the median, scaled to a standard deviation.

    Args:
        values: One-dimensional, at least one value.
    """
    x = np.asarray(values, np.float64)
    return float(MAD_TO_SD * np.median(np.abs(x - np.median(x))))


def robust_spread(values: npt.ArrayLike) -> float:
    """`mad_scale` over the median: a coefficient of variation blind to outliers.

    Args:
        values: One-dimensional. 0.0 for an empty series or a median of zero.
    """
    x = np.asarray(values, np.float64)
    median = float(np.median(x)) if len(x) else 0.0
    return mad_scale(x) / median if median > 0 else 0.0


def effective_size(values: npt.ArrayLike) -> float:
    """Number of independent values that tell as much about the mean.

    Geyer's initial positive sequence: autocorrelations are summed in pairs of
    neighbouring lags for as long as the pairs stay positive.

    Args:
        values: One-dimensional, in time order.

    Returns:
        Between 1 and the length; the length itself for a constant series.
    """
    x = np.asarray(values, np.float64)
    n = len(x)
    centred = x - x.mean() if n else x
    energy = float(centred @ centred)
    if n < MIN_PERIOD_GAPS or energy <= 0.0:
        return float(n)
    lags = min(n, _FIRST_LAGS)
    while True:
        rho = autocovariance(centred, lags) / energy
        pairs = rho[: lags - lags % 2].reshape(-1, 2).sum(axis=1)
        negative = np.flatnonzero(pairs <= 0)
        if len(negative) or lags == n:
            break
        lags = min(n, lags * _MORE_LAGS)
    stop = int(negative[0]) if len(negative) else len(pairs)
    inflation = 2.0 * float(pairs[:stop].sum()) - 1.0
    return float(min(max(n / max(inflation, 1e-12), 1.0), n))


def autocovariance(centred: Floats, lags: int) -> Floats:
    """Sums of products of a series with itself, shifted by 0, 1, … `lags` - 1 places.

    Each stretch of twice as many values as lags is transformed by itself, so that a
    long series takes no more room than a short one.

    Args:
        centred: The series, of mean zero.
        lags: Number of sums, at most the length.
    """
    total = np.zeros(lags)
    step = 2 * lags
    size = 1 << (step + lags - 1).bit_length()
    for first in range(0, len(centred), step):
        part = centred[first : first + step]
        with_next = centred[first : first + step + lags - 1]
        spectrum = np.fft.rfft(part, size).conj()
        spectrum *= np.fft.rfft(with_next, size)
        total += np.fft.irfft(spectrum, size)[:lags]
    return total


def quantile_interval(values: npt.ArrayLike, q: float) -> tuple[float, float, float]:
    """A quantile with its 95 % interval, free of distribution assumptions.

    The interval is made of two other quantiles, as far apart as the empirical
    distribution function is uncertain at the estimate, given the effective
    sample size of the series of exceedances there.

    Args:
        values: One-dimensional, in time order, at least one value.
        q: Between 0 and 1.

    Returns:
        Estimate, lower end, upper end, in the unit of the values.
    """
    x = np.asarray(values, np.float64)
    estimate = float(np.quantile(x, q))
    size = effective_size(x <= estimate)
    half = Z95 * math.sqrt(q * (1 - q) / size)
    low, high = np.quantile(x, [max(q - half, 0.0), min(q + half, 1.0)])
    return estimate, float(low), float(high)


def running_median(values: npt.ArrayLike, width: int = 51) -> Floats:
    """Median of the surrounding values; it follows drift and keeps edges sharp.

    Args:
        values: One-dimensional.
        width: Odd number of values a window; a shorter series has one median.

    Returns:
        One median a value; in a series of more than 65,536, eight neighbours
        share that of the first of them. The ends are mirrored.
    """
    x = np.asarray(values, np.float64)
    if len(x) <= width:
        return np.full(len(x), np.median(x) if len(x) else 0.0)
    padded = np.pad(x, width // 2, mode="reflect")
    stride = 1 if len(x) <= _EXACT else _SHARING
    windows = np.lib.stride_tricks.sliding_window_view(padded, width)[::stride]
    parts = [np.median(windows[i : i + _CHUNK], axis=1) for i in range(0, len(windows), _CHUNK)]
    return np.repeat(np.concatenate(parts), stride)[: len(x)]


@attrs.frozen(eq=False)
class Outliers:
    """Values far above their neighbourhood.

    Attributes:
        mask: Which ones.
        level: The running median about each value.
        scale: Robust standard deviation of the logarithm about the level.
        limit: Multiple of the scale that counts as far.
    """

    mask: Bools
    level: Floats
    scale: float
    limit: float


def high_outliers(values: npt.ArrayLike, *, ratio: float, floor: float = 0.01) -> Outliers:
    """Find the values that stand out upwards, in noise units and in effect.

    On the logarithm, about a running median: a value stands out when it is at
    least `ratio` times the level *and* above it by `3 + sqrt(2 ln n)` robust
    standard deviations. The second part of that limit is where the largest of
    n normal values is expected, so that a longer series is no likelier to show one.

    Args:
        values: One-dimensional, positive; zero and less never stand out.
        ratio: Smallest effect, as a multiple of the level.
        floor: Smallest scale assumed, so that quantised clocks do not alarm.
    """
    x = np.maximum(np.asarray(values, np.float64), 1e-9)
    logs = np.log(x)
    level = running_median(logs)
    rest = logs - level
    scale = max(MAD_TO_SD * float(np.median(np.abs(rest))) if len(x) else 0.0, floor)
    limit = 3.0 + math.sqrt(2.0 * math.log(max(len(x), 2)))
    mask = rest >= max(math.log(ratio), limit * scale)
    return Outliers(mask, np.exp(level), scale, limit)


def period(events: npt.ArrayLike, *, support: float = 0.8, alpha: float = 0.01) -> int | None:
    """The period of events, when they keep one.

    Neighbouring events count as one. The period is kept when at least `support`
    of the distances are one to three times the typical one, exactly or within a
    tenth, and events thrown at random with the same density would do so with
    probability below `alpha` (a Chernoff bound).

    Args:
        events: Ascending integers, such as step numbers.
        support: Share of the distances that must agree.
        alpha: Largest chance probability.
    """
    at = np.asarray(events, np.int64)
    starts = at[np.diff(at, prepend=at[:1] - 2) > 1] if len(at) else at
    gaps = np.diff(starts)
    if len(gaps) < MIN_PERIOD_GAPS:
        return None
    typical = int(np.sort(gaps)[(len(gaps) - 1) // 2])
    density = len(gaps) / float(gaps.sum())
    for slack in (0, typical // 10):
        times = np.rint(gaps / typical)
        near = (times >= 1) & (times <= 3) & (np.abs(gaps - times * typical) <= slack)  # noqa: PLR2004  # up to two events may be missing
        if near.mean() >= support and _chance(near, typical, slack, density) <= alpha:
            return int(np.rint(np.median(gaps[near] / times[near])))
    return None


def _chance(near: Bools, typical: int, slack: int, density: float) -> float:
    """Bound on the probability that random events agree as well; one gap is spent."""
    hits, tries = int(near.sum()) - 1, len(near) - 1
    wanted = np.unique(
        np.concatenate([m * typical + np.arange(-slack, slack + 1) for m in (1, 2, 3)])
    )
    wanted = wanted[wanted >= 1]
    q = float(np.sum(density * (1.0 - density) ** (wanted - 1)))
    share = hits / tries
    if q >= share:
        return 1.0
    if q <= 0.0:
        return 0.0
    lost = (1 - share) * math.log((1 - share) / (1 - q)) if share < 1 else 0.0
    return math.exp(-tries * (share * math.log(share / q) + lost))


def last_tenth(steps: Ints, values: Floats, span: tuple[int, int] | None = None) -> Floats:
    """The values of the last tenth of the steps, at least the last one.

    Args:
        steps: Ascending, at least one.
        values: One value a step.
        span: First and last step to take a tenth of, where they are not those of the series.
    """
    first, last = span or (int(steps[0]), int(steps[-1]))
    kept = int(np.searchsorted(steps, last - 0.1 * (last - first), side="right"))
    return values[min(kept, len(values) - 1) :]


def holm(chances: Sequence[float]) -> list[float]:
    """Probabilities corrected for their number, in their order, after Holm (1979).

    Those at most alpha may all be held true: one of them is wrong with probability
    alpha at most, however they depend on each other.

    Args:
        chances: Probability of each question.
    """
    corrected = [0.0] * len(chances)
    highest = 0.0
    for less, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        highest = max(highest, min(1.0, (len(chances) - less) * chances[place]))
        corrected[place] = highest
    return corrected


def ranges(steps: npt.ArrayLike) -> tuple[tuple[int, int], ...]:
    """Join integers into sorted, disjoint, inclusive ranges.

    Args:
        steps: Integers in any order, duplicates allowed.
    """
    at = np.asarray(steps, np.int64)
    if not len(at):
        return ()
    if (np.diff(at) <= 0).any():
        at = np.sort(at)
    cuts = np.flatnonzero(np.diff(at) > 1)
    first = at[np.concatenate([[0], cuts + 1])]
    last = at[np.concatenate([cuts, [len(at) - 1]])]
    return tuple(zip(first.tolist(), last.tolist(), strict=True))
