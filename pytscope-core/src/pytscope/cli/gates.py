"""What decides the exit code, and what is left out of sight."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from pytscope.model.findings import Severity
from pytscope.model.records import Flag
from pytscope.model.report import FoldedFinding, Outcome, Report
from pytscope.runs.run import Run, Timeline

DONE, GATE, STRICT = 0, 1, 4
"""Exit codes of a verb that has read its runs; errors have the others."""
_LOSSES = ("damaged", "unreadable_file")
"""Kinds of notes that say something recorded could not be read."""


def at_least(report: Report, severity: Severity) -> Report:
    """The report without the findings below a severity.

    A finding that accounts for one that stays stays as well.
    """
    rows = (
        FoldedFinding(row.finding, tuple(f for f in row.also if _reaches(f.severity, severity)))
        for row in report.folded
    )
    kept = tuple(r for r in rows if r.also or _reaches(r.finding.severity, severity))
    return attrs.evolve(report, folded=kept)


def reaching(report: Report, severity: Severity) -> int:
    """Number of findings at or above a severity."""
    return sum(_reaches(finding.severity, severity) for finding in report.findings)


def _reaches(severity: Severity, least: Severity) -> bool:
    return severity.order <= least.order


def strict_reasons(run: Run, report: Report) -> list[str]:
    """Why `--strict` fails: what failed, and what was recorded but is gone."""
    reasons = [f"plugin {p.plugin}, {p.stage}: {p.message}" for p in report.problems]
    reasons += [
        f"{check.rule} could not be evaluated: {check.reason}"
        for check in report.checks
        if check.outcome is Outcome.ERROR
    ]
    attempts = [a for timeline in run.timelines for a in timeline.attempts]
    lost, damaged = sum(a.lost_steps for a in attempts), sum(a.damaged_bytes for a in attempts)
    if lost:
        reasons.append(f"the records of {lost} steps are lost")
    notes = [note.message for note in run.notes if note.kind in _LOSSES]
    if damaged and not notes:
        reasons.append(f"{damaged} bytes could not be read")
    return reasons + notes


def usable(timelines: Iterable[Timeline]) -> bool:
    """Whether any rank has a step that counts in rates."""
    return any(bool(timeline.rated.any()) for timeline in timelines)


def unusable_reason(run: Run) -> str:
    """What a run without a usable step has instead."""
    total = sum(len(timeline) for timeline in run.timelines)
    if not total:
        open_steps = [a.open_state for t in run.timelines for a in t.attempts if a.open_state]
        inside = f"; step {open_steps[-1].step} was open" if open_steps else ""
        return f"no usable step: {run.path} holds no completed step{inside}"
    warm = sum(int(timeline.has(Flag.WARMUP).sum()) for timeline in run.timelines)
    slowed = sum(int((~t.rated & ~t.has(Flag.WARMUP | Flag.REDONE)).sum()) for t in run.timelines)
    redone = total - warm - slowed
    said = [f"{warm} warm-up"] if warm else []
    said += [f"{slowed} whose FLOPs were counted"] if slowed else []
    said += [f"{redone} done again later"] if redone else []
    return f"no usable step: of {total} steps found, {' and '.join(said)}"
