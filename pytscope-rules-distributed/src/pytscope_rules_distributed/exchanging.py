"""The analyzer of `Exchange`: waiting and transfer told apart, without comparing clocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pytscope.analyses import Column
from pytscope.plugins.declare import analyzer
from pytscope.runs.run import Ints, Run, Timeline, exact_sum
from pytscope_rules_distributed.columns import COMPUTE_PHASES, GROUP, INSIDE, named
from pytscope_rules_distributed.exchange import Exchange, GroupKind, Move, RankExchange
from pytscope_rules_distributed.ranks import Ranks
from pytscope_rules_distributed.stamps import COMM
from pytscope_rules_distributed.topology import Ranked, groups

Moves = dict[tuple[str, str], dict[int, int]]


@analyzer("exchange")
def exchange(run: Run, ranks: Ranks) -> Exchange:
    """Split what ranks are blocked for into waiting and transfer.

    In each collective the rank that comes last waits for nobody: what it is blocked is
    the transfer, what others are blocked beyond that is waiting. Of the collectives of a
    step the last one and the rest are told apart so, within each cohort.
    """
    transfer = _transfer(ranks, ranks.last_ns.values) + _transfer(ranks, ranks.blocked_ns.values)
    total = ranks.last_ns.values + ranks.blocked_ns.values
    moved: Moves = {}
    each = []
    for row, rank in enumerate(ranks.ranks):
        rows = ranks.rows.values[row]
        comm, compute, other = _places(run.rank(rank), rows, total[row])
        wait = total[row] - transfer[row]
        _move(moved, rank, wait, comm, compute, other)
        figures = (wait, transfer[row], comm, compute, other)
        each.append(RankExchange(rank, *(exact_sum(column) for column in figures)))
    shown = next((one for one in each if one.rank == run.shown.rank), each[0])
    return Exchange(
        shown_rank=shown.rank,
        shown=shown,
        ranks=tuple(each),
        steps=ranks.steps,
        wall_ns=ranks.wall_ns,
        transfer_ns=sum(one.transfer_ns for one in each) // len(each),
        least_ns=exact_sum(transfer.min(axis=0)),
        unseen=tuple(sorted({*ranks.missing, *(one.rank for one in ranks.left_out)})),
        wait_ns=sum(one.wait_ns for one in each) // len(each),
        kinds=tuple(_kinds(run, ranks, transfer)),
        moves=tuple(Move(*lines, by_rank) for lines, by_rank in moved.items()),
        step=ranks.step,
    )


def _transfer(ranks: Ranks, blocked: Ints) -> Ints:
    """Of every rank and step, what its cohort's last one to come was blocked."""
    out = np.empty_like(blocked)
    for cohort in ranks.cohorts:
        rows = ranks.index(cohort.ranks)
        out[rows] = blocked[rows].min(axis=0)
    return out


def _places(timeline: Timeline, rows: Ints, total: Ints) -> tuple[Ints, Ints, Ints]:
    """Where in a rank's timeline it was blocked: in `comm`, in compute, in unnamed time.

    Never more than the phases hold; time blocked in other phases stays there.
    """
    comm = np.minimum(timeline.phase_ns(COMM)[rows], total)
    left = total - comm
    inside = named(INSIDE, timeline.extras)
    compute, other = np.zeros((2, len(rows)), np.int64)
    for phase, column in inside.items():
        its = np.zeros(len(timeline), np.int64)
        at, values = timeline.column("extra", column)
        its[at] = np.maximum(values, 0)
        there = np.minimum(np.minimum(its, timeline.phase_ns(phase))[rows], left)
        if phase in COMPUTE_PHASES:
            compute += there
            left -= there
        elif phase == "other":
            other += there
            left -= there
    if not inside and left.any():
        held = sum((timeline.phase_ns(p)[rows] for p in sorted(COMPUTE_PHASES)), compute)
        compute = np.minimum(left, held)
    return comm, compute, other


def _move(moved: Moves, rank: int, wait: Ints, comm: Ints, compute: Ints, other: Ints) -> None:
    """Note what the budget moves: waiting first out of `comm`, then out of the others."""
    from_comm = np.minimum(wait, comm)
    from_compute = np.minimum(wait - from_comm, compute)
    from_other = np.minimum(wait - from_comm - from_compute, other)
    amounts = {
        ("communication", "straggler_wait"): from_comm,
        ("compute", "straggler_wait"): from_compute,
        ("other", "straggler_wait"): from_other,
        ("compute", "communication"): compute - from_compute,
        ("other", "communication"): other - from_other,
    }
    for lines, ns in amounts.items():
        total = exact_sum(ns)
        if total:
            moved.setdefault(lines, {})[rank] = total


def _kinds(run: Run, ranks: Ranks, transfer: Ints) -> Iterator[GroupKind]:
    """Transfers of process groups by dimension, else those of the cohorts."""
    timelines = [run.rank(rank) for rank in ranks.ranks]
    columns = [named(GROUP, timeline.extras) for timeline in timelines]
    shared = set(columns[0]).intersection(*columns[1:])
    for name in sorted(shared):
        blocked = np.stack(
            [
                _blocked(timeline, named(GROUP, timeline.extras)[name])[rows]
                for timeline, rows in zip(timelines, ranks.rows.values, strict=True)
            ]
        )
        members = groups(ranks.places, name)
        least = [blocked[ranks.index(group.ranks)].min(axis=0) for group in members]
        yield GroupKind(name, members, Column(np.stack(least)))
    if not shared:
        named_cohorts = tuple(
            Ranked(cohort.name or "all ranks", cohort.ranks) for cohort in ranks.cohorts
        )
        own = [transfer[ranks.index(cohort.ranks)[0]] for cohort in named_cohorts]
        yield GroupKind("replicas", named_cohorts, Column(np.stack(own)))


def _blocked(timeline: Timeline, column: str) -> Ints:
    dense = np.zeros(len(timeline), np.int64)
    rows, values = timeline.column("extra", column)
    dense[rows] = values
    return dense
