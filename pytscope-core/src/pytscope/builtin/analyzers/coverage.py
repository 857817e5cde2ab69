"""The coverage analyzer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pytscope.analyses.coverage import Coverage, RankCoverage
from pytscope.builtin.analyzers.clocks import clock_faults
from pytscope.builtin.analyzers.ending import exceptions, exited, stop, warnings
from pytscope.model.records import Flag
from pytscope.plugins.declare import analyzer
from pytscope.runs.run import Ints, Run, Timeline

MOST_RANKS = 1 << 17
"""Ranks that are looked for; a larger number is taken for a mistake in the records."""


@analyzer("coverage")
def coverage(run: Run) -> Coverage:
    """Say what the run's records cover, and what is missing."""
    steps_of = {t.rank: _kept(t) for t in run.timelines}
    common, union = _overlap(steps_of)
    ranks = tuple(_rank(t, steps_of[t.rank], union) for t in run.timelines)
    shown = next(r for r in ranks if r.rank == run.shown.rank)
    overhead = shown.overhead_ns
    recorded = run.shown.metadata.get("recorded")
    return Coverage(
        shown_rank=shown.rank,
        steps=shown.steps,
        rated_steps=shown.rated_steps,
        warmup_steps=shown.warmup_steps,
        redone_steps=shown.redone_steps,
        ranks_expected=run.world_size,
        ranks_present=run.ranks,
        ranks_missing=_missing(run),
        ranks_empty=tuple(r.rank for r in ranks if not r.steps),
        recorded=recorded if isinstance(recorded, str) else None,
        common_steps=common,
        all_steps=union,
        steps_by_rank={r.rank: r.steps for r in ranks},
        ranks=ranks,
        attempts=tuple(sorted({n for r in ranks for n in r.attempts})),
        other_attempts=run.other_attempts,
        window=run.window,
        live=run.live,
        finished=all(r.finished for r in ranks),
        downtime_ns=sum(a.downtime_ns for a in run.shown.attempts),
        lost_steps=sum(r.lost_steps for r in ranks),
        lost_ns=sum(r.lost_ns for r in ranks),
        dropped_steps=sum(r.dropped_steps for r in ranks),
        damaged_bytes=sum(r.damaged_bytes for r in ranks),
        overhead_ns_per_step=(overhead - shown.overhead_once_ns) / (shown.steps + shown.lost_steps)
        if overhead is not None and shown.steps
        else None,
        overhead_once_ns=shown.overhead_once_ns if overhead is not None else None,
        overhead_share=overhead / shown.wall_ns if overhead is not None and shown.wall_ns else None,
        exceptions=tuple(seen for t in run.timelines for seen in exceptions(t)),
        warnings=warnings(run),
        notes=run.notes,
        clock_faults=clock_faults(run),
        has_wall=run.has_wall,
        one_file=run.source == "pytscope" and run.path.endswith(".pts") and len(run.ranks) == 1,
        scalars=run.shown.scalars,
        skipped_steps=int((run.shown.has(Flag.SKIPPED) & ~run.shown.has(Flag.REDONE)).sum()),
    )


def _kept(timeline: Timeline) -> Ints:
    """Numbers of the steps that no later attempt did again."""
    redone = timeline.has(Flag.REDONE)
    return timeline.step[~redone] if redone.any() else timeline.step


def _rank(timeline: Timeline, kept: Ints, union: int) -> RankCoverage:
    redone = timeline.has(Flag.REDONE)
    lost_steps = sum(a.lost_steps for a in timeline.attempts)
    attempts = timeline.attempts
    last = attempts[-1].number if attempts else None
    well = bool(attempts) and attempts[-1].ended_well  # the code caught what it raised
    seen_all = () if well else exceptions(timeline)
    ended = [seen for seen in seen_all if seen.ended and seen.attempt == last]
    overheads = [a.overhead_ns for a in attempts if a.overhead_ns is not None]
    finished = bool(attempts) and attempts[-1].finished
    return RankCoverage(
        rank=timeline.rank,
        steps=len(kept),
        rated_steps=int(timeline.rated.sum()),
        warmup_steps=int((timeline.has(Flag.WARMUP) & ~redone).sum()),
        redone_steps=len(redone) - len(kept),
        first_step=int(kept.min()) if len(kept) else None,
        last_step=int(kept.max()) if len(kept) else None,
        lacking_steps=max(0, union - _distinct(kept) - lost_steps),
        redone_ns=int(timeline.wall_ns[redone].sum()),
        restart_ns=sum(ns for a in attempts[1:] for _, ns in a.startup),
        downtime_ns=sum(a.downtime_ns for a in attempts),
        attempts=tuple(a.number for a in attempts),
        finished=finished,
        exited=not ended and exited(timeline),
        stop=None if finished else stop(timeline),
        ended_by=ended[-1] if ended else None,
        wall_ns=timeline.measured_ns,
        lost_ns=sum(a.lost_ns for a in attempts),
        lost_steps=lost_steps,
        dropped_steps=sum(a.dropped_steps for a in attempts),
        damaged_bytes=sum(a.damaged_bytes for a in attempts),
        overhead_ns=sum(overheads) if overheads else None,
        overhead_once_ns=sum(a.overhead_once_ns for a in attempts if a.overhead_ns is not None),
    )


def _missing(run: Run) -> tuple[int, ...]:
    """Ranks without records: of the world, below the highest present, of files that gave none."""
    world = max(run.world_size or 0, max(run.ranks, default=-1) + 1)
    expected = set(range(min(world, MOST_RANKS)))
    expected |= {note.rank for note in run.notes if note.rank is not None}
    return tuple(sorted(expected - set(run.ranks)))


def _overlap(steps_of: Mapping[int, Ints]) -> tuple[int, int]:
    """Number of steps that every rank has completed, and of those that any rank has."""
    first, *others = steps_of.values()
    if all(np.array_equal(first, other) for other in others):
        alike = _distinct(first)
        return alike, alike
    each = np.concatenate([np.unique(steps) for steps in steps_of.values()])
    counts = np.unique(each, return_counts=True)[1]
    return int((counts == len(steps_of)).sum()), len(counts)


def _distinct(steps: Ints) -> int:
    return len(steps) if (np.diff(steps) > 0).all() else len(np.unique(steps))
