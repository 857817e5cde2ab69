"""The timing analyzer."""

from __future__ import annotations

import numpy as np

from pytscope.analyses.column import Column
from pytscope.analyses.timing import PhaseTiming, Timing
from pytscope.builtin.analyzers.phases import every_phase
from pytscope.model.errors import NotMeasured
from pytscope.model.records import Flag, phase_order
from pytscope.plugins.declare import analyzer
from pytscope.runs.run import Ints, Run, Timeline
from pytscope.stats import ranges, robust_spread

UNRATED = (
    "a step that counts in rates: record more steps, pass a smaller --warmup, "
    "or widen --steps (warm-up steps and steps done again do not count)"
)


@analyzer("timing")
def timing(run: Run) -> Timing:
    """Time the rated steps of the shown rank.

    Raises:
        NotMeasured: No step is rated.
    """
    timeline = run.shown
    rated = timeline.rated
    if not rated.any():
        raise NotMeasured(UNRATED)
    wall = timeline.wall_ns[rated]
    each = {name: column for name, column in every_phase(timeline, rated) if column.any()}
    training = timeline.training_ns[rated]
    total = int(wall.sum())
    median, p95 = _quantiles(training)
    redone = timeline.has(Flag.REDONE)
    return Timing(
        rank=timeline.rank,
        ranks=len(run.ranks),
        clock="host",
        has_timeline=run.has_timeline,
        steps=len(wall),
        wall_ns=total,
        mean_ns=round(total / len(wall)),
        median_ns=median,
        p95_ns=p95,
        spread=robust_spread(training),
        steps_per_s=len(wall) / max(total, 1) * 1e9,
        samples_per_s=_per_second(timeline, "samples"),
        tokens_per_s=_per_second(timeline, "tokens"),
        warmup_steps=int((timeline.has(Flag.WARMUP) & ~redone).sum()),
        redone_steps=int(redone.sum()),
        step_ranges=ranges(timeline.step[rated]),
        phases={name: _phase(name, each[name], total) for name in phase_order(each)},
        step=Column(timeline.step[rated]),
        wall=Column(wall),
        training=Column(training),
        micro_batches=Column(timeline.micro_batches[rated]),
    )


def _quantiles(values: Ints) -> tuple[int, int]:
    median, p95 = np.quantile(values, [0.5, 0.95])
    return round(float(median)), round(float(p95))


def _phase(name: str, each: Ints, wall_ns: int) -> PhaseTiming:
    there = each[each != 0]
    total = int(each.sum())
    median, p95 = _quantiles(there)
    share = total / wall_ns if wall_ns else 0.0
    return PhaseTiming(name, total, median, p95, share, len(there), Column(each))


def _per_second(timeline: Timeline, name: str) -> float | None:
    """A logged count over the wall of the rated steps that logged it."""
    if name not in timeline.scalars:
        return None
    rows, values = timeline.column("scalar", name)
    keep = timeline.rated[rows] & np.isfinite(values)
    wall = int(timeline.wall_ns[rows[keep]].sum())
    return float(values[keep].sum()) / wall * 1e9 if wall else None
