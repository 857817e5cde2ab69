"""In which phase a rank takes longer than its peers, without what it waits for others in it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pytscope.runs.run import Bools, Ints, Run, Timeline
from pytscope.stats import Floats
from pytscope_rules_distributed.columns import COMPUTE_PHASES, INSIDE, named
from pytscope_rules_distributed.ranks import Ranks
from pytscope_rules_distributed.series import winsorised
from pytscope_rules_distributed.stamps import COMM

MOST_PEERS = 64
"""Peers that a rank's phases are compared with; more would not change their median."""
NAMED = 0.5
"""Part of the excess from which a phase is named as its place."""
BEYOND_SHARE = 0.3
"""Part of the other phases' share that a phase takes in when it is named: a rank that is
slower in all phases alike is slow in none of them."""
LITTLE = 0.05
"""Part of the time blocked that may lie outside `comm` without being looked for."""
_MAY_WAIT = COMPUTE_PHASES | {"other"}
"""Phases that may hide waiting, where a recording does not say how much."""


def phase_of(
    run: Run, ranks: Ranks, row: int, peers: Ints, steps: Bools
) -> tuple[str, float] | None:
    """The phase that explains most of what a rank takes longer, and the part it explains.

    Args:
        run: The run.
        ranks: The ranks compared.
        row: The rank's row in `ranks`.
        peers: Rows of its peers.
        steps: Steps to look at.

    Returns:
        None where no phase explains half of it, and more than its share.
    """
    every = len(peers) / min(len(peers), MOST_PEERS)
    some = peers[(np.arange(min(len(peers), MOST_PEERS)) * every).astype(np.int64)]
    mine = _own_phases(run, ranks, row, steps)
    others = [_own_phases(run, ranks, int(peer), steps) for peer in some]
    nothing = np.zeros(int(steps.sum()), np.int64)
    usual = {
        phase: np.median([other.get(phase, nothing) for other in others], axis=0)
        for phase in {*mine, *(name for other in others for name in other)}
    }
    excess = {phase: _mean(mine.get(phase, nothing) - usual[phase]) for phase in usual}
    own = ranks.own[:, steps]
    total = max(_mean(own[row] - np.median(own[some], axis=0)), 1.0)
    above = sum(ns for ns in excess.values() if ns > 0)
    if not excess:
        return None
    phase = max(sorted(excess), key=excess.__getitem__)
    part = min(excess[phase] / max(total, above), 1.0)
    share = _mean(usual[phase]) / max(sum(map(_mean, usual.values())), 1.0)
    least = max(NAMED, share + BEYOND_SHARE * (1.0 - share))
    return (phase, part) if part >= least else None


def _mean(values: Ints | Floats) -> float:
    return float(winsorised(np.asarray(values, np.float64)[None])[0].mean())


def _own_phases(run: Run, ranks: Ranks, row: int, steps: Bools) -> dict[str, Ints]:
    """Nanoseconds a step of every phase of a rank, without what it was blocked in it."""
    timeline = run.rank(ranks.ranks[row])
    rows = ranks.rows.values[row][steps]
    blocked = ranks.last_ns.values[row][steps] + ranks.blocked_ns.values[row][steps]
    hidden = int(blocked.sum() - timeline.phase_ns(COMM)[rows].sum())
    known = hidden <= LITTLE * int(blocked.sum())
    return {name: column[rows] for name, column in _unblocked(timeline, known=known)}


def _unblocked(timeline: Timeline, *, known: bool) -> Iterator[tuple[str, Ints]]:
    """Phases without what the rank was blocked in them.

    Args:
        timeline: The rank.
        known: Whether all that it was blocked has a phase of its own.
    """
    inside = named(INSIDE, timeline.extras)
    known = known or bool(inside)
    for name in timeline.phases:
        if name == COMM or (name in _MAY_WAIT and not known):
            continue
        column = timeline.phase_ns(name)
        if name in inside:
            rows, values = timeline.column("extra", inside[name])
            column = column.copy()
            column[rows] -= values
        yield name, column
