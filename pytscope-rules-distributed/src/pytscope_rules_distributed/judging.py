"""From own times to the ranks that are slow, and how."""

from __future__ import annotations

import attrs
import numpy as np

from pytscope.runs.run import Ints
from pytscope.stats import Bools, Floats
from pytscope_rules_distributed.effects import MIN_SLOWDOWN, Effects, differences, effects
from pytscope_rules_distributed.loads import MOST_POWER, Loads, loads
from pytscope_rules_distributed.nodes import SlowNode, slow_nodes
from pytscope_rules_distributed.ranks import Ranks
from pytscope_rules_distributed.series import FEW, SURE, winsorised

PERSISTENT = 0.8
"""Share of windows in which a rank is slow from which it always is."""
LEFT_OVER = 1 / 3
"""Part of a rank's slowdown that its load need not explain to be the reason."""
_SIGMAS = 4.0
"""About what the smallest slowdown has to be above the noise to be seen on one of many ranks."""


@attrs.frozen(eq=False)
class Judged:
    """What the comparison of the ranks says, in arrays.

    Attributes:
        members: Rows of every cohort.
        at: Columns of the steady steps.
        series: Logarithms of own times over those of the peers, in the steady steps.
        compared: Rows that have peers.
        each: Their effects, a value for each of `compared`.
        told: The same; with their load counted, of ranks that are slow for their load.
        load: What goes with the ranks' loads, or None without.
        found: Rows of the ranks that are slow, whatever the reason.
        loaded: Those of them that are so because of their load.
        guessed: Those of `loaded` that are so only if time grows faster than the load.
        nodes: Hosts that are slow as a whole.
        visible: Smallest slowdown that would have been seen on a usual rank.
    """

    members: tuple[Ints, ...]
    at: Ints
    series: Floats
    compared: Ints
    each: Effects
    told: Effects
    load: Loads | None
    found: Ints
    loaded: Ints
    guessed: Ints
    nodes: tuple[SlowNode, ...]
    visible: float

    @property
    def load_counts(self) -> bool:
        """Whether the ranks' own steps tell what load costs."""
        return self.load is not None and self.load.power > 0 and not self.load.assumed

    def place(self, row: int) -> int:
        """Where a row is among those compared."""
        return int(np.searchsorted(self.compared, row))

    def slow_steps(self, row: int) -> Bools:
        """Which of the steady steps a slow rank is slow in."""
        steps = len(self.at)
        if self.persistent(row):
            return np.ones(steps, np.bool_)
        return self.told.episodic(self.place(row), steps)

    def persistent(self, row: int) -> bool:
        """Whether a slow rank is so nearly all the time."""
        return bool(self.told.likely[self.place(row)] >= PERSISTENT)

    def slow_part(self, row: int) -> float:
        """Part of the windows in which a slow rank is slow; of the steps, if it is so at times."""
        if self.persistent(row):
            return float(self.told.likely[self.place(row)])
        return float(self.slow_steps(row).mean())

    def sure(self, row: int) -> bool:
        """Whether enough independent values say so, and there are more than two ranks."""
        cohort = next(rows for rows in self.members if row in rows)
        enough = bool(self.told.size[self.place(row)] >= SURE) and row not in self.guessed
        return enough and len(cohort) > 2  # noqa: PLR2004  # of two, either


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
    verdicts = _verdicts(series, each, load, compared, floor)
    hosts = tuple(h for h in ranks.hosts if np.isin(ranks.index(h.ranks), compared).all())
    nodes = slow_nodes(hosts, [ranks.ranks[i] for i in compared], series, each, floor)
    found = compared[verdicts.found]
    together = [ranks.index(node.ranks) for node in nodes]
    return Judged(
        members=members,
        at=at,
        series=series,
        compared=compared,
        each=each,
        told=verdicts.told,
        load=load,
        found=np.unique(np.concatenate([found, *together])),
        loaded=compared[verdicts.loaded],
        guessed=compared[verdicts.guessed],
        nodes=nodes,
        visible=_visible(each, floor),
    )


@attrs.frozen(eq=False)
class _Verdicts:
    """Of the ranks compared, their effects, and which are slow, for their load or in any case."""

    told: Effects
    found: Bools
    loaded: Bools
    guessed: Bools


def _verdicts(
    series: Floats, each: Effects, load: Loads | None, compared: Ints, floor: float
) -> _Verdicts:
    """Tell ranks that have more to do from those that are slow for what they have to do.

    A third of a slowdown may be left over, since what load costs is an estimate. Where a
    rank's load is always the same, time may grow with it or with its square.
    """
    none: Bools = np.zeros(len(compared), np.bool_)
    if load is None or not load.power:
        return _Verdicts(each, each.found, none, none)
    given = load.given[compared]
    bar = np.maximum(floor, LEFT_OVER * each.level)
    if load.assumed:
        loaded = each.found & (_left(series - MOST_POWER * given, each) <= bar)
        guessed = loaded & (_left(series - given, each) > bar)
        return _Verdicts(each, each.found, loaded, guessed)
    net = effects(series - load.power * given, floor)
    by_itself = net.found & (each.level > floor) & (net.level > LEFT_OVER * each.level)
    found = each.found | by_itself
    return _Verdicts(each.where(by_itself, net), found, found & ~by_itself, none)


def _left(series: Floats, each: Effects) -> Floats:
    """Levels of series in the steps that verdicts are on."""
    steps = series.shape[1]
    where = np.stack([each.where_told(i, steps) for i in range(len(series))])
    return np.asarray(np.where(where, winsorised(series), 0.0).sum(axis=1) / where.sum(axis=1))


def _visible(each: Effects, floor: float) -> float:
    if not len(each.level):
        return float("inf")
    error = np.median(each.spread / np.sqrt(np.maximum(each.size - 1.0, 1.0)))
    return float(np.expm1(min(floor + _SIGMAS * float(error), 50.0)))


def onset(judged: Judged, row: int) -> tuple[int | None, int | None]:
    """First and last steady step of the stretches in which a rank is slow.

    Returns:
        Places among the steady steps; None where the first begins with them, or the last
        ends.
    """
    steps = len(judged.at)
    least = max(FEW // 2, steps // 20)
    stretches = judged.told.stretches(judged.place(row), steps)
    start, stop = stretches[0][0], stretches[-1][1]
    return (start if start >= least else None), (stop - 1 if stop <= steps - least else None)
