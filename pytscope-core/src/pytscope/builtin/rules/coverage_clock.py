"""COVERAGE.CLOCK."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytscope.analyses import Budget, Coverage
from pytscope.analyses.budget import Impossible
from pytscope.analyses.coverage import ClockFault
from pytscope.analyses.units import count
from pytscope.model.findings import Evidence, Finding, Severity, step_ranges
from pytscope.plugins.declare import rule

DURATIONS = ("phases", "clock")
"""Contradictions of a budget that are told here."""
MOST_TOLD = 3
MOST_STEPS = 100


@rule("COVERAGE.CLOCK", since="0.3.0")
def clock(coverage: Coverage, budget: Budget | None) -> Iterator[Finding]:
    """The recording's times contradict each other.

    Detects:
        Durations below zero, records that overlap in time, phases that sum to more
        than the wall of their steps; and, told apart from those, a time of day that
        jumped, was never set, or makes an attempt start before the last one ended.

    Why it matters:
        Where durations contradict each other, shares and rates that hold them are
        wrong. A time of day that jumps leaves them alone, since steps are timed by
        another clock, but not the time between attempts nor the matching of ranks
        and attempts.

    How it decides:
        Durations: finding when any is below zero, or when a budget has more phases
        than wall; severity by the contradicting time over the wall of the ranks
        concerned, high from 0.20, else medium, for some line is wrong by it. Time of
        day: finding when it ran away from the steps' clock by more than a second
        between two anchors, when an attempt starts more than a second, and more than
        a thousandth of its length, before the end of the one before it, or when it
        lies before the year 2000; low when the run has several ranks or attempts,
        whose matching uses it, else info. Comparison of exact integers, no noise: the
        false-positive rate is zero. No seconds are lost, so cost_s is null; no least
        number of steps.

    Fix:
        Durations: a clock given to the recorder has to be monotonic; data of another
        source: what wrote it. Time of day: let a time service slew the clock, and
        set it before jobs start. A machine that was suspended shows as a jump too.

    Limits:
        A clock that runs too fast or too slow contradicts nothing. Of pytscope's own
        recordings only ranks whose reading met a clock that went back are looked at
        step by step.

    References:
        Python documentation, time.perf_counter and time.monotonic; clock_gettime(2),
        on clocks that are set and clocks that are not.
    """
    back = [fault for fault in coverage.clock_faults if fault.kind == "back"]
    odd = [seen for seen in budget.impossible if seen.kind in DURATIONS] if budget else []
    if back or odd:
        yield _durations(coverage, back, odd)
    day = [fault for fault in coverage.clock_faults if fault.kind != "back"]
    if day:
        yield _time_of_day(coverage, day)


def _durations(
    coverage: Coverage, back: Sequence[ClockFault], odd: Sequence[Impossible]
) -> Finding:
    concerned = {fault.rank for fault in back} | {rank for seen in odd for rank in seen.ranks}
    wall = sum(rank.wall_ns for rank in coverage.ranks if rank.rank in concerned)
    below = sum(fault.ns for fault in back)
    share = below / wall if wall > 0 else 1.0
    told = [fault.message for fault in back[:MOST_TOLD]]
    if len(back) > MOST_TOLD:
        told.append(f"So did those of {count(len(back) - MOST_TOLD, 'rank')} more.")
    told += [seen.message for seen in odd if seen.kind == "phases" or not back]
    steps = [step for fault in back for step in fault.steps]
    return Finding(
        severity=min(Severity.of_share(share), Severity.MEDIUM, key=lambda s: s.order),
        title="Recorded durations contradict each other",
        detail=" ".join(told),
        evidence=[
            Evidence("time below zero", fault.ns / 1e9, "s", rank=fault.rank)
            for fault in back[:MOST_TOLD]
        ],
        fix=("Record with a monotonic clock (the default), or look at what wrote these durations."),
        verify="analyze a new recording: no line of the budget is below zero",
        steps=step_ranges(steps)[:MOST_STEPS],
        ranks=sorted(rank for rank in concerned if rank is not None),
    )


def _time_of_day(coverage: Coverage, day: Sequence[ClockFault]) -> Finding:
    matched = len(coverage.ranks_present) > 1 or len(coverage.attempts) > 1
    told = [fault.message for fault in day[:MOST_TOLD]]
    if len(day) > MOST_TOLD:
        told.append(f"And {len(day) - MOST_TOLD:,} more like it.")
    if matched:
        told.append("Time between attempts, and which ranks started together, rest on it.")
    return Finding(
        severity=Severity.LOW if matched or coverage.other_attempts else Severity.INFO,
        title="The time of day of the recording is not to be trusted",
        detail=" ".join(told),
        fix="Let a time service slew the clock, and have it set before jobs start.",
        verify="the next run's coverage has no such note",
        ranks=sorted({fault.rank for fault in day if fault.rank is not None}),
    )
