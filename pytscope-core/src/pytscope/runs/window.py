"""A run cut down to some of its steps."""

from __future__ import annotations

import attrs

from pytscope.model.errors import NothingUsable, UsageError
from pytscope.runs.run import Attempt, Bools, Run, Timeline


def windowed(run: Run, first: int | None, last: int | None) -> Run:
    """Keep the steps from `first` to `last`, both included.

    Startup goes with an open beginning and shutdown with an open end: they
    are kept only when the bound on their side is None. Of what is lost, the
    part in the window stays. Attempts without a step in the window go, and
    evaluations of a model of steps outside. What
    recording cost is known of whole attempts alone, so it is None of one that
    was cut.

    Args:
        run: The run.
        first: Number of the first step to keep, or None for all before `last`.
        last: Number of the last step to keep, or None for all after `first`.

    Raises:
        UsageError: The window ends before it begins.
        NothingUsable: No rank has a step in it.
    """
    if first is None and last is None:
        return run
    if first is not None and last is not None and last < first:
        msg = f"the window of steps {first} to {last} ends before it begins"
        raise UsageError(msg)
    timelines = tuple(_cut(timeline, first, last) for timeline in run.timelines)
    if not any(len(timeline) for timeline in timelines):
        raise NothingUsable(_outside(run, first, last))
    evaluations = tuple(
        one
        for one in run.evaluations
        if (first is None or one.step > first) and (last is None or one.step <= last + 1)
    )
    return attrs.evolve(run, timelines=timelines, window=(first, last), evaluations=evaluations)


def _outside(run: Run, first: int | None, last: int | None) -> str:
    asked = f"{'' if first is None else first}:{'' if last is None else last}"
    present = [timeline.step for timeline in run.timelines if len(timeline)]
    if not present:
        return f"no step was recorded, so none is in {asked}"
    low = min(int(step.min()) for step in present)
    high = max(int(step.max()) for step in present)
    return f"no step is in {asked}; the run has steps {low} to {high}"


def _cut(timeline: Timeline, first: int | None, last: int | None) -> Timeline:
    inside: Bools = (timeline.step >= timeline.step) if first is None else timeline.step >= first
    if last is not None:
        inside = inside & (timeline.step <= last)
    present = set(timeline.attempt[inside].tolist())
    kept = [attempt for attempt in timeline.attempts if attempt.number in present]
    # A rank without a step in the window is still a rank that recorded.
    kept = kept or list(timeline.attempts[-1:])
    whole = {number for number in present if inside[timeline.attempt == number].all()}
    attempts = tuple(
        _trimmed(a, first, last, leads=a is kept[0], cut=a.number not in whole) for a in kept
    )
    return timeline.select(inside, attempts)


def _trimmed(
    attempt: Attempt, first: int | None, last: int | None, *, leads: bool, cut: bool
) -> Attempt:
    gaps = tuple(
        gap
        for gap in attempt.gaps
        if (first is None or gap.step >= first) and (last is None or gap.step <= last)
    )
    whole_start, whole_end = first is None, last is None
    overhead_ns, once_ns = attempt.overhead_ns, attempt.overhead_once_ns
    if overhead_ns is not None and not whole_start:  # what the start took is left out with it
        overhead_ns, once_ns = overhead_ns - once_ns, 0
    return attrs.evolve(
        attempt,
        startup=attempt.startup if whole_start else (),
        shutdown=attempt.shutdown if whole_end else (),
        open_state=attempt.open_state if whole_end else None,
        downtime_ns=0 if leads and not whole_start else attempt.downtime_ns,
        gaps=gaps,
        lost_ns=sum(gap.ns for gap in gaps),
        lost_steps=sum(gap.steps for gap in gaps),
        unplaced_ns=None,
        overhead_ns=None if cut else overhead_ns,
        overhead_once_ns=0 if cut else once_ns,
        writer_ns=None if cut else attempt.writer_ns,
    )
