"""The coverage analyzer."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import numpy as np

from pytscope.analyses.coverage import Coverage, RankCoverage
from pytscope.builtin.analyzers.ending import exceptions, exited, stop, warnings
from pytscope.model.records import Flag
from pytscope.plugins.declare import analyzer
from pytscope.runs.run import Run, Timeline, measured_wall_ns


@analyzer("coverage")
def coverage(run: Run) -> Coverage:
    """Say what the run's records cover, and what is missing."""
    ranks = tuple(_rank(t) for t in run.timelines)
    shown = next(r for r in ranks if r.rank == run.shown.rank)
    expected = set(range(run.world_size or 0))
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
        ranks_missing=tuple(sorted(expected - set(run.ranks))),
        ranks_empty=tuple(r.rank for r in ranks if not r.steps),
        recorded=recorded if isinstance(recorded, str) else None,
        common_steps=_common(run.timelines),
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
        overhead_ns_per_step=overhead / shown.steps
        if overhead is not None and shown.steps
        else None,
        overhead_share=overhead / shown.wall_ns if overhead is not None and shown.wall_ns else None,
        exceptions=tuple(seen for t in run.timelines for seen in exceptions(t)),
        warnings=warnings(run.timelines),
        notes=run.notes,
    )


def _rank(timeline: Timeline) -> RankCoverage:
    redone = timeline.has(Flag.REDONE)
    attempts = timeline.attempts
    last = attempts[-1].number if attempts else None
    well = bool(attempts) and attempts[-1].ended_well  # the code caught what it raised
    seen_all = () if well else exceptions(timeline)
    ended = [seen for seen in seen_all if seen.ended and seen.attempt == last]
    overheads = [a.overhead_ns for a in attempts if a.overhead_ns is not None]
    finished = bool(attempts) and attempts[-1].finished
    return RankCoverage(
        rank=timeline.rank,
        steps=int((~redone).sum()),
        rated_steps=int(timeline.rated.sum()),
        warmup_steps=int((timeline.has(Flag.WARMUP) & ~redone).sum()),
        redone_steps=int(redone.sum()),
        attempts=tuple(a.number for a in attempts),
        finished=finished,
        exited=not ended and exited(timeline),
        stop=None if finished else stop(timeline),
        ended_by=ended[-1] if ended else None,
        wall_ns=measured_wall_ns(timeline),
        lost_ns=sum(a.lost_ns for a in attempts),
        lost_steps=sum(a.lost_steps for a in attempts),
        dropped_steps=sum(a.dropped_steps for a in attempts),
        damaged_bytes=sum(a.damaged_bytes for a in attempts),
        overhead_ns=sum(overheads) if overheads else None,
    )


def _common(timelines: Iterable[Timeline]) -> int:
    """Number of steps that every rank has completed."""
    steps = [t.step[~t.has(Flag.REDONE)] for t in timelines]
    return len(reduce(np.intersect1d, steps))
