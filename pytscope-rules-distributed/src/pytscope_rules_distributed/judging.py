"""From own times to the ranks that are slow, and how."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from pytscope.runs.run import Ints
from pytscope.stats import Bools, Floats
from pytscope_rules_distributed.effects import (
    FEW,
    MIN_SLOWDOWN,
    SURE,
    Effects,
    differences,
    effects,
)
from pytscope_rules_distributed.loads import Loads, loads
from pytscope_rules_distributed.nodes import SlowNode, slow_nodes
from pytscope_rules_distributed.ranks import Ranks
from pytscope_rules_distributed.series import winsorised

PERSISTENT = 0.8
"""Share of windows in which a rank is slow from which it always is."""
SPIKE = 2.0
"""Multiple of the peers' own time from which one step stands out by itself."""
LEFT_OVER = 0.2
"""Part of a rank's slowdown that its load need not explain to be the reason."""
_SIGMAS = 4.0
"""About what the smallest slowdown has to be above the noise to be seen on one of many ranks."""


@attrs.frozen
class OneOff:
    """A single step in which a rank took far longer than its peers.

    Attributes:
        rank: The rank.
        step: Number of the step.
        excess_ns: What it took longer.
    """

    rank: int
    step: int
    excess_ns: int


@attrs.frozen(eq=False)
class Judged:
    """What the comparison of the ranks says, in arrays.

    Attributes:
        members: Rows of every cohort.
        at: Columns of the steady steps.
        series: Logarithms of own times over those of the peers, in the steady steps.
        compared: Rows that have peers.
        each: Their effects, a value for each of `compared`.
        load: What goes with the ranks' loads, or None without.
        found: Rows of the ranks that are slow, whatever the reason.
        loaded: Those of them that are so because of their load.
        nodes: Hosts that are slow as a whole.
        visible: Smallest slowdown that would have been seen on a usual rank.
    """

    members: tuple[Ints, ...]
    at: Ints
    series: Floats
    compared: Ints
    each: Effects
    load: Loads | None
    found: Ints
    loaded: Ints
    nodes: tuple[SlowNode, ...]
    visible: float

    def place(self, row: int) -> int:
        """Where a row is among those compared."""
        return int(np.searchsorted(self.compared, row))

    def slow_steps(self, row: int) -> Bools:
        """Which of the steady steps a slow rank is slow in."""
        i, steps = self.place(row), np.arange(len(self.at))
        if self.persistent(row):
            return np.ones(len(steps), np.bool_)
        slow: Bools = (steps >= self.each.start[i]) & (steps < self.each.stop[i])
        return slow

    def persistent(self, row: int) -> bool:
        """Whether a slow rank is so nearly all the time."""
        return bool(self.each.likely[self.place(row)] >= PERSISTENT)

    def sure(self, row: int) -> bool:
        """Whether enough independent values say so, and there are more than two ranks."""
        cohort = next(rows for rows in self.members if row in rows)
        return bool(self.each.size[self.place(row)] >= SURE) and len(cohort) > 2  # noqa: PLR2004  # of two, either


def judge(ranks: Ranks) -> Judged:
    """Find the ranks that take longer than their peers.

    Args:
        ranks: At least 20 steady steps.
    """
    members = tuple(ranks.index(cohort.ranks) for cohort in ranks.cohorts)
    at = np.flatnonzero(ranks.steady_mask)
    own = ranks.own[:, at]
    everywhere = differences(own, members)
    compared = np.sort(np.concatenate([m for m in members if len(m) > 1] or [at[:0]]))
    series = everywhere[compared]
    tick = ranks.tick_ns / max(float(np.median(own)), 1.0) if ranks.tick_ns > 1 else 0.0
    floor = float(np.log1p(MIN_SLOWDOWN) + np.log1p(tick))
    each = effects(series, floor)
    load = None
    if ranks.loads is not None:
        load = loads(own, ranks.loads[:, at], members, everywhere)
    found = compared[each.found]
    hosts = tuple(h for h in ranks.hosts if np.isin(ranks.index(h.ranks), compared).all())
    nodes = slow_nodes(hosts, [ranks.ranks[i] for i in compared], series, each, floor)
    together = [ranks.index(node.ranks) for node in nodes]
    all_found = np.unique(np.concatenate([found, *together]))
    return Judged(
        members=members,
        at=at,
        series=series,
        compared=compared,
        each=each,
        load=load,
        found=all_found,
        loaded=_loaded(all_found, compared, series, each, load, floor),
        nodes=nodes,
        visible=_visible(each, floor),
    )


def _loaded(
    found: Ints, compared: Ints, series: Floats, each: Effects, load: Loads | None, floor: float
) -> Ints:
    """Slow ranks of which little is left once their load is counted.

    The power of the load is an estimate, and what of it is short of the truth is left over.
    """
    if load is None or not load.power or not len(found):
        return found[:0]
    places = np.searchsorted(compared, found)
    rest = series[places] - load.power * load.given[found]
    steps = np.arange(series.shape[1])
    inside = (steps >= each.start[places, None]) & (steps < each.stop[places, None])
    inside |= each.whole[places, None]
    clipped = winsorised(rest)
    level = np.where(inside, clipped, 0.0).sum(axis=1) / np.maximum(inside.sum(axis=1), 1)
    return np.asarray(found[level <= np.maximum(floor, LEFT_OVER * each.level[places])])


def _visible(each: Effects, floor: float) -> float:
    if not len(each.level):
        return float("inf")
    error = np.median(each.spread / np.sqrt(np.maximum(each.size - 1.0, 1.0)))
    return float(np.expm1(min(floor + _SIGMAS * float(error), 50.0)))


def one_offs(ranks: Ranks, judged: Judged) -> Iterator[OneOff]:
    """Steps in which a rank that is not slow took far longer than its peers, largest first."""
    series = judged.series
    if not series.size:
        return
    limit = 3.0 + np.sqrt(2.0 * np.log(series.size))
    bar = np.maximum(np.log(SPIKE), limit * judged.each.spread)
    mask = series >= bar[:, None]
    mask[np.isin(judged.compared, judged.found)] = False
    rows, steps = np.nonzero(mask)
    own = ranks.own[judged.compared[rows], judged.at[steps]]
    excess = own * -np.expm1(-series[rows, steps])
    for i in np.argsort(-excess, kind="stable"):
        rank = ranks.ranks[int(judged.compared[rows[i]])]
        yield OneOff(rank, int(ranks.step.values[judged.at[steps[i]]]), int(excess[i]))


def onset(judged: Judged, row: int) -> tuple[int | None, int | None]:
    """First and last steady step of the stretch in which a rank is slow.

    Returns:
        Places among the steady steps; None where the stretch begins with them, or ends.
    """
    i, steps = judged.place(row), len(judged.at)
    least = max(FEW // 2, steps // 20)
    start, stop = int(judged.each.start[i]), int(judged.each.stop[i])
    return (start if start >= least else None), (stop - 1 if stop <= steps - least else None)
