"""Which leading steps are warm-up: asked for, recorded, or found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from pytscope.model.records import Flag
from pytscope.runs.run import Bools, Floats, Ints, Run, Timeline

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

TOGETHER = 1 << 22
"""Steps of attempts of one length that are looked at together."""

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
    counts = _counts(run.timelines, warmup)
    flagged = (_flagged(t, own) for t, own in zip(run.timelines, counts, strict=True))
    return attrs.evolve(run, timelines=tuple(flagged))


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
    return settling_of_each(np.asarray(wall, np.float64)[np.newaxis])[0]


def settling_of_each(walls: Floats | Ints) -> list[int]:
    """`settling_steps` of many attempts of one length.

    Args:
        walls: A row for each attempt.
    """
    attempts, n = walls.shape
    if n < FEWEST_STEPS:
        return [0] * attempts
    half = walls[:, n // 2 :].astype(np.float64)
    median = np.median(half, axis=1, keepdims=True)
    spread = np.median(np.abs(half - median), axis=1, keepdims=True)
    limit = median + np.maximum(SLOWER * median, DEVIATIONS * spread)
    settled = walls[:, : n // 2] <= limit
    windows = np.lib.stride_tricks.sliding_window_view(settled, SETTLED, axis=1)
    in_a_row: Bools = np.all(windows, axis=2)
    first = np.minimum(in_a_row.argmax(axis=1), min(MOST_STEPS, int(MOST_SHARE * n)))
    found: list[int] = np.where(in_a_row.any(axis=1), first, 0).tolist()
    return found


def _counts(timelines: Sequence[Timeline], warmup: int | None) -> list[list[int]]:
    """Warm-up steps of every attempt of every rank."""
    counts: list[list[int]] = []
    looked_at: dict[int, list[tuple[int, int, Ints]]] = {}
    for place, timeline in enumerate(timelines):
        given = [a.warmup if warmup is None else warmup for a in timeline.attempts]
        counts.append([max(0, count or 0) for count in given])
        if None in given:
            work = _step_work_ns(timeline)
            for i, (count, rows) in enumerate(zip(given, _rows(timeline), strict=True)):
                if count is None:
                    mine = work[rows]
                    looked_at.setdefault(len(mine), []).append((place, i, mine))
    for size, alike in looked_at.items():
        step = max(1, TOGETHER // max(size, 1))
        for first in range(0, len(alike), step):
            part = alike[first : first + step]
            found = settling_of_each(np.stack([work for _, _, work in part]))
            for (place, i, _), count in zip(part, found, strict=True):
                counts[place][i] = count
    return counts


def _rows(timeline: Timeline) -> Iterator[slice]:
    """Rows of every attempt: they follow each other."""
    numbers = timeline.attempt
    if len(timeline.attempts) == 1:
        yield slice(0, len(numbers))
        return
    for attempt in timeline.attempts:
        rows = np.flatnonzero(numbers == attempt.number)
        yield slice(rows[0], rows[-1] + 1) if len(rows) else slice(0, 0)


def _flagged(timeline: Timeline, counts: Sequence[int]) -> Timeline:
    flags = timeline.flags & ~int(Flag.WARMUP)
    for rows, count in zip(_rows(timeline), counts, strict=True):
        flags[rows][:count] |= int(Flag.WARMUP)
    return timeline.with_flags(flags)


def _step_work_ns(timeline: Timeline) -> Ints:
    work = timeline.wall_ns
    present = timeline.phases
    for name in _NOT_STEP_WORK:
        if name in present:
            work = work - timeline.phase_ns(name)
    return work
