"""COVERAGE.UNATTRIBUTED."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from pytscope.analyses import Budget, Interruptions, Timing
from pytscope.analyses.budget import UNNAMED_WATCH
from pytscope.analyses.units import duration, percent
from pytscope.model.errors import Inconclusive
from pytscope.model.findings import Evidence, Finding, Severity
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds
from pytscope.stats import period

FEWEST = 5
_MOST_OF = 0.8


@rule("COVERAGE.UNATTRIBUTED", since="0.3.0")
def unattributed(
    timing: Timing,
    budget: Budget | None,
    interruptions: Interruptions | None,
    *,
    min_share: Annotated[float, Bounds(gt=0, lt=1)] = UNNAMED_WATCH,
    most_share: Annotated[float, Bounds(gt=0, le=1)] = 0.50,
) -> Iterator[Finding]:
    """Much of the step has no name, so nothing can be said about it.

    Detects:
        Steps that spend a large part of their wall in `other`: time that no mark, no
        block and no fetch names.

    Why it matters:
        Every check of timing looks at named time. Where half of the step has no
        name, "nothing found" speaks of the other half, and the cause is likely to be
        in the part that nobody looked at.

    How it decides:
        other = wall of the rated steps of the shown rank without their named phases.
        Finding when sum(other) / sum(wall) >= min_share without the step that has most
        of it: low, and medium from most_share. A quarter is more than what bookkeeping
        around the marks takes in any loop worth timing. Of a source that knows only
        durations, the budget's `other` over the wall counts where that is more, for
        what its steps leave out stands there. At least 5 rated steps. A measured sum,
        no noise to be wrong about: the false-positive rate is zero. The
        time is not lost, so cost_s is null.

    Fix:
        Where no `data` was recorded, wrap the loader with iter_data() or use
        AutoProfiler first. Close each part of the loop with mark("..."), and wrap what
        is beside the step (evaluation, checkpoints, metrics) in phase("...").

    Limits:
        Time that a wrong mark names is not seen. A loop that is recorded for its step
        rate alone has no marks by intention: ignore this rule there.

    References:
        docs/architecture.md, on how stamps tile the wall.
    """
    if timing.steps < FEWEST:
        msg = f"{FEWEST} rated steps are needed, there are {timing.steps}"
        raise Inconclusive(msg)
    other = np.maximum(timing.phase("other").each.values, 0)
    kept = np.arange(timing.steps) != np.argmax(other)
    share = int(other[kept].sum()) / max(int(timing.wall.values[kept].sum()), 1)
    if budget is not None and not timing.has_timeline and budget.share("other") > share:
        if budget.share("other") >= min_share:
            yield _between(budget, most_share)
        return
    if share < min_share:
        return
    held = other > 2 * np.median(other)
    few = bool(held.any()) and other[held].sum() >= _MOST_OF * other.sum()
    every = period(timing.step.values[held]) if few else None
    where = f" Most of it is in one of every {every} steps." if every else ""
    yield Finding(
        severity=Severity.MEDIUM if share >= most_share else Severity.LOW,
        title=f"{percent(timing.share('other'))} of step time has no name",
        detail=(
            f"{duration(float(other.sum()) / timing.steps)} a step is in no phase, so no check "
            f"looks at it.{where}"
        ),
        evidence=[
            Evidence("unnamed", round(share * 100, 2), "%", rank=timing.rank),
            Evidence("steps rated", timing.steps, "steps", rank=timing.rank),
        ],
        fix=_fix(timing, every, by_itself=bool(interruptions and interruptions.watched)),
        verify="record the run again: `other` shrinks in TIMING",
        steps=timing.step_ranges,
        ranks=(timing.rank,),
    )


def _fix(timing: Timing, every: int | None, *, by_itself: bool) -> str:
    """What to name, the likeliest first.

    Args:
        timing: The timing.
        every: Distance of the steps that hold most of it, or None.
        by_itself: Whether instrumentation named the phases, and no code of the loop.
    """
    rest = 'Wrap what runs there in phase("..."): evaluation, checkpoints, metrics.'
    if not (every or by_itself):
        rest = 'Close each part of the step with mark("..."), or wrap it in phase("...").'
    if timing.phase("data").steps or every:
        return rest
    if by_itself:
        return f"No `data` was seen: wrap what gives the batches with iter_data(). {rest}"
    return f"No `data` was recorded: wrap the loader with iter_data(), or use AutoProfiler. {rest}"


def _between(budget: Budget, most_share: float) -> Finding:
    share, rank = budget.share("other"), budget.shown_rank
    return Finding(
        severity=Severity.MEDIUM if share >= most_share else Severity.LOW,
        title=f"{percent(share)} of the wall has no name",
        detail=(
            f"{duration(budget.ns('other'))} of {duration(budget.wall_ns)} are in no recorded "
            "phase, so no check looks at them."
        ),
        evidence=[Evidence("unnamed", round(share * 100, 2), "%", rank=rank)],
        fix="Record the whole loop: what runs between the marks and between the steps too.",
        verify="record the run again: `other` shrinks in the budget",
        ranks=(rank,),
    )
