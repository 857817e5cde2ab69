"""The timing analyzer."""

from __future__ import annotations

import numpy as np

from pytscope.analyses.column import Column
from pytscope.analyses.throughput import Throughput
from pytscope.analyses.timing import PhaseTiming, Timing
from pytscope.builtin.analyzers.phases import eval_fetches_ns, every_phase, rows_of
from pytscope.model.errors import NotMeasured
from pytscope.model.records import Flag, phase_order
from pytscope.plugins.declare import analyzer
from pytscope.runs.run import Ints, Run, Timeline
from pytscope.stats import ranges, robust_spread

_COUNTED = ("samples", "tokens")
TIMELESS = "the duration of steps: none of the rated ones has any"
UNRATED = (
    "a step that counts in rates: record more steps, pass a smaller --warmup, "
    "or widen --steps (warm-up steps and steps done again do not count)"
)

STEPLESS = "a completed step: nothing that was recorded here is one"


@analyzer("timing")
def timing(run: Run) -> Timing:
    """Time the rated steps of the shown rank.

    Raises:
        NotMeasured: No step is rated.
    """
    return rank_timing(run, run.shown)


def rank_timing(run: Run, timeline: Timeline) -> Timing:
    """Time the rated steps of a rank.

    Raises:
        NotMeasured: No step is rated.
    """
    rated = timeline.rated
    if not rated.any():
        raise NotMeasured(_unrated(run))
    rows = rows_of(rated)
    wall = timeline.wall_ns[rows]
    each = {name: column for name, column in every_phase(timeline, rows) if column.any()}
    training = (timeline.training_ns - eval_fetches_ns(timeline))[rows]
    total = int(wall.sum())
    if not total:
        raise NotMeasured(TIMELESS)
    median, p95 = _quantiles(training)
    redone = timeline.has(Flag.REDONE)
    throughput = _throughput(run, timeline.rank)
    return Timing(
        rank=timeline.rank,
        ranks=len(run.ranks),
        clock="host",
        has_timeline=run.has_timeline,
        has_wall=run.has_wall,
        steps=len(wall),
        wall_ns=total,
        mean_ns=round(total / len(wall)),
        median_ns=median,
        p95_ns=p95,
        spread=robust_spread(training),
        steps_per_s=_steps_per_s(run, timeline, len(wall), total),
        samples_per_s=throughput["samples"].per_s if "samples" in throughput else None,
        tokens_per_s=throughput["tokens"].per_s if "tokens" in throughput else None,
        throughput=throughput,
        warmup_steps=int((timeline.has(Flag.WARMUP) & ~redone).sum()),
        redone_steps=int(redone.sum()),
        step_ranges=ranges(timeline.step[rows]),
        phases={name: _phase(name, each[name], total) for name in phase_order(each)},
        step=Column(timeline.step[rows]),
        wall=Column(wall),
        training=Column(training),
        micro_batches=Column(timeline.micro_batches[rows]),
    )


def _unrated(run: Run) -> str:
    """What is missing where no step is rated."""
    if any(len(timeline) for timeline in run.timelines) or run.window is not None:
        return UNRATED
    return STEPLESS


def _quantiles(values: Ints) -> tuple[int, int]:
    median, p95 = np.quantile(values, [0.5, 0.95])
    return round(float(median)), round(float(p95))


def _phase(name: str, each: Ints, wall_ns: int) -> PhaseTiming:
    there = each[each != 0]
    total = int(each.sum())
    median, p95 = _quantiles(there)
    share = total / wall_ns if wall_ns else 0.0
    return PhaseTiming(name, total, median, p95, share, len(there), Column(each))


def _steps_per_s(run: Run, timeline: Timeline, rated: int, rated_ns: int) -> float | None:
    """Rated steps over their wall; without a timeline, completed steps over the run's wall."""
    if run.has_timeline:
        return rated / rated_ns * 1e9
    wall = timeline.measured_ns
    if not (run.has_wall and wall > 0):
        return None
    told = timeline.metadata.get("completed_steps")
    recorded = len(timeline) + sum(a.lost_steps for a in timeline.attempts)
    return (told if isinstance(told, int) else recorded) / wall * 1e9


def _throughput(run: Run, shown: int) -> dict[str, Throughput]:
    """What was counted, by name, in the order in which rates are shown."""
    found: dict[str, Throughput] = {}
    for name in _COUNTED if run.has_timeline else ():
        rates = {t.rank: _per_second(t, name) for t in run.timelines}
        logged = {rank: rate for rank, (rate, _) in rates.items() if rate is not None}
        if logged:
            found[name] = Throughput.of(logged, shown, rates[shown][1])
    return found


def _per_second(timeline: Timeline, name: str) -> tuple[float | None, int]:
    """A logged count over the wall of the rated steps that logged it, and their number."""
    if name not in timeline.scalars:
        return None, 0
    rows, values = timeline.column("scalar", name)
    keep = timeline.rated[rows] & np.isfinite(values)
    wall = int(timeline.wall_ns[rows[keep]].sum())
    total = float(values[keep].sum(dtype=np.float64))  # counts may be more than 64 bits hold
    return (total / wall * 1e9 if wall else None), int(keep.sum())
