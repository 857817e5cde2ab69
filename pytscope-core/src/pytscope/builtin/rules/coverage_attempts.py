"""COVERAGE.ATTEMPTS."""

from __future__ import annotations

from collections.abc import Iterator

from pytscope.analyses import Budget, Coverage, RankCoverage
from pytscope.analyses.units import count, duration
from pytscope.model.findings import Evidence, Finding, Severity
from pytscope.model.wording import listed
from pytscope.plugins.declare import rule
from pytscope.runs.run import ReadNote

MOST_NAMED = 8
MOST_TOLD = 4
NOTED = (
    (
        ("second_file", "foreign_file", "one_rank"),
        Severity.LOW,
        "The directory holds recordings that are not in this report",
        "Keep one recording to a directory; analyse the others by their own path.",
    ),
    (
        ("two_writers",),
        Severity.MEDIUM,
        "Two processes seem to have written one file",
        "Give every process a directory, or a rank, of its own, and record again.",
    ),
    (
        ("repeated",),
        Severity.LOW,
        "Records repeat each other",
        "See whether files were joined or copied twice; the first of each step counts.",
    ),
)
"""Kinds of notes with the finding that each makes: severity, title, fix."""


@rule("COVERAGE.ATTEMPTS", since="0.3.0")
def attempts(coverage: Coverage, budget: Budget | None) -> Iterator[Finding]:
    """The directory holds several runs, or the run was stopped and resumed.

    Detects:
        Attempts in the directory that this report leaves out, because a later one
        started over or because another was asked for; files beside the analysed ones
        that are left out, such as a second process's with the same rank; files that
        two processes seem to have written; and, among the attempts analysed, resumes:
        the steps done again, the time to set up again, and the time between attempts.

    Why it matters:
        A directory that was used twice is easily read as one long run. Of a run
        that was resumed, throughput over the days is not throughput over its wall:
        steps done again and set-up are in the wall and train nothing new, and the
        time between attempts is not even in it.

    How it decides:
        Left out: finding whenever there are such attempts; low when the latest one
        is analysed, info when an earlier one is, for that was asked for. Files left
        out: finding (low) when reading met any, other than those of ranks that
        COVERAGE.RANKS_MISSING names. Two writers: finding (medium) when the time
        stamps of a file overlap, low when records only repeat each other. Resumed:
        finding when more than one attempt is analysed. cost_s = wall of steps done
        again + startup of the attempts after the first, on the shown rank: the
        counterfactual is the same run without a stop. Severity by cost over its
        wall: high from 0.20, medium from 0.08, low from 0.02, else info. Time between
        attempts is beside the wall, told and not in cost_s. It accounts for
        EFFICIENCY.RECOVERABLE where `redone` is the largest stall of the budget.
        Sums of measured time, no noise: the false-positive rate is zero; no least
        number of steps.

    Fix:
        Left out: a directory of its own for every run, or `--attempt N` for an
        earlier one. Done again: checkpoint more often, at best when the machine
        announces that it will stop. Set up again: keep caches of compiled code and
        of prepared data over restarts.

    Limits:
        An attempt that starts at or below the first step of the one before it is
        taken for a new run. How long a process waited in a queue is part of the time
        between attempts. Warm-up after a resume is not counted as cost.

    References:
        Google's ml-goodput and badput categories, for steps done again as lost time.
    """
    if coverage.other_attempts:
        yield _left_out(coverage)
    gone = set(coverage.ranks_missing)
    for kinds, severity, title, fix in NOTED:
        notes = [n for n in coverage.notes if n.kind in kinds and n.rank not in gone]
        if notes:
            yield _noted(notes, severity, title, fix)
    if len(coverage.attempts) > 1:
        shown = next(r for r in coverage.ranks if r.rank == coverage.shown_rank)
        yield _resumed(coverage, shown, budget)


def _noted(notes: list[ReadNote], severity: Severity, title: str, fix: str) -> Finding:
    said = listed([note.message for note in notes], MOST_TOLD)
    return Finding(
        severity=severity,
        title=title,
        detail=f"{said[:1].upper()}{said[1:]}.",
        fix=fix,
        verify="analyze again: coverage has no such note",
        ranks=sorted({note.rank for note in notes if note.rank is not None}),
    )


def _left_out(coverage: Coverage) -> Finding:
    others, analysed = coverage.other_attempts, coverage.attempts
    latest = max(analysed, default=-1) > max(others)
    named = listed(map(str, others), most=MOST_NAMED)
    return Finding(
        severity=Severity.LOW if latest else Severity.INFO,
        title=f"{count(len(others), 'attempt')} in this directory are not in this report"
        if len(others) > 1
        else "1 attempt in this directory is not in this report",
        detail=(
            f"Analysed: {listed(map(str, analysed), most=MOST_NAMED)}; left out: {named}. "
            + ("The latest start from the beginning is what is analysed." if latest else "")
        ).strip(),
        evidence=[
            Evidence("attempts analysed", len(analysed)),
            Evidence("attempts left out", len(others)),
        ],
        fix="Give every run a directory of its own; --attempt N analyses an earlier one.",
        verify="analyze again: coverage names one attempt",
    )


def _resumed(coverage: Coverage, shown: RankCoverage, budget: Budget | None) -> Finding:
    cost_ns = shown.redone_ns + shown.restart_ns
    resumes = count(len(coverage.attempts) - 1, "time")
    again = f"; {count(shown.redone_steps, 'step')} done again" if shown.redone_steps else ""
    again_ns, anew_ns = duration(shown.redone_ns), duration(shown.restart_ns)
    said = f"{again_ns} went into steps done again, {anew_ns} into setting up again."
    if shown.downtime_ns:
        said += f" {duration(shown.downtime_ns)} lay between attempts, beside this wall."
    redone = budget is not None and bool(budget.stalls) and budget.stalls[0].name == "redone"
    return Finding(
        severity=Severity.of_share(cost_ns / shown.wall_ns if shown.wall_ns > 0 else 0.0),
        title=f"The run was resumed {resumes}{again}",
        detail=said,
        cost_s=cost_ns / 1e9,
        evidence=[
            Evidence("steps done again", shown.redone_steps, "steps", rank=shown.rank),
            Evidence("time in them", shown.redone_ns / 1e9, "s", rank=shown.rank),
            Evidence("set-up after resumes", shown.restart_ns / 1e9, "s", rank=shown.rank),
            Evidence("time between attempts", shown.downtime_ns / 1e9, "s", rank=shown.rank),
        ],
        fix=(
            "Checkpoint more often, so that a stop repeats fewer steps."
            if shown.redone_ns >= shown.restart_ns
            else "Make setting up shorter: keep caches of compiled code and prepared data."
        ),
        verify="the next run's coverage counts fewer steps done again",
        ranks=(shown.rank,),
        explains=("EFFICIENCY.RECOVERABLE",) if redone else (),
    )
