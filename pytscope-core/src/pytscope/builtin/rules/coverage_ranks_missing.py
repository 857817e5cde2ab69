"""COVERAGE.RANKS_MISSING."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pytscope.analyses import Coverage
from pytscope.analyses.units import count, ranks_named
from pytscope.model.errors import NotApplicable
from pytscope.model.findings import Confidence, Evidence, Finding, Severity
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds

_HALF = 0.5


@rule("COVERAGE.RANKS_MISSING", since="0.3.0")
def ranks_missing(
    coverage: Coverage, *, min_common: Annotated[float, Bounds(ge=0, le=1)] = 0.9
) -> Iterator[Finding]:
    """Ranks of the job are not in the records, or have few steps in common.

    Detects:
        Ranks below the recorded world size without a file, ranks with a file but
        without a completed step, and ranks whose steps hardly overlap.

    Why it matters:
        What is said about the job is then said about a part of it: the slow rank
        may be one that is missing, and comparisons rest on the steps in common.

    How it decides:
        missing = ranks 0 to world - 1 without records; finding when there are any.
        Low and suggestive when only rank 0 is there (that is how one records rank
        0 alone); info when the run says that this was asked for; high when more
        than half of the ranks are missing; else medium. A rank without a completed
        step counts like a missing one. Among the ranks present, finding (medium)
        when the steps that all have are fewer than min_common of the steps of the
        rank with most, unless the run is live. Counting, no noise: the
        false-positive rate is zero. No seconds are lost, so cost_s is null; no
        least number of steps.

    Fix:
        Record every rank (`Profiler(..., only_rank_zero=False)`) into one
        directory that all of them can write to, and copy all of its files.

    Limits:
        The world size is known only when the launcher said it. Ranks lost with
        their whole node look the same as ranks that were never recorded.

    References:
        PyTorch documentation, torchrun, environment variables RANK and WORLD_SIZE.
    """
    world = coverage.ranks_expected or 0
    if max(world, len(coverage.ranks_present)) <= 1:
        msg = "the run has one rank"
        raise NotApplicable(msg)
    gone = tuple(sorted({*coverage.ranks_missing, *coverage.ranks_empty}))
    if gone:
        yield _missing(coverage, gone, max(world, len(coverage.ranks_present)))
    most = max(coverage.steps_by_rank.values())
    few = coverage.common_steps < min_common * most
    if few and not coverage.live and not coverage.ranks_empty:
        yield Finding(
            severity=Severity.MEDIUM,
            title=f"Ranks have {coverage.common_steps:,} of {count(most, 'step')} in common",
            detail="Comparisons between ranks rest on those steps alone.",
            evidence=[
                Evidence("completed steps", steps, "steps", rank=rank)
                for rank, steps in coverage.steps_by_rank.items()
            ],
            fix="See which ranks stopped early or started late, and why.",
            verify="analyze the completed directory again",
            ranks=tuple(r for r, n in coverage.steps_by_rank.items() if n < min_common * most),
        )


def _missing(coverage: Coverage, gone: tuple[int, ...], world: int) -> Finding:
    only_zero = coverage.ranks_present == (0,) and not coverage.ranks_empty
    severity = Severity.HIGH if len(gone) > _HALF * world else Severity.MEDIUM
    if only_zero:
        severity = Severity.INFO if coverage.by_choice else Severity.LOW
    empty = [f"no completed step of {ranks_named(coverage.ranks_empty)}"]
    absent = [f"no records of {ranks_named(coverage.ranks_missing)}"]
    said = (absent if coverage.ranks_missing else []) + (empty if coverage.ranks_empty else [])
    why = " Only rank 0 was recorded, which may be on purpose." if only_zero else ""
    return Finding(
        severity=severity,
        confidence=Confidence.SUGGESTIVE if only_zero else Confidence.CONFIRMED,
        title=f"{len(gone)} of {count(world, 'rank')} are not in the records",
        detail=f"Found {' and '.join(said)}.{why}",
        evidence=[
            Evidence("ranks expected", world, "ranks"),
            Evidence("ranks with steps", world - len(gone), "ranks"),
        ],
        fix="Record every rank, Profiler(..., only_rank_zero=False), and keep all rank files.",
        verify="analyze the completed directory again",
        ranks=gone,
    )
