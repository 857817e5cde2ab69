"""Stretches of steps in which a series is high, and how sure that is."""

from __future__ import annotations

import attrs
import numpy as np

from pytscope.runs.run import Ints
from pytscope.stats import Bools, Floats, critical_values, upper_tail
from pytscope_rules_distributed.series import (
    ALPHA,
    FEW,
    PLAIN,
    SURE,
    WIDER,
    as_usual,
    effective_sizes,
    heaviest_stretch,
    ratio,
)

MOST = 12
"""Episodes of a series that are looked for."""
SHORTEST = FEW // 2
"""Steps of one of several episodes, at least."""
_MOST_OF = 0.8
"""Part of the steps that episodes cover at most; beyond, all steps tell."""
_CLOSER = 0.8
"""Part of its noise that several episodes have to leave to be told instead of one."""


@attrs.frozen(eq=False)
class Episodes:
    """Of every series the stretches in which it is highest, and the probability of that.

    Attributes:
        bounds: First step of each stretch and the step after its last one, in order; a row
            a series, and both 0 where there are fewer stretches.
        level: Mean in them.
        half: Half of its 95 % interval.
        size: Independent values behind it.
        p: Probability of it in noise.
        rest: Standard deviation of what the stretches leave.
    """

    bounds: Ints
    level: Floats
    half: Floats
    size: Floats
    p: Floats
    rest: Floats


def episodes(values: Floats, floor: float) -> Episodes:
    """Where each series is highest, in one stretch or in several.

    Several are told where one is not sure, or where they leave clearly less noise.

    Args:
        values: Winsorised logarithms of ratios, a row a series.
        floor: Logarithm of the smallest ratio that counts.
    """
    one = _tested(values, _one(values, floor), floor)
    some = np.flatnonzero(one.level > floor)
    if not len(some):
        return one
    many = _tested(values[some], _several(values[some], floor), floor)
    several = many.bounds[:, 1, 1] > 0
    closer = (many.p <= ALPHA) & (many.rest < _CLOSER * one.rest[some])
    better = several & ((many.p < one.p[some]) | closer)
    rows = some[better]
    for field in attrs.fields(Episodes):
        getattr(one, field.name)[rows] = getattr(many, field.name)[better]
    return one


def despite_drift(values: Floats, floor: float) -> Floats:
    """Probability of each series' level over all steps in noise beside a drift.

    As that of a stretch: a drift is a stretch whose level changes.
    """
    everywhere = _bounds(*np.array([[0], [values.shape[1]]]).repeat(len(values), axis=1))
    return _tested(values, everywhere, floor, most_of=1.0).p


def inside(bounds: Ints, steps: int) -> Bools:
    """Which steps lie in the stretches of each series."""
    at = np.arange(steps)
    found: Bools = np.zeros((len(bounds), steps), np.bool_)
    for place in range(bounds.shape[1]):
        start, stop = bounds[:, place, :1], bounds[:, place, 1:]
        found |= (at >= start) & (at < stop)
    return found


def _one(values: Floats, floor: float) -> Ints:
    """The heaviest stretch: above the floor, then above half of the level found so."""
    start, stop = heaviest_stretch(values - floor)
    level = _mean(values, inside(_bounds(start, stop), values.shape[1]))
    return _bounds(*heaviest_stretch(values - np.maximum(floor, level / 2)[:, None]))


def _bounds(start: Ints, stop: Ints) -> Ints:
    bounds = np.zeros((len(start), MOST, 2), np.int64)
    bounds[:, 0, 0], bounds[:, 0, 1] = start, stop
    return bounds


def _several(values: Floats, floor: float) -> Ints:
    """Stretches above half of the highest level of a few steps, the heaviest of them."""
    rows, steps = values.shape
    sums = np.cumsum(values, axis=1)
    highest = ((sums[:, SHORTEST:] - sums[:, :-SHORTEST]) / SHORTEST).max(axis=1)
    above = np.maximum(floor, highest / 2)
    gains = values - above[:, None]
    high = _high(gains, above * SHORTEST / 2)
    turns = np.diff(high, axis=1, prepend=False, append=False)
    bounds = np.zeros((rows, MOST, 2), np.int64)
    for row in np.flatnonzero(turns.any(axis=1)).tolist():
        found = np.flatnonzero(turns[row]).reshape(-1, 2)
        if len(found) > MOST:
            weight = np.add.reduceat(gains[row], found.ravel().clip(max=steps - 1))[::2]
            found = found[np.sort(np.argsort(-weight, kind="stable")[:MOST])]
        bounds[row, : len(found)] = found
    return bounds


def _high(gains: Floats, turn: Floats) -> Bools:
    """In which steps to be high so that most is gained, when each turn costs something.

    Args:
        gains: What a step gains when it counts as high, a row a series.
        turn: What a change between high and not costs, a value a series.
    """
    rows, steps = gains.shape
    low, high = np.zeros(rows), -turn
    rising, falling = np.zeros((2, steps, rows), np.bool_)
    for step in range(steps):
        rising[step] = low - turn > high
        falling[step] = high - turn > low
        low, high = (
            np.where(falling[step], high - turn, low),
            np.where(rising[step], low - turn, high) + gains[:, step],
        )
    out = np.zeros((steps, rows), np.bool_)
    now = high - turn > low
    for step in range(steps - 1, -1, -1):
        out[step] = now
        now = np.where(now, ~rising[step], falling[step])
    return np.ascontiguousarray(out.T)


def _tested(values: Floats, bounds: Ints, floor: float, most_of: float = _MOST_OF) -> Episodes:
    """Test the level in some stretches against noise that remembers.

    What is left when the stretches are taken out, and a drift beside them, says how much
    the noise remembers; only 15 independent values count, or what is beyond doubt. As many
    stretches are tried as fit in, each time, which the probability pays for.
    """
    rows, steps = values.shape
    within = inside(bounds, steps)
    level = _mean(values, within)
    length = within.sum(axis=1).astype(np.float64)
    some = np.flatnonzero((length >= FEW) & (length <= most_of * steps) & (level > floor))
    half, size, p, spread = np.zeros(rows), np.zeros(rows), np.ones(rows), np.full(rows, np.inf)
    if len(some):
        levelled = _levelled(values[some], within[some])
        flat = _undrifted(levelled, within[some])
        spread[some] = as_usual(flat.std(axis=1, ddof=3) * WIDER)
        whole = -as_usual(-effective_sizes(flat))
        size[some] = whole * length[some] / steps
        freedom = np.maximum(size[some] - 1.0, 1.0)
        error = spread[some] / np.sqrt(freedom)
        half[some] = critical_values(freedom) * error
        above = level[some] - floor
        times = (bounds[some, :, 1] > 0).sum(axis=1)
        tried = upper_tail(ratio(above, error), freedom) * np.maximum(whole**2 / 2, 1.0) ** times
        sure = np.where(size[some] >= SURE, np.minimum(tried, 1.0), 1.0)
        p[some] = np.where(above >= PLAIN * spread[some], 0.0, sure)
        likely = p[some] <= ALPHA
        _doubt_drifts(size, p, some[likely], levelled[likely], length / steps)
    return Episodes(bounds, level, half, size, p, spread)


def _doubt_drifts(size: Floats, p: Floats, some: Ints, levelled: Floats, part: Floats) -> None:
    """Count a drift as noise that remembers: it may be that, so it is no more than a suspicion.

    And none at all with fewer than 30 values beside the drift, unless beyond doubt: a short
    series that remembers looks like one.
    """
    if len(some):
        whole = effective_sizes(levelled) * part[some]
        p[some[(whole < SURE) & (size[some] < 2 * SURE) & (p[some] > 0)]] = 1.0
        size[some] = np.minimum(size[some], whole)


def _undrifted(levelled: Floats, within: Bools) -> Floats:
    """Values whose levels are taken out, without a drift in and beside the stretches."""
    time = np.broadcast_to(np.linspace(-1.0, 1.0, levelled.shape[1]), levelled.shape)
    drift = _levelled(time, within)
    slope = (levelled * drift).sum(axis=1) / np.maximum((drift**2).sum(axis=1), 1e-12)
    return np.asarray(levelled - slope[:, None] * drift)


def _levelled(values: Floats, within: Bools) -> Floats:
    inner, outer = _mean(values, within), _mean(values, ~within)
    return np.asarray(values - np.where(within, inner[:, None], outer[:, None]))


def _mean(values: Floats, where: Bools) -> Floats:
    count = where.sum(axis=1)
    total = np.where(where, values, 0.0).sum(axis=1)
    return np.asarray(total / np.maximum(count, 1))
