"""COVERAGE.TOO_FEW_STEPS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pytscope.analyses import Coverage
from pytscope.analyses.coverage import FEW_STEPS
from pytscope.analyses.units import count
from pytscope.model.findings import Evidence, Finding, Severity
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds


@rule("COVERAGE.TOO_FEW_STEPS", since="0.3.0")
def too_few_steps(
    coverage: Coverage, *, min_steps: Annotated[int, Bounds(ge=1)] = FEW_STEPS
) -> Iterator[Finding]:
    """There are too few steps to judge the run by.

    Detects:
        A shown rank with fewer rated steps than verdicts on timing need, or none:
        an empty run, a window without steps, a warm-up longer than the run.

    Why it matters:
        A check that passes on three steps says little, and "nothing found" must
        not be read as "nothing wrong".

    How it decides:
        rated = steps of the shown rank that are neither warm-up nor done again.
        Finding when rated < min_steps: medium when there is none, low otherwise.
        From 20 values on the interval of a median is inside the data and a robust
        spread is known to about a quarter. Counting, no noise: the false-positive
        rate is zero. No seconds are lost, so cost_s is null.

    Fix:
        Record more steps, or count fewer of them as warm-up (`--warmup N`), or
        widen the window (`--steps A:B`). Where nothing ended a step, wrap each
        iteration in `with prof.step():`. A folder into which only a test or a
        validation was recorded has no training to judge: its evaluations and their
        values are in the report all the same.

    Limits:
        The number is for timing; what looks at trends needs more and says so.

    References:
        Conover, "Practical Nonparametric Statistics", on intervals of quantiles.
    """
    rated = coverage.rated_steps
    if rated >= min_steps:
        return
    yield Finding(
        severity=Severity.LOW if rated else Severity.MEDIUM,
        title=_title(coverage),
        detail=_detail(coverage, min_steps),
        evidence=[
            Evidence("rated steps", rated, "steps", rank=coverage.shown_rank),
            Evidence("warm-up steps", coverage.warmup_steps, "steps", rank=coverage.shown_rank),
        ],
        fix=_fix(coverage),
        verify="analyze again: coverage counts the rated steps",
        ranks=(coverage.shown_rank,),
    )


def _title(coverage: Coverage) -> str:
    if coverage.untrained:
        return "No training was recorded here"
    if coverage.unended:
        return "Nothing ended a step"
    rated = coverage.rated_steps
    return f"Only {count(rated, 'rated step')}" if rated else "No step counts in rates"


def _detail(coverage: Coverage, min_steps: int) -> str:
    if coverage.untrained:
        return (
            "All there is are evaluations outside of a training, which make no step: there is "
            "nothing of a training to judge."
        )
    if coverage.unended:
        return "There are marks, but no step was ended, so none of what they mark is in a step."
    left_out = coverage.warmup_steps + coverage.redone_steps
    window = " in the window asked for" if coverage.window is not None else ""
    return (
        f"{count(coverage.steps, 'completed step')}{window}, of which {left_out:,} are "
        f"warm-up or were done again; {min_steps} rated steps are needed for a firm verdict."
    )


def _fix(coverage: Coverage) -> str:
    if coverage.untrained:
        return (
            "Analyze the folder of the training; an evaluation that is recorded into it stands "
            "beside it there."
        )
    if coverage.warmup_steps:
        return "Pass a smaller --warmup, or record more steps."
    if coverage.window is not None:
        return "Widen --steps, or record more steps."
    if coverage.steps:
        return "Record more steps."
    return "Wrap each iteration in `with prof.step():`, or loop over prof.steps(loader)."
