"""What decides the exit code, and what is left out of sight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from pytscope.cli.output import say
from pytscope.model.findings import Severity
from pytscope.model.report import FoldedFinding, Outcome, Problem, Report
from pytscope.runs.run import Run

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


def exit_code(failed: Sequence[str], strict: Sequence[str]) -> int:
    """Say why a command fails, and decide with which code; `--strict` hides no gate.

    Args:
        failed: What fails the gate.
        strict: What `--strict` minds; nothing where it was not asked for.
    """
    for line in (*failed, *(f"strict: {reason}" for reason in strict)):
        say(line)
    if strict:
        return STRICT
    return GATE if failed else DONE


def strict_reasons(run: Run, report: Report, late: Iterable[Problem] = ()) -> list[str]:
    """Why `--strict` fails: what failed, and what was recorded but is gone.

    Args:
        run: The run as it was analysed.
        report: Its analysis.
        late: What failed after it.
    """
    problems = (*report.problems, *late)
    reasons = [f"plugin {p.plugin}, {p.stage}: {p.message}" for p in problems]
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
