"""EFFICIENCY.RECOVERABLE."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pytscope.analyses import Budget, Interruptions, Timing
from pytscope.analyses.budget import TUNED_SHARE
from pytscope.analyses.coverage import FEW_STEPS
from pytscope.analyses.units import duration, percent
from pytscope.builtin.rules.line_fixes import device, fix_for
from pytscope.builtin.rules.lone_step import LoneStep, lone_step
from pytscope.model.errors import NotMeasured
from pytscope.model.findings import Confidence, Evidence, Finding, Severity
from pytscope.model.wording import listed
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds

_HALF = 0.5


@rule("EFFICIENCY.RECOVERABLE", since="0.3.0")
def recoverable(
    budget: Budget,
    timing: Timing | None,
    interruptions: Interruptions | None,
    *,
    allowance: Annotated[float, Bounds(ge=0, lt=1)] = TUNED_SHARE,
) -> Iterator[Finding]:
    """Much of the wall is waiting that a change to the run can win back.

    Detects:
        Budget lines in which no compute runs although it could (data_stall, h2d,
        communication, straggler_wait, pipeline_bubble, gc, compile, log, redone,
        checkpoint) and that together hold more of the wall than a tuned run leaves
        in them; ranked by seconds.

    Why it matters:
        Every second in these lines is paid for and trains nothing. The ranking
        says where the next hour of work pays most.

    How it decides:
        stalls = sum of those lines / measured wall of the shown rank. Finding when
        stalls > allowance; the default of 0.20 leaves room for the communication,
        checkpoints and logging of a run in good order. Severity by the excess,
        stalls - allowance: high from 0.20, medium from 0.08, low from 0.02. Where the
        rated step that waits longest (in data, h2d, comm, gc or log) makes the
        difference and holds half of the stalls, that step is named instead, low and
        suggestive, with its wait as cost_s; where it makes the difference and holds
        less, there is no finding.
        cost_s is the largest of the lines: the counterfactual is that line at
        zero. It is not the sum, because the lines have different causes, each
        with a finding of its own. compute_overhead is left to EFFICIENCY.LOW_MFU.
        Suggestive below 20 rated steps. Exact sums, no noise to be wrong about.

    Fix:
        The largest line first; the finding says how.

    Limits:
        An upper bound: some communication and some checkpoints are part of any
        run. Communication that overlaps with compute is not in its line on a
        device timed by the host, nor should it be.

    References:
        Google's ml-goodput and badput categories, for the idea of an account of
        lost time.
    """
    if not budget.wall_ns:
        msg = "measured wall time: this run has none"
        raise NotMeasured(msg)
    excess = budget.stall_share - allowance
    if excess <= 0:
        return
    lone = lone_step(timing) if timing is not None else None
    if lone is not None:
        stalls_ns = sum(line.ns for line in budget.stalls)
        if stalls_ns - lone.ns <= allowance * (budget.wall_ns - lone.ns):
            if lone.ns >= _HALF * stalls_ns:
                yield _one_off(budget, lone)
            return
    lines, largest = budget.stalls, budget.stalls[0]
    ranking = [f"{line.name} {duration(line.ns)} ({percent(line.share)})" for line in lines]
    enough = budget.steps >= FEW_STEPS
    yield Finding(
        severity=Severity.of_share(excess),
        confidence=Confidence.CONFIRMED if enough else Confidence.SUGGESTIVE,
        title=(
            f"{percent(budget.stall_share)} of {budget.measured} is recoverable waiting, "
            f"most of it {largest.name}"
        ),
        detail=f"By seconds: {listed(ranking, 5)}.",
        cost_s=largest.ns / 1e9,
        evidence=[
            Evidence(line.name, line.ns / 1e9, "s", rank=budget.shown_rank) for line in lines
        ],
        fix=fix_for(largest.name, device(interruptions)),
        verify="record the run again: the line shrinks in the budget",
        steps=budget.step_ranges,
        ranks=(budget.shown_rank,),
    )


def _one_off(budget: Budget, lone: LoneStep) -> Finding:
    return Finding(
        severity=Severity.LOW,
        confidence=Confidence.SUGGESTIVE,
        title=f"Step {lone.step} alone waited {duration(lone.ns)}, mostly in {lone.phase}",
        detail=(
            f"That is {percent(lone.ns / budget.wall_ns)} of wall; without this step, waiting is "
            "within what a run in good order leaves."
        ),
        cost_s=lone.ns / 1e9,
        evidence=[Evidence("wait of that step", lone.ns / 1e9, "s", rank=budget.shown_rank)],
        fix="Look at what happened at that step; if it does not come again, change nothing.",
        verify="record more steps: its part of the wall shrinks",
        steps=[lone.step],
        ranks=(budget.shown_rank,),
    )
