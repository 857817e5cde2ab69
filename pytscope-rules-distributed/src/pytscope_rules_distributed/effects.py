"""How much longer each rank takes than its peers, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from pytscope.runs.run import Ints
from pytscope.stats import Bools, Floats, critical_values, upper_tail
from pytscope_rules_distributed.episodes import despite_drift, episodes
from pytscope_rules_distributed.series import (
    ALPHA,
    FEW,
    PLAIN,
    WIDER,
    against_the_others,
    as_usual,
    effective_sizes,
    false_discovery,
    ratio,
    winsorised,
)

MIN_SLOWDOWN = 0.03
"""Part by which a rank takes longer that is of no account."""


@attrs.frozen(eq=False)
class Effects:
    """One value a series: how far it is above its peers, in logarithms of time.

    Attributes:
        level: Winsorised mean of the logarithm of the ratio.
        half: Half of its 95 % interval.
        size: Independent values behind it.
        chance: False-discovery rate at which it is above the smallest slowdown.
        bounds: First step of each stretch in which it is highest, and the step after its
            last one; both 0 where there are fewer stretches.
        whole: Whether the verdict is on all steps, else on those stretches.
        spread: Standard deviation of one value.
        likely: Share of windows in which the series is above the smallest slowdown.
    """

    level: Floats
    half: Floats
    size: Floats
    chance: Floats
    bounds: Ints
    whole: Bools
    spread: Floats
    likely: Floats

    @property
    def found(self) -> Bools:
        """Which series are above the smallest slowdown."""
        return self.chance < ALPHA

    def stretches(self, place: int, steps: int) -> tuple[tuple[int, int], ...]:
        """The stretches of one series, each with the step after its last one.

        All steps where there is none.
        """
        found = self.bounds[place][self.bounds[place, :, 1] > 0]
        return tuple((int(a), int(b)) for a, b in found) or ((0, steps),)

    def episodic(self, place: int, steps: int) -> Bools:
        """Which steps lie in the stretches of one series."""
        found: Bools = np.zeros(steps, np.bool_)
        for start, stop in self.stretches(place, steps):
            found[start:stop] = True
        return found

    def where_told(self, place: int, steps: int) -> Bools:
        """Which steps the verdict on one series is on."""
        found: Bools = self.whole[place] | self.episodic(place, steps)
        return found

    def where(self, mask: Bools, other: Effects) -> Effects:
        """Effects of some series out of another test of them."""
        of_bounds = mask[:, None, None]
        names = [f.name for f in attrs.fields(Effects)]
        pairs = {name: (getattr(other, name), getattr(self, name)) for name in names}
        return Effects(
            **{
                name: np.where(of_bounds if name == "bounds" else mask, *pair)
                for name, pair in pairs.items()
            }
        )


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
    clipped = winsorised(series)
    level = clipped.mean(axis=1)
    spread = as_usual(clipped.std(axis=1, ddof=1) * WIDER)
    size = -as_usual(-effective_sizes(series))
    freedom = np.maximum(size - 1.0, 1.0)
    error = spread / np.sqrt(freedom)  # a short series that remembers varies more than it shows
    p = upper_tail(ratio(level - floor, error), freedom)
    p = np.where(level - floor >= PLAIN * spread, 0.0, p)
    part = episodes(clipped, floor)
    p = np.where(part.p <= ALPHA, p, np.minimum(p, despite_drift(clipped, floor)))
    whole = p <= part.p
    chance = false_discovery(np.minimum(1.0, 2.0 * np.minimum(p, part.p)))
    told = np.where(whole, level, part.level)
    return Effects(
        level=told,
        half=np.where(whole, critical_values(freedom) * error, part.half),
        size=np.where(whole, size, part.size),
        chance=np.where(told > floor, chance, 1.0),
        bounds=part.bounds,
        whole=whole,
        spread=spread,
        likely=_likely(series, np.maximum(floor, told / 2)),
    )


def _likely(series: Floats, floor: Floats) -> Floats:
    """Share of windows, of 20 or a few more steps, in which a series is above a level."""
    steps = series.shape[1]
    windows = max(1, min(steps // FEW, 50))
    edges = np.arange(windows) * steps // windows
    sums = np.add.reduceat(series, edges, axis=1)
    means = sums / np.diff(np.append(edges, steps))
    return np.asarray((means > floor[:, None]).mean(axis=1))
