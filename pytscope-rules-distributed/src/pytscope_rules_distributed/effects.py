"""How much longer each rank takes than its peers, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from pytscope.runs.run import Ints
from pytscope.stats import Bools, Floats
from pytscope_rules_distributed.series import (
    TAIL,
    against_the_others,
    effective_sizes,
    false_discovery,
    heaviest_stretch,
    winsorised,
)
from pytscope_rules_distributed.student import critical, upper_tail

MIN_SLOWDOWN = 0.03
"""Part by which a rank takes longer that is of no account."""
ALPHA = 0.002
"""False-discovery rate, over ranks."""
SURE = 15.0
"""Independent values from which a verdict is more than a suspicion."""
PLAIN = 8.0
"""Standard deviations of single steps by which a level is above the floor beyond doubt,
however few of the steps are independent."""
FEW = 20
"""Steps that a comparison takes at least."""
_MOST_OF = 0.8
"""Part of the steps that a stretch covers at most; beyond, all steps tell."""
_WIDER = 1.0 / (1.0 - 2 * TAIL)
"""What the winsorised standard deviation is too small by."""


@attrs.frozen(eq=False)
class Effects:
    """One value a series: how far it is above its peers, in logarithms of time.

    Attributes:
        level: Winsorised mean of the logarithm of the ratio.
        half: Half of its 95 % interval.
        size: Independent values behind it.
        chance: False-discovery rate at which it is above the smallest slowdown.
        start: First step of the stretch in which it is highest.
        stop: Step after the last one of it.
        whole: Whether the verdict is on all steps, else on that stretch.
        spread: Standard deviation of one value.
        likely: Share of windows in which the series is above the smallest slowdown.
    """

    level: Floats
    half: Floats
    size: Floats
    chance: Floats
    start: Ints
    stop: Ints
    whole: Bools
    spread: Floats
    likely: Floats

    @property
    def found(self) -> Bools:
        """Which series are above the smallest slowdown."""
        return self.chance < ALPHA


def differences(own: Ints | Floats, members: Sequence[Ints]) -> Floats:
    """Logarithm of every rank's value over that of the others of its cohort.

    Args:
        own: Own times, or loads, a row a rank; what is below 1 counts as 1.
        members: Rows of every cohort; a cohort of one compares with nobody and is NaN.
    """
    logs = np.log(np.maximum(own, 1))
    out = np.full(own.shape, np.nan)
    for rows in members:
        if len(rows) > 1:
            out[rows] = against_the_others(logs[rows])
    return out


def effects(series: Floats, floor: float) -> Effects:
    """Test every series for a level above a floor, over all steps and over a stretch of them.

    Args:
        series: Logarithms of ratios, a row a series, at least 20 columns, without NaN.
        floor: Logarithm of the smallest ratio that counts.
    """
    steps = series.shape[1]
    clipped = winsorised(series)
    level = clipped.mean(axis=1)
    spread = _as_usual(clipped.std(axis=1, ddof=1) * _WIDER)
    size = -_as_usual(-effective_sizes(series))
    freedom = np.maximum(size - 1.0, 1.0)
    error = spread / np.sqrt(freedom)  # a short series that remembers varies more than it shows
    p = upper_tail(_ratio(level - floor, error), freedom)
    p = np.where(level - floor >= PLAIN * spread, 0.0, p)
    part = _stretches(clipped, floor)
    whole = p <= part.p
    chance = false_discovery(np.minimum(1.0, 2.0 * np.minimum(p, part.p)))
    return Effects(
        level=np.where(whole, level, part.level),
        half=np.where(whole, critical(freedom) * error, part.half),
        size=np.where(whole, size, part.size),
        chance=np.where((np.where(whole, level, part.level) > floor), chance, 1.0),
        start=np.where(part.stop > part.start, part.start, 0),
        stop=np.where(part.stop > part.start, part.stop, steps),
        whole=whole,
        spread=spread,
        likely=_likely(series, np.maximum(floor, np.where(whole, level, part.level) / 2)),
    )


@attrs.frozen(eq=False)
class _Stretch:
    """Of every series the stretch in which it is highest, and the probability of that."""

    start: Ints
    stop: Ints
    level: Floats
    half: Floats
    size: Floats
    p: Floats


def _stretches(values: Floats, floor: float) -> _Stretch:
    """Where each series is highest, tested against noise that remembers.

    What is left when the stretch is taken out says how much the noise remembers; only a
    stretch of 15 independent values counts, or one that is beyond doubt. As many stretches
    are tried as fit in, which the probability pays for.
    """
    rows, steps = values.shape
    start, stop = heaviest_stretch(values - floor)
    inside = _inside(start, stop, steps)
    level = _mean(values, inside)
    start, stop = heaviest_stretch(values - np.maximum(floor, level / 2)[:, None])
    inside = _inside(start, stop, steps)
    level, rest = _mean(values, inside), _mean(values, ~inside)
    length = (stop - start).astype(np.float64)
    usable = (length >= FEW) & (length <= _MOST_OF * steps) & (level > floor)
    half, size, p = np.zeros(rows), np.zeros(rows), np.ones(rows)
    if usable.any():
        some = np.flatnonzero(usable)
        flat = values[some] - np.where(inside[some], level[some, None], rest[some, None])
        whole = -_as_usual(-effective_sizes(flat))
        size[some] = whole * length[some] / steps
        freedom = np.maximum(size[some] - 1.0, 1.0)
        error = _as_usual(flat.std(axis=1, ddof=2) * _WIDER) / np.sqrt(freedom)
        half[some] = critical(freedom) * error
        above = level[some] - floor
        tail = upper_tail(_ratio(above, error), freedom)
        tried = np.minimum(tail * np.maximum(whole**2 / 2, 1.0), 1.0)
        plain = above >= PLAIN * error * np.sqrt(freedom)
        p[some] = np.where(plain, 0.0, np.where(size[some] >= SURE, tried, 1.0))
    return _Stretch(start, stop, level, half, size, p)


def _as_usual(values: Floats) -> Floats:
    """Values of series, none below the median: a rank is not quieter than its peers by luck."""
    return np.maximum(values, np.median(values))


def _inside(start: Ints, stop: Ints, steps: int) -> Bools:
    at = np.arange(steps)
    inside: Bools = (at >= start[:, None]) & (at < stop[:, None])
    return inside


def _mean(values: Floats, where: Bools) -> Floats:
    count = where.sum(axis=1)
    total = np.where(where, values, 0.0).sum(axis=1)
    return np.asarray(total / np.maximum(count, 1))


def _ratio(above: Floats, error: Floats) -> Floats:
    """Multiples of the error; a series without noise is beyond doubt on its side."""
    certain = np.where(above > 0, np.inf, -np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(np.where(error > 0, above / error, certain), posinf=1e9, neginf=-1e9)


def _likely(series: Floats, floor: Floats) -> Floats:
    """Share of windows, of 20 or a few more steps, in which a series is above a level."""
    steps = series.shape[1]
    windows = max(1, min(steps // FEW, 50))
    edges = np.arange(windows) * steps // windows
    sums = np.add.reduceat(series, edges, axis=1)
    means = sums / np.diff(np.append(edges, steps))
    return np.asarray((means > floor[:, None]).mean(axis=1))
