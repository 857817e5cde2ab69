"""COVERAGE.RANK_SHORT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pytscope.analyses import Coverage, RankCoverage
from pytscope.analyses.units import count, percent
from pytscope.model.errors import NotApplicable
from pytscope.model.findings import Evidence, Finding, Severity
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds

MOST_TOLD = 4


@rule("COVERAGE.RANK_SHORT", since="0.3.0")
def rank_short(
    coverage: Coverage, *, tail_s: Annotated[float, Bounds(ge=0)] = 2.0
) -> Iterator[Finding]:
    """Some ranks have fewer steps than others, or none in common.

    Detects:
        Ranks that began late, stopped early or lack steps in between, compared with
        all steps that any rank has; ranks that share no step at all.

    Why it matters:
        Ranks of one job take each step together. What compares them rests on the
        steps in common, and a rank that stopped first is often the one that made
        the others stop.

    How it decides:
        lacking(rank) = steps that any rank has and this one has not, without those
        whose records are lost (COVERAGE.RECORDS_LOST). Finding when it is above
        zero on any rank with a step. A rank that did not finish may lack tail_s of
        steps at its end, which a killed process takes with it unwritten. Severity
        by the largest lacking / all steps: high from 0.20, medium from 0.08, low
        from 0.02, else info. It is not asked of a run that is still recording, whose
        ranks write at different moments, and accounts for nothing by itself:
        COVERAGE.NOT_FINISHED takes it along when every short rank is one that
        stopped. Counting, no noise: the false-positive rate is zero. No seconds are
        lost, so cost_s is null; no least number of steps.

    Fix:
        A rank that stopped early: its last records and its log. One that began
        late: whether it recorded into another directory before. Ranks without a
        common step: whether the files are of one run, and `start(step=...)` after
        a resume on every rank.

    Limits:
        Steps are matched by number: a rank that counts differently looks short.
        Uneven inputs (`join()`) make ranks differ by a step or two, which is told
        as info.

    References:
        PyTorch documentation, "Distributed Training with Uneven Inputs Using the
        Join Context Manager".
    """
    stepped = [rank for rank in coverage.ranks if rank.steps]
    if len(stepped) <= 1:
        msg = "fewer than two ranks have steps"
        raise NotApplicable(msg)
    if coverage.live:
        msg = "the run is still recording"
        raise NotApplicable(msg)
    last = max(rank.last_step or 0 for rank in stepped)
    short = tuple(rank for rank in coverage.short if not _only_unwritten(rank, last, tail_s))
    if not short:
        return
    worst = max(short, key=lambda rank: (rank.lacking_steps, -rank.rank))
    told = [f"{_said(coverage, rank)}." for rank in short[:MOST_TOLD]]
    rest = len(short) - MOST_TOLD
    yield Finding(
        severity=Severity.of_share(worst.lacking_steps / coverage.all_steps),
        title=_title(coverage, short),
        detail=" ".join(told) + (f" So do {count(rest, 'rank')} more." if rest > 0 else ""),
        evidence=[
            Evidence("steps of any rank", coverage.all_steps, "steps"),
            Evidence("steps common to all ranks", coverage.common_steps, "steps"),
            *(Evidence("steps", r.steps, "steps", rank=r.rank) for r in short[:MOST_TOLD]),
        ],
        fix=_fix(coverage, worst),
        verify="analyze the completed directory again: every rank has the same steps",
        ranks=tuple(rank.rank for rank in short),
    )


def _only_unwritten(rank: RankCoverage, last: int, tail_s: float) -> bool:
    """Whether a rank lacks no more than what a kill takes along."""
    if rank.finished or rank.last_step is None:
        return False
    step_s = rank.wall_ns / max(rank.steps, 1) / 1e9
    return rank.lacking_steps <= last - rank.last_step and rank.lacking_steps * step_s <= tail_s


def _title(coverage: Coverage, short: tuple[RankCoverage, ...]) -> str:
    if not coverage.common_steps and not coverage.ranks_empty:
        return "The ranks have no step in common"
    if len(short) == 1:
        of = count(coverage.all_steps, "step")
        return f"Rank {short[0].rank} has {short[0].steps:,} of {of}"
    return f"{len(short)} of {count(len(coverage.ranks), 'rank')} lack steps that others have"


def _said(coverage: Coverage, rank: RankCoverage) -> str:
    stepped = [other for other in coverage.ranks if other.steps]
    first = min(other.first_step or 0 for other in stepped)
    last = max(other.last_step or 0 for other in stepped)
    late, early = (rank.first_step or 0) - first, last - (rank.last_step or 0)
    parts = [f"begins {count(late, 'step')} late"] if late else []
    if early:
        end = "stops" if rank.finished and rank.ended_by is None else "was cut off"
        parts.append(f"{end} {count(early, 'step')} early, after step {rank.last_step}")
    between = max(0, rank.lacking_steps - late - early)
    parts += [f"lacks {count(between, 'step')} in between"] if between else []
    lacks = percent(rank.lacking_steps / coverage.all_steps)
    return f"Rank {rank.rank} {' and '.join(parts)} ({lacks} of all steps)"


def _fix(coverage: Coverage, worst: RankCoverage) -> str:
    if not coverage.common_steps and not coverage.ranks_empty:
        return (
            "See whether the files are of one run; after a resume pass the same start(step=...) "
            "on every rank."
        )
    return f"See why rank {worst.rank} has the fewest: its log, and its last records."
