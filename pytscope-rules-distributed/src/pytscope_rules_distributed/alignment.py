"""The analyzer of `Ranks`: which steps all ranks have, and what each did in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs
import numpy as np

from pytscope.analyses import Column
from pytscope.model.errors import Inconclusive, NotApplicable, NotMeasured
from pytscope.plugins.declare import analyzer
from pytscope.runs.run import Bools, Ints, Run, Timeline
from pytscope.stats import MAD_TO_SD
from pytscope_rules_distributed.columns import TO_MEASURE
from pytscope_rules_distributed.ranks import Clock, LeftOut, Ranks
from pytscope_rules_distributed.stamps import Stamps, stamps
from pytscope_rules_distributed.topology import Ranked, cohorts, hosts, places

OTHERS = "records of the other ranks: record every rank with distributed=True, and open the folder"
UNSTEADY = ("eval", "checkpoint", "compile")
"""Phases that one rank may have alone; a step that has one says nothing about its speed."""
MOST_TICK_NS = 1_000_000
LOADS = ("tokens", "samples")
_HALF = 0.5


@attrs.frozen(eq=False)
class _Known:
    """A rank with its stamps, and the steps of them that can be compared."""

    timeline: Timeline
    stamps: Stamps
    places: Ints
    step: Ints


@analyzer("ranks")
def ranks(run: Run) -> Ranks:
    """Put the ranks beside each other.

    A step counts that is rated on every rank compared, with the step before it in the
    same attempt. Ranks that lack more than half of the steps which half of the ranks
    have are left out, so that one short rank does not hide the others.

    Raises:
        NotApplicable: The job has one rank.
        NotMeasured: Ranks or their collectives were not recorded.
        Inconclusive: The ranks have no step in common.
    """
    present = [timeline for timeline in run.timelines if len(timeline)]
    world = max(run.world_size or 0, max(run.ranks, default=-1) + 1)
    if world < 2:  # noqa: PLR2004  # one rank waits for nobody
        why = "the run has one rank"
        raise NotApplicable(why)
    if len(present) < 2:  # noqa: PLR2004  # nothing to compare with
        raise NotMeasured(OTHERS)
    read = [(timeline, stamps(timeline)) for timeline in present]
    if all(its is None for _, its in read):
        raise NotMeasured(TO_MEASURE)
    known = [_known(timeline, its) for timeline, its in read if its is not None]
    step, kept = _common(known)
    out = [LeftOut(t.rank, 0, "no stamps of its collectives") for t, its in read if its is None]
    stay = {one.timeline.rank for one in kept}
    out += [
        LeftOut(one.timeline.rank, len(one.step), "it lacks most of the steps that others have")
        for one in known
        if one.timeline.rank not in stay
    ]
    out += [LeftOut(t.rank, 0, "no completed step") for t in run.timelines if not len(t)]
    if len(kept) < 2 or not len(step):  # noqa: PLR2004  # as above
        need = "steps in a row that at least two ranks have in common, with stamps; there are none"
        raise Inconclusive(need)
    missing = tuple(sorted(set(range(world)) - set(run.ranks)))
    return _ranks(run, kept, step, missing, tuple(sorted(out, key=lambda one: one.rank)))


def _known(timeline: Timeline, its: Stamps) -> _Known:
    places = np.flatnonzero(its.counts & timeline.rated[its.rows])
    return _Known(timeline, its, places, timeline.step[its.rows[places]])


def _common(known: Sequence[_Known]) -> tuple[Ints, list[_Known]]:
    """Steps that all ranks kept have, and those ranks."""
    first = known[0].step
    if all(len(one.step) == len(first) and (one.step == first).all() for one in known):
        return first, list(known)
    numbers, times = np.unique(np.concatenate([one.step for one in known]), return_counts=True)
    usual = numbers[times >= _HALF * len(known)]
    kept = [one for one in known if np.isin(one.step, usual).sum() >= _HALF * len(usual)]
    kept = [one for one in kept if len(one.step)]
    if not kept:
        return first[:0], []
    numbers, times = np.unique(np.concatenate([one.step for one in kept]), return_counts=True)
    return numbers[times == len(kept)], kept


def _ranks(
    run: Run,
    kept: Sequence[_Known],
    step: Ints,
    missing: tuple[int, ...],
    left_out: tuple[LeftOut, ...],
) -> Ranks:
    at = [one.places[np.searchsorted(one.step, step)] for one in kept]
    own = np.stack([one.stamps.own_ns[i] for one, i in zip(kept, at, strict=True)])
    rows = np.stack([one.stamps.rows[i] for one, i in zip(kept, at, strict=True)])
    wall = [one.timeline.wall_ns[r] for one, r in zip(kept, rows, strict=True)]
    longest = np.maximum.reduce(wall)
    steady = ~_unsteady(kept, rows)
    if steady.sum() < _HALF * len(steady):
        steady[:] = True
    numbers = {one.timeline.rank for one in kept}
    there = tuple(place for place in places(run) if place.rank in numbers)
    load_name, load = _load(kept, rows)
    alike = cohorts(there)
    return Ranks(
        ranks=tuple(place.rank for place in there),
        missing=missing,
        left_out=left_out,
        places=there,
        told=all(place.told for place in there),
        cohorts=alike,
        hosts=hosts(there),
        steps=len(step),
        first_step=int(step[0]),
        last_step=int(step[-1]),
        steady_steps=int(steady.sum()),
        attempts=tuple(np.unique(kept[0].timeline.attempt[rows[0]]).tolist()),
        segments=any(one.stamps.segments for one in kept),
        wall_ns=int(longest.sum()),
        tick_ns=_tick(own),
        clocks=tuple(_clocks(run, kept, at, alike)),
        step=Column(step),
        rows=Column(rows),
        own_ns=Column(own),
        last_ns=Column(np.stack([k.stamps.last_ns[i] for k, i in zip(kept, at, strict=True)])),
        blocked_ns=Column(
            np.stack([k.stamps.blocked_ns[i] for k, i in zip(kept, at, strict=True)])
        ),
        longest_ns=Column(longest),
        steady=Column(steady),
        load=load,
        load_name=load_name,
    )


def _unsteady(kept: Sequence[_Known], rows: Ints) -> Bools:
    """Steps in which, or just before which, some rank did what is no part of a step's work."""
    found = np.zeros(rows.shape[1], np.bool_)
    for one, its in zip(kept, rows, strict=True):
        for phase in UNSTEADY:
            if phase in one.timeline.phases:
                there = one.timeline.phase_ns(phase) > 0
                found |= there[its] | there[np.maximum(its - 1, 0)]
    return found


def _load(kept: Sequence[_Known], rows: Ints) -> tuple[str, Column | None]:
    """What every rank logged of its work, where all did in all steps.

    What is alike on all ranks, and yet changes from step to step, is a sum over ranks or
    a share of it, as some frameworks count: it does not tell what a rank had to do.
    """
    for name in LOADS:
        if all(name in one.timeline.scalars for one in kept):
            values = [_dense(one.timeline, name)[r] for one, r in zip(kept, rows, strict=True)]
            matrix = np.stack(values)
            summed = (matrix == matrix[0]).all() and (matrix[0] != matrix[0, 0]).any()
            if np.isfinite(matrix).all() and (matrix > 0).all() and not summed:
                return name, Column(matrix)
    return "", None


def _dense(timeline: Timeline, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    dense = np.full(len(timeline), np.nan)
    rows, values = timeline.column("scalar", name)
    dense[rows] = values
    return dense


def _tick(own: Ints) -> int:
    """What all own times are multiples of: a coarse clock's tick, one millisecond at most."""
    return min(max(int(np.gcd.reduce(own, axis=None)), 1), MOST_TICK_NS)


def _clocks(
    run: Run, kept: Sequence[_Known], at: Sequence[Ints], alike: Sequence[Ranked]
) -> Iterator[Clock]:
    """The ranks' times of day against their cohort's, at the releases that they share."""
    epochs: list[Mapping[int, int]] = [
        {attempt.number: attempt.start_epoch_ns for attempt in one.timeline.attempts}
        for one in kept
    ]
    if not run.has_timeline or not all(all(known.values()) for known in epochs):
        return
    zero = min(min(known.values()) for known in epochs)
    moments = []
    for one, places_of, known in zip(kept, at, epochs, strict=True):
        rows = one.stamps.rows[places_of]
        of_step = one.timeline.attempt[rows]
        offset = np.zeros(len(rows), np.int64)
        for number, epoch in known.items():
            offset[of_step == number] = epoch - zero
        moments.append(offset + one.timeline.start_ns[rows] + one.stamps.release_ns[places_of])
    matrix = np.stack(moments)
    numbers = [one.timeline.rank for one in kept]
    for cohort in alike:
        mine = matrix[np.searchsorted(numbers, cohort.ranks)]
        ahead = mine - np.median(mine, axis=0)
        offsets = np.median(ahead, axis=1)
        rest = MAD_TO_SD * np.median(np.abs(ahead - offsets[:, None]), axis=1)
        for rank, offset_ns, residual in zip(cohort.ranks, offsets, rest, strict=True):
            yield Clock(rank, round(float(offset_ns)), round(float(residual)))
