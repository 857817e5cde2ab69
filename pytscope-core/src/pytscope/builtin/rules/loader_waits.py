"""How long each rank waits for its input, and which ranks wait too long."""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs
import numpy as np

from pytscope.analyses.units import count, ranks_named
from pytscope.builtin.analyzers.phases import eval_fetches_ns
from pytscope.runs.run import Ints, Run, Timeline, exact_sum
from pytscope.stats import effective_size

FEWEST = 5
"""Rated steps from which a rank is judged."""
NO_DATA = "no `data` phase"
TOO_FEW = f"fewer than {FEWEST} rated steps"
_AS_LONG = 0.8


@attrs.frozen
class Floors:
    """What a healthy rank stays below.

    Attributes:
        share: Of the rated wall.
        stall_ns: Mean stall a step.
        healthy_ns: What handing over one batch that is ready may take.
    """

    share: float
    stall_ns: float
    healthy_ns: int


@attrs.frozen(eq=False)
class Waiting:
    """A rank that waits too long.

    Attributes:
        rank: The rank.
        stall: Nanoseconds in every rated step.
        share: Their sum over the rated wall.
    """

    rank: int
    stall: Ints
    share: float

    @property
    def cost_ns(self) -> int:
        """The whole stall."""
        return int(self.stall.sum())


@attrs.frozen(eq=False)
class Waits:
    """What is known of all ranks.

    Attributes:
        ranks: Number of ranks with records.
        waiting: Those that wait too long.
        unjudged: Ranks that could not be judged, and why.
    """

    ranks: int
    waiting: tuple[Waiting, ...]
    unjudged: dict[int, str]

    def described(self, shown: int) -> Waiting:
        """The rank to describe: the shown one, unless another waits clearly longer."""
        worst = max(self.waiting, key=lambda one: (one.cost_ns, -one.rank))
        own = next((one for one in self.waiting if one.rank == shown), worst)
        return own if own.cost_ns >= _AS_LONG * worst.cost_ns else worst

    def where(self) -> str:
        """The ranks that wait, as the end of a title; empty in a run of one rank."""
        if self.ranks == 1:
            return ""
        if len(self.waiting) == 1:
            return f" on rank {self.waiting[0].rank} of {self.ranks:,}"
        return f" on {len(self.waiting):,} of {count(self.ranks, 'rank')}"

    def not_judged(self) -> str:
        """The ranks that were not judged, and why, as a clause; empty without any."""
        by_reason: dict[str, list[int]] = {}
        for rank, why in self.unjudged.items():
            by_reason.setdefault(why, []).append(rank)
        return "; ".join(f"{ranks_named(tuple(r))}: {why}" for why, r in by_reason.items())


def waits(run: Run, floors: Floors) -> Waits:
    """Judge every rank by itself.

    The shown rank, which was not chosen by its data, is judged by the floors. Of many
    ranks one may pass them by chance: another rank has to pass by `sqrt(2 ln ranks)`
    standard errors as well.
    """
    ranks = len(run.timelines)
    errors = math.sqrt(2 * math.log(ranks))
    unjudged = dict(_unjudged(run))
    judged = (t for t in run.timelines if t.rank not in unjudged and _may_wait(t, floors))
    each = (_waiting(t, floors, 0.0 if t is run.shown else errors) for t in judged)
    return Waits(ranks, tuple(one for one in each if one is not None), unjudged)


def _unjudged(run: Run) -> Iterator[tuple[int, str]]:
    for timeline in run.timelines:
        if "data" not in timeline.phases or not timeline.phase_sum_ns("data"):
            yield timeline.rank, NO_DATA
        elif int(timeline.rated.sum()) < FEWEST:
            yield timeline.rank, TOO_FEW


def _may_wait(timeline: Timeline, floors: Floors) -> bool:
    """Whether a rank's whole `data` could be too much: cheap, and right for most of thousands."""
    wall = timeline.wall_ns[timeline.rated]
    return timeline.phase_sum_ns("data") >= floors.share * (exact_sum(wall) - int(wall.max()))


def _waiting(timeline: Timeline, floors: Floors, errors: float) -> Waiting | None:
    rated = timeline.rated
    wall = timeline.wall_ns[rated]
    data = (timeline.phase_ns("data") - eval_fetches_ns(timeline))[rated]
    stall = np.maximum(data - floors.healthy_ns * timeline.micro_batches[rated], 0)
    kept = np.arange(len(stall)) != np.argmax(stall)
    rest, rest_wall = stall[kept], wall[kept]
    share = int(rest.sum()) / max(int(rest_wall.sum()), 1)
    if share < floors.share or rest.mean() < floors.stall_ns:
        return None
    over = rest - floors.share * rest_wall
    if float(over.mean()) < errors * float(over.std()) / math.sqrt(effective_size(over)):
        return None
    return Waiting(timeline.rank, stall, int(stall.sum()) / max(int(wall.sum()), 1))
