"""COVERAGE.RANKS_MISSING."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pytscope.analyses import Coverage
from pytscope.analyses.units import count, ranks_named
from pytscope.model.errors import NotApplicable
from pytscope.model.findings import Confidence, Evidence, Finding, Severity
from pytscope.model.wording import listed
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds


@rule("COVERAGE.RANKS_MISSING", since="0.3.0")
def ranks_missing(
    coverage: Coverage, *, high_share: Annotated[float, Bounds(ge=0, le=1)] = 0.5
) -> Iterator[Finding]:
    """Ranks of the job are not in the records.

    Detects:
        Ranks below the recorded world size without a file, gaps in the numbers of
        the ranks there are, ranks whose file gave nothing or only other attempts,
        and ranks without a completed step.

    Why it matters:
        What is said about the job is then said about a part of it: the slow rank
        may be one that is missing, and comparisons rest on the ranks that are
        there.

    How it decides:
        missing = ranks 0 to world - 1 without a completed step; the world is the
        recorded one, or as many as the highest rank known of implies, whichever is
        more. Finding when there are any. Low and suggestive when only rank 0 is
        there (that is how one records rank 0 alone); info when the run says that
        this was asked for; high when more than high_share of the ranks are
        missing; else medium. Not applicable where a single rank's file was opened
        instead of the run's folder. Ranks that have fewer steps than others are
        COVERAGE.RANK_SHORT's. Counting, no noise: the false-positive rate is zero.
        No seconds are lost, so cost_s is null; no least number of steps.

    Fix:
        Record every rank (`Profiler(..., only_rank_zero=False)`) into one
        directory that all of them can write to, and copy all of its files.

    Limits:
        The world size is known only when the launcher said it: without it, ranks
        above the highest one present are not missed. Ranks lost with their whole
        node look the same as ranks that were never recorded.

    References:
        PyTorch documentation, torchrun, environment variables RANK and WORLD_SIZE.
    """
    if coverage.world <= 1:
        msg = "the run has one rank"
        raise NotApplicable(msg)
    if coverage.one_file and not coverage.ranks_empty:
        msg = "one rank's file was opened, and not the folder of the run"
        raise NotApplicable(msg)
    gone = tuple(sorted({*coverage.ranks_missing, *coverage.ranks_empty}))
    if gone:
        yield _missing(coverage, gone, high_share)


def _missing(coverage: Coverage, gone: tuple[int, ...], high_share: float) -> Finding:
    world = coverage.world
    only_zero = coverage.ranks_present == (0,) and not coverage.ranks_empty
    absentees = set(coverage.ranks_missing)
    reasons = [note.message for note in coverage.notes if note.rank in absentees]
    on_purpose = only_zero and not reasons
    severity = Severity.HIGH if len(gone) > high_share * world else Severity.MEDIUM
    if on_purpose:
        severity = Severity.INFO if coverage.by_choice else Severity.LOW
    empty = [f"no completed step of {ranks_named(coverage.ranks_empty)}"]
    absent = [f"no records of {ranks_named(coverage.ranks_missing)}"]
    said = (absent if coverage.ranks_missing else []) + (empty if coverage.ranks_empty else [])
    why = " Only rank 0 was recorded, which may be on purpose." if on_purpose else ""
    if reasons:
        why = f" Met while reading: {listed(reasons, 3)}."
    return Finding(
        severity=severity,
        confidence=Confidence.SUGGESTIVE if on_purpose else Confidence.CONFIRMED,
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
