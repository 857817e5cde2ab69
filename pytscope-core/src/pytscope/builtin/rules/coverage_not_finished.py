"""COVERAGE.NOT_FINISHED."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pytscope.analyses import Coverage, RankCoverage
from pytscope.analyses.units import count
from pytscope.model.errors import NotApplicable
from pytscope.model.findings import Evidence, Finding, Severity
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds

BY_HAND = ("KeyboardInterrupt", "SystemExit")
MOST_TOLD = 4


@rule("COVERAGE.NOT_FINISHED", since="0.3.0")
def not_finished(
    coverage: Coverage, *, hang_s: Annotated[float, Bounds(gt=0)] = 60.0
) -> Iterator[Finding]:
    """The recording stopped without an end, or an exception ended it.

    Detects:
        Ranks whose last attempt wrote no end (killed, crashed, machine gone), and
        ranks that ended by an exception; with the last completed step, the open
        step, block and phase, how long it had been there, and the exception.

    Why it matters:
        A run that was cut short looks like a short run. Where it was when it was
        last heard of is the first clue to why.

    How it decides:
        Finding when the last attempt of any rank has no end record, or an exception
        passed through its recorder after which no step was completed; never while
        a recorder still holds the file. High when an exception ended it, or when
        it had been in one place for at least hang_s; medium otherwise and when
        the exception is a keyboard interrupt or an exit; low when the process left
        by itself and only finish() is missing. It is the first finding of its severity.
        It accounts for COVERAGE.RANK_SHORT
        where every rank that has too few steps is one that stopped, and for
        COVERAGE.RANKS_MISSING where every rank without a step is. Read from records, no
        noise: the false-positive rate is zero. No seconds can be told, so cost_s
        is null; no least number of steps.

    Fix:
        After an exception: its message says. After a kill: look for the memory
        limit, the queue's time limit or the machine's log at that time. Hung: look
        at the named block on all ranks, a collective waits for every rank. Left by
        itself: call finish(), or record inside `with Profiler(...)`.

    Limits:
        A killed process is last heard of up to a second before its end, and up to
        30 seconds in a step that takes long. Exceptions that the training code
        catches itself are not seen. A process that left by itself may have been done
        or have given up: its exit code is not recorded.

    References:
        docs/architecture.md, on open records and crash safety.
    """
    if coverage.live:
        msg = "the run is still recording"
        raise NotApplicable(msg)
    stopped = coverage.stopped
    if not stopped:
        return
    told = [f"{_named(coverage, rank)}{_where(rank)}." for rank in stopped[:MOST_TOLD]]
    rest = len(stopped) - MOST_TOLD
    yield Finding(
        severity=min((_severity(r, hang_s) for r in stopped), key=lambda s: s.order),
        title=_title(coverage, stopped),
        detail=" ".join(told) + (f" The same of {count(rest, 'rank')} more." if rest > 0 else ""),
        evidence=_evidence(stopped),
        fix=_fix(stopped, hang_s),
        verify="the next run's coverage says: finished",
        steps=sorted(
            {r.stop.open_step for r in stopped if r.stop and r.stop.open_step is not None}
        ),
        ranks=tuple(r.rank for r in stopped),
        explains=_explained(coverage, {r.rank for r in stopped}),
    )


def _explained(coverage: Coverage, stopped: set[int]) -> Iterator[str]:
    if {rank.rank for rank in coverage.short} <= stopped:
        yield "COVERAGE.RANK_SHORT"
    if not coverage.ranks_missing and set(coverage.ranks_empty) <= stopped:
        yield "COVERAGE.RANKS_MISSING"


def _title(coverage: Coverage, stopped: tuple[RankCoverage, ...]) -> str:
    error = next((r.ended_by for r in stopped if r.ended_by is not None), None)
    who = "The run"
    if len(coverage.ranks) > 1:
        who = f"{len(stopped)} of {count(len(coverage.ranks), 'rank')}"
    if error is not None:
        return f"{who} ended with {error.type}"
    return f"{who} left without finish()" if coverage.exited else f"{who} did not finish"


def _named(coverage: Coverage, rank: RankCoverage) -> str:
    return f"Rank {rank.rank}: " if len(coverage.ranks) > 1 else ""


def _where(rank: RankCoverage) -> str:
    parts = []
    if rank.ended_by is not None:
        parts.append(f"ended by {rank.ended_by}")
    if rank.stop is not None and (not parts or rank.stop.open_step is not None):
        left = "the process left by itself, " if rank.exited else ""
        parts.append(f"{left}last heard of {rank.stop}")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:]


def _severity(rank: RankCoverage, hang_s: float) -> Severity:
    if rank.ended_by is not None:
        return Severity.MEDIUM if rank.ended_by.type in BY_HAND else Severity.HIGH
    if rank.exited:
        return Severity.LOW
    return Severity.HIGH if _hung(rank, hang_s) else Severity.MEDIUM


def _hung(rank: RankCoverage, hang_s: float) -> bool:
    return rank.stop is not None and (rank.stop.for_ns or 0) >= hang_s * 1e9


def _evidence(stopped: tuple[RankCoverage, ...]) -> Iterator[Evidence]:
    for rank in stopped[:MOST_TOLD]:
        if rank.stop is not None and rank.stop.last_step is not None:
            yield Evidence("last completed step", rank.stop.last_step, rank=rank.rank)
        if rank.stop is not None and rank.stop.phase:
            yield Evidence("last phase", rank.stop.phase, rank=rank.rank)
        if rank.stop is not None and rank.stop.for_ns:
            yield Evidence("time in it", rank.stop.for_ns / 1e9, "s", rank=rank.rank)
        if rank.ended_by is not None:
            yield Evidence("exception", rank.ended_by.type, rank=rank.rank)


def _fix(stopped: tuple[RankCoverage, ...], hang_s: float) -> str:
    if any(rank.ended_by is not None for rank in stopped):
        return "Start from the exception; earlier steps are recorded up to it."
    hung = next((r for r in stopped if _hung(r, hang_s)), None)
    if hung is not None and hung.stop is not None:
        return f"Look at {hung.stop.phase or 'what ran there'} on every rank: it did not return."
    if all(rank.exited for rank in stopped):
        return "Call prof.finish() at the end, or record inside `with Profiler(...) as prof:`."
    return "Look for a memory limit, a time limit of the queue, or the machine's log at that time."
