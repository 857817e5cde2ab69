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
        widen the window (`--steps A:B`).

    Limits:
        The number is for timing; what looks at trends needs more and says so.

    References:
        Conover, "Practical Nonparametric Statistics", on intervals of quantiles.
    """
    rated = coverage.rated_steps
    if rated >= min_steps:
        return
    left_out = coverage.warmup_steps + coverage.redone_steps
    window = " in the window asked for" if coverage.window is not None else ""
    yield Finding(
        severity=Severity.LOW if rated else Severity.MEDIUM,
        title=f"Only {count(rated, 'rated step')}" if rated else "No step counts in rates",
        detail=(
            f"{count(coverage.steps, 'completed step')}{window}, of which {left_out:,} are "
            f"warm-up or were done again; {min_steps} rated steps are needed for a firm verdict."
        ),
        evidence=[
            Evidence("rated steps", rated, "steps", rank=coverage.shown_rank),
            Evidence("warm-up steps", coverage.warmup_steps, "steps", rank=coverage.shown_rank),
        ],
        fix=(
            "Pass a smaller --warmup, or record more steps."
            if coverage.warmup_steps
            else "Record more steps, or widen --steps."
        ),
        verify="analyze again: coverage counts the rated steps",
        ranks=(coverage.shown_rank,),
    )
