"""Statistics of many series at once: one row a rank, one column a step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pytscope.stats import Bools, Floats

ALPHA = 0.002
"""False-discovery rate, over ranks."""
FEW = 20
"""Steps that a comparison takes at least."""
SURE = 15.0
"""Independent values from which a verdict is more than a suspicion."""
PLAIN = 8.0
"""Standard deviations of single steps by which a level is above the floor beyond doubt,
however few of the steps are independent."""
TAIL = 0.05
"""Part of the values at either end that a winsorised mean pulls in."""
WIDER = 1.0 / (1.0 - 2 * TAIL)
"""What the winsorised standard deviation is too small by."""
_AT_ONCE = 1 << 22
"""Values that are transformed together."""
_MOST_RHO = 0.99


def against_the_others(values: npt.NDArray[np.float64]) -> Floats:
    """Every value less the median of the others of its column.

    Of an even number of others the upper one of the two in the middle counts, so that
    one fast rank of three makes nobody look slow.

    Args:
        values: One row a rank, at least two.
    """
    reference = others_median(values)
    return np.asarray(values - reference)


def others_median(values: npt.NDArray[np.float64]) -> Floats:
    """Of every value the (upper) median of the others of its column."""
    middle = (len(values) - 1) // 2
    ordered = np.partition(values, (middle, middle + 1), axis=0)
    below, above = ordered[middle], ordered[middle + 1]
    return np.asarray(np.where(values > below, below, above), np.float64)


def winsorised(values: Floats) -> Floats:
    """Rows with their smallest and largest 5 % pulled in to what is next to them."""
    steps = values.shape[1]
    cut = int(TAIL * steps)
    if not cut:
        return values
    ordered = np.partition(values, (cut, steps - 1 - cut), axis=1)
    return np.clip(values, ordered[:, [cut]], ordered[:, [steps - 1 - cut]])


def as_usual(values: Floats) -> Floats:
    """Values of series, none below the median: a rank is not quieter than its peers by luck."""
    return np.maximum(values, np.median(values))


def ratio(above: Floats, error: Floats) -> Floats:
    """Multiples of the error; a series without noise is beyond doubt on its side."""
    certain = np.where(above > 0, np.inf, -np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(np.where(error > 0, above / error, certain), posinf=1e9, neginf=-1e9)


def effective_sizes(values: Floats) -> Floats:
    """Of every row, the number of independent values that tell as much about its mean.

    The smaller of two estimates: Geyer's initial positive sequence, and that of a first
    order autoregression, at a coefficient one standard error above the estimate, which is
    corrected for coming from a short series. Geyer's alone promises too much of a short
    series that remembers.

    Args:
        values: One series a row, in time order.

    Returns:
        Between 1 and the length; the length for a constant row.
    """
    rows, steps = values.shape
    together = max(1, _AT_ONCE // max(steps, 1))
    parts = [_sizes(values[at : at + together]) for at in range(0, rows, together)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _sizes(values: Floats) -> Floats:
    rows, steps = values.shape
    if steps < 3:  # noqa: PLR2004  # no second lag
        return np.full(rows, float(steps))
    centred = values - values.mean(axis=1, keepdims=True)
    size = 1 << (2 * steps - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    covariance = np.fft.irfft(power, size, axis=1)[:, :steps]
    energy = covariance[:, :1]
    flat = energy[:, 0] <= 1e-24 * steps
    rho = covariance / np.where(flat[:, None], 1.0, energy)
    pairs = rho[:, : steps - steps % 2].reshape(rows, -1, 2).sum(axis=2)
    going_on = np.logical_and.accumulate(pairs > 0, axis=1)
    geyer = 2.0 * (pairs * going_on).sum(axis=1) - 1.0
    first = np.clip(rho[:, 1] + (1.0 + 4.0 * rho[:, 1]) / steps, 0.0, 1.0)
    first = np.minimum(first + np.sqrt((1.0 - first**2) / steps), _MOST_RHO)
    inflation = np.maximum(np.maximum(geyer, (1.0 + first) / (1.0 - first)), 1.0)
    return np.where(flat, float(steps), np.maximum(steps / inflation, 1.0))


def false_discovery(p: Floats) -> Floats:
    """Benjamini and Hochberg's adjusted probabilities: the rate at which each is let in.

    Args:
        p: Probabilities, one a hypothesis.
    """
    count = len(p)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * count / np.arange(1, count + 1)
    adjusted = np.minimum.accumulate(scaled[::-1])[::-1]
    out = np.empty(count)
    out[order] = np.minimum(adjusted, 1.0)
    return out


def heaviest_stretch(values: Floats) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Of every row, the stretch with the largest sum.

    Returns:
        First column and the column after the last one; both 0 where no value is above zero.
    """
    rows, steps = values.shape
    sums = np.zeros((rows, steps + 1))
    np.cumsum(values, axis=1, out=sums[:, 1:])
    lowest = np.minimum.accumulate(sums, axis=1)
    gain = sums - lowest
    stop = gain.argmax(axis=1)
    level = np.take_along_axis(lowest, stop[:, None], axis=1)
    before: Bools = np.arange(steps + 1) <= stop[:, None]
    # the last place before the end at which the sum is lowest: the shortest such stretch
    start = steps - ((sums == level) & before)[:, ::-1].argmax(axis=1)
    none = np.take_along_axis(gain, stop[:, None], axis=1)[:, 0] <= 0
    return np.where(none, 0, start), np.where(none, 0, stop)
