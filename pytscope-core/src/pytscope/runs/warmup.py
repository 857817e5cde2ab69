"""Which leading steps are warm-up: asked for, recorded, or found."""

from __future__ import annotations

import attrs
import numpy as np

from pytscope.model.records import Flag
from pytscope.runs.run import Floats, Ints, Run, Timeline

FEWEST_STEPS = 20
"""Attempts with fewer steps have no warm-up of their own accord."""
MOST_STEPS = 100
MOST_SHARE = 0.10
SLOWER = 0.20
"""How much slower than the settled part a step must be, at least."""
DEVIATIONS = 5.0
"""The same in median absolute deviations of the settled part."""
SETTLED = 3
"""Steps in a row that must be settled for the warm-up to be over."""

_NOT_STEP_WORK = ("eval", "checkpoint", "log")
"""Phases that come and go with the step number; compiling is warm-up and stays in."""


def with_warmup(run: Run, warmup: int | None) -> Run:
    """Flag the warm-up steps of a run.

    On each rank and attempt alone: `warmup` if given, else what was recorded
    with the attempt, else what `settling_steps` finds. Earlier warm-up flags
    are cleared first.

    Args:
        run: The run.
        warmup: Steps to flag at the start of every attempt, or None.
    """
    return attrs.evolve(run, timelines=tuple(_flagged(t, warmup) for t in run.timelines))


def settling_steps(wall: Floats | Ints) -> int:
    """Find how many leading steps are clearly slower than the rest.

    The second half of the steps says what settled means: a step is settled
    when it takes at most the half's median plus the larger of 20 % of it and
    five median absolute deviations. The warm-up ends at the first three
    settled steps in a row. It is at most a tenth of the steps and at most
    100; steps that do not settle in the first half are no warm-up but the way
    the run is, and then there is none. Fewer than 20 steps: none.

    Args:
        wall: Duration of every step of an attempt, in order, in any unit.
    """
    n = len(wall)
    if n < FEWEST_STEPS:
        return 0
    half = np.asarray(wall[n // 2 :], np.float64)
    median = float(np.median(half))
    spread = float(np.median(np.abs(half - median)))
    settled = np.asarray(wall[: n // 2]) <= median + max(SLOWER * median, DEVIATIONS * spread)
    in_a_row = np.convolve(settled, np.ones(SETTLED, np.int64), "valid") == SETTLED
    if not in_a_row.any():
        return 0
    return min(int(np.argmax(in_a_row)), MOST_STEPS, int(MOST_SHARE * n))


def _flagged(timeline: Timeline, warmup: int | None) -> Timeline:
    flags = timeline.flags & ~int(Flag.WARMUP)
    for attempt in timeline.attempts:
        rows = np.flatnonzero(timeline.attempt == attempt.number)
        count = attempt.warmup if warmup is None else warmup
        if count is None:
            count = settling_steps(_step_work_ns(timeline)[rows])
        flags[rows[: max(0, count)]] |= int(Flag.WARMUP)
    return timeline.with_flags(flags)


def _step_work_ns(timeline: Timeline) -> Ints:
    work = timeline.wall_ns.copy()
    for name in _NOT_STEP_WORK:
        work -= timeline.phase_ns(name)
    return work
