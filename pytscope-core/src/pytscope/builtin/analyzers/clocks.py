"""Times that contradict each other, read from a run's columns and attempts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from pytscope.analyses.coverage import ClockFault
from pytscope.analyses.units import duration
from pytscope.runs.run import Attempt, Ints, Run, Timeline
from pytscope.stats import ranges

OVERLAP_NS = 1_000_000_000
"""By how much an attempt may seem to start before the end of the one before it."""
DRIFT = 1e-3
"""The same as a part of that attempt's length: two clocks never run alike."""
EARLIEST_EPOCH_NS = 946_684_800 * 1_000_000_000
"""2000-01-01: a time of day before it is of a clock that nobody set."""


def clock_faults(run: Run) -> tuple[ClockFault, ...]:
    """What is wrong with a run's clocks, rank by rank.

    Columns of pytscope's own recordings are looked through only on the ranks
    whose reading met a clock that went back.
    """
    noted = {note.rank for note in run.notes if note.kind == "clock_back"}
    faults: list[ClockFault] = []
    for timeline in run.timelines:
        if run.source != "pytscope" or timeline.rank in noted:
            faults += _back(timeline)
        faults += _time_of_day(timeline)
    faults += (
        ClockFault("jump", note.rank, f"{note.message[:1].upper()}{note.message[1:]}.")
        for note in run.notes
        if note.kind == "clock_step"
    )
    return tuple(faults)


def _back(timeline: Timeline) -> Iterator[ClockFault]:
    below, places = np.zeros(len(timeline), np.int64), 0
    for name in timeline.phases:
        rows, values = timeline.column("phase", name)
        negative: Ints = np.minimum(values, 0)
        places += int(np.count_nonzero(negative))
        below[rows] += negative
    gaps = [gap for attempt in timeline.attempts for gap in attempt.gaps if gap.ns < 0]
    places += len(gaps)
    if not places:
        return
    ns = -int(below.sum()) - sum(gap.ns for gap in gaps)
    steps = ranges([*timeline.step[below < 0].tolist(), *(gap.step for gap in gaps)])
    times = "once" if places == 1 else f"{places:,} times"
    text = f"The clock of rank {timeline.rank} went back {times}, by {duration(ns)} in all."
    yield ClockFault("back", timeline.rank, text, ns, steps)


def _time_of_day(timeline: Timeline) -> Iterator[ClockFault]:
    attempts, rank = timeline.attempts, timeline.rank
    unset = [a.number for a in attempts if 0 < a.start_epoch_ns < EARLIEST_EPOCH_NS]
    if unset:
        text = f"The time of day of rank {rank} was not set when attempt {unset[0]} started."
        yield ClockFault("unset", rank, text)
    for before, after in itertools.pairwise(attempts):
        if not before.start_epoch_ns or not after.start_epoch_ns:
            continue
        length = _wall_ns(timeline, before)
        early = before.start_epoch_ns + length - after.start_epoch_ns
        if early > max(OVERLAP_NS, DRIFT * length):
            text = (
                f"By the time of day, attempt {after.number} of rank {rank} started "
                f"{duration(early)} before attempt {before.number} ended."
            )
            yield ClockFault("overlap", rank, text)


def _wall_ns(timeline: Timeline, attempt: Attempt) -> int:
    steps = int(timeline.wall_ns[timeline.attempt == attempt.number].sum())
    return steps + attempt.lost_ns + sum(ns for _, ns in (*attempt.startup, *attempt.shutdown))
