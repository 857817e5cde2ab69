"""The analyzer of `Stragglers`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from pytscope.analyses import Column
from pytscope.model.errors import Inconclusive, NotApplicable
from pytscope.model.findings import Cost
from pytscope.plugins.declare import analyzer
from pytscope.runs.run import Ints, Run, exact_sum
from pytscope.stats import Floats, critical_values
from pytscope_rules_distributed.attribution import attributed, held_up_ns, saving_ns
from pytscope_rules_distributed.causes import phase_of
from pytscope_rules_distributed.effects import Effects, differences
from pytscope_rules_distributed.judging import Judged, judge, onset
from pytscope_rules_distributed.pauses import pauses
from pytscope_rules_distributed.ranks import Ranks
from pytscope_rules_distributed.series import FEW, effective_sizes, winsorised
from pytscope_rules_distributed.stragglers import RankEffect, Straggler, Stragglers

MOST_EXPLAINED = 16
"""Slow ranks whose phases are looked at."""


@analyzer("stragglers")
def stragglers(run: Run, ranks: Ranks) -> Stragglers:
    """Compare every rank's own time with that of the others that do the same work.

    Raises:
        NotApplicable: No two ranks do the same work.
        Inconclusive: There are too few steps.
    """
    return found(ranks, run)


def found(ranks: Ranks, run: Run | None = None) -> Stragglers:
    """As `stragglers`; without a run no phase is named.

    Raises:
        NotApplicable: No two ranks do the same work.
        Inconclusive: There are too few steps.
    """
    if max(len(cohort.ranks) for cohort in ranks.cohorts) < 2:  # noqa: PLR2004  # no peers
        why = "no two ranks do the same work"
        raise NotApplicable(why)
    if ranks.steady_steps < FEW:
        need = f"{FEW} steps that all ranks have are needed, there are {ranks.steady_steps}"
        raise Inconclusive(need)
    judged = judge(ranks)
    own = ranks.own
    owed = np.zeros(len(own), np.int64)
    held = 0
    for rows in judged.members:
        if len(rows) > 1:
            owed[rows] = attributed(own[rows])
            held = max(held, exact_sum(held_up_ns(own[rows])))
    effects = dict(_effects(ranks, judged, judged.each, owed))
    told = dict(_effects(ranks, judged, judged.told, owed))
    slow = sorted(_slow(ranks, judged, told, run), key=lambda s: (-s.effect.slowdown, s.rank))
    causeless = np.setdiff1d(judged.found, judged.loaded)
    spread = float(np.median(judged.each.spread)) if len(judged.compared) else 0.0
    return Stragglers(
        ranks=ranks,
        effects=tuple(effects.values()),
        slow=tuple(slow),
        nodes=tuple(n for n in judged.nodes if np.isin(ranks.index(n.ranks), causeless).any()),
        pauses=pauses(ranks, judged, run),
        wall_ns=ranks.wall_ns,
        held_up_ns=held,
        owed_ns=Column(owed),
        saving=_saving(ranks, judged, judged.found),
        saving_loaded=_saving(ranks, judged, judged.loaded),
        saving_own=_saving(ranks, judged, causeless),
        two=ranks.two,
        visible=judged.visible,
        load_name=ranks.load_name,
        load_power=judged.load.power if judged.load else 0.0,
        load_assumed=judged.load.assumed if judged.load else False,
        load_explains=judged.load.explained if judged.load else 0.0,
        spread=float(np.expm1(min(spread, 50.0))),
    )


def _effects(
    ranks: Ranks, judged: Judged, each: Effects, owed: Ints
) -> Iterator[tuple[int, RankEffect]]:
    """Every row that has peers, with its effect."""
    names = {rank: cohort.name for cohort in ranks.cohorts for rank in cohort.ranks}
    medians = np.median(ranks.own, axis=1)
    low, high = np.expm1(each.level - each.half), np.expm1(np.minimum(each.level + each.half, 50))
    for i, row in enumerate(judged.compared.tolist()):
        place = ranks.places[row]
        yield (
            row,
            RankEffect(
                rank=place.rank,
                host=place.host,
                cohort=names[place.rank],
                own_ns=int(medians[row]),
                slowdown=float(np.expm1(min(each.level[i], 50.0))),
                low=float(low[i]),
                high=float(high[i]),
                size=float(each.size[i]),
                chance=float(each.chance[i]),
                owed_ns=int(owed[row]),
            ),
        )


def _slow(
    ranks: Ranks, judged: Judged, effects: Mapping[int, RankEffect], run: Run | None
) -> Iterator[Straggler]:
    rows = judged.found
    order = sorted(rows.tolist(), key=lambda row: -effects[row].slowdown)
    explained = set(order[:MOST_EXPLAINED]) if run is not None else set()
    steps = ranks.step.values
    for row in rows.tolist():
        cohort = next(members for members in judged.members if row in members)
        peers = np.setdiff1d(cohort, rows)
        peers = peers if len(peers) else np.setdiff1d(cohort, [row])
        its = np.zeros(ranks.steps, np.bool_)
        its[judged.at[judged.slow_steps(row)]] = True
        found = phase_of(run, ranks, row, peers, its) if run and row in explained else None
        phase, part = found or ("", 0.0)
        first, last = onset(judged, row)
        usual = np.median(ranks.own[peers][:, its], axis=0)
        loaded = bool(row in judged.loaded)
        yield Straggler(
            effect=effects[row],
            persistent=judged.persistent(row),
            likely=judged.slow_part(row),
            onset_step=None if first is None else int(steps[judged.at[first]]),
            last_step=None if last is None else int(steps[judged.at[last]]),
            episodes=tuple(_episodes(ranks, judged, row)),
            confirmed=judged.sure(row),
            loaded=loaded,
            for_load=judged.load_counts and not loaded,
            phase=phase,
            phase_part=part,
            excess_ns=int(winsorised((ranks.own[row, its] - usual)[None])[0].mean()),
        )


def _episodes(ranks: Ranks, judged: Judged, row: int) -> Iterator[tuple[int, int]]:
    """First and last step of every stretch in which a rank is slow."""
    steps = ranks.step.values[judged.at]
    if judged.persistent(row):
        yield int(steps[0]), int(steps[-1])
        return
    for start, stop in judged.told.stretches(judged.place(row), len(steps)):
        yield int(steps[start]), int(steps[stop - 1])


def _saving(ranks: Ranks, judged: Judged, rows: Ints) -> Cost | None:
    """What it saves, over all steps compared, to have some slow ranks like their peers."""
    if not len(rows):
        return None
    slow = np.zeros((len(ranks.ranks), ranks.steps), np.bool_)
    for row in rows.tolist():
        slow[row, judged.at[judged.slow_steps(row)]] = True
        if judged.persistent(row):
            slow[row] = True
    saved = saving_ns(ranks.own, judged.members, slow, _expected(ranks, judged))
    total = exact_sum(saved) / 1e9
    if (saved == saved[0]).all():
        return Cost(total)
    size = float(effective_sizes(saved[None].astype(np.float64))[0])
    freedom = np.array([max(size - 1.0, 1.0)])
    half = float(critical_values(freedom)[0]) * float(saved.std()) / np.sqrt(freedom[0])
    half *= len(saved) / 1e9
    return Cost(total, max(total - half, 0.0), total + half)


def _expected(ranks: Ranks, judged: Judged) -> Floats | None:
    """Multiple of their peers' time that slow ranks take for their load, where that is known."""
    if ranks.loads is None or judged.load is None or not judged.load_counts:
        return None
    given = np.nan_to_num(differences(ranks.loads, judged.members))
    given[judged.loaded] = 0.0
    return np.asarray(np.exp(judged.load.power * given))
