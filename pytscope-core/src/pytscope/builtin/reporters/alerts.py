"""What a report or a gate has to say to other programs, one alert a line: for every format."""

from __future__ import annotations

import enum
from collections.abc import Iterator

import attrs

from pytscope.model.findings import Finding, Severity
from pytscope.model.gate import Gate, Judged, Place, Standing
from pytscope.model.report import Report


class Level(enum.Enum):
    """How loud an alert is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@attrs.frozen
class Alert:
    """One thing to say.

    Attributes:
        rule: Stable identifier: that of the finding's rule, or `BUDGET.` and the metric.
        level: How loud.
        title: A few words.
        message: Sentences, with line breaks between them.
        place: Where to look, or None.
        help: What to do, or an empty string.
        key: What makes it the same alert in another run.
        finding: The finding that it is, or None.
        judged: The budget that it is, or None.
    """

    rule: str
    level: Level
    title: str
    message: str
    place: Place | None = None
    help: str = ""
    key: str = ""
    finding: Finding | None = None
    judged: Judged | None = None


_LEVELS = {Severity.HIGH: Level.ERROR, Severity.MEDIUM: Level.WARNING}


def report_alerts(report: Report) -> Iterator[Alert]:
    """Every finding of a report."""
    for finding in report.findings:
        yield finding_alert(finding, _LEVELS.get(finding.severity, Level.NOTE), None)


def gate_alerts(gate: Gate) -> Iterator[Alert]:
    """Every budget that is not plainly kept, then every finding."""
    for judged in gate.judged:
        if judged.standing is not Standing.PASSED:
            yield budget_alert(judged)
    script = Place(gate.script) if gate.script else None
    for finding in gate.report.findings:
        yield finding_alert(finding, _gated(finding, gate.fail_on), script)


def _gated(finding: Finding, fail_on: str | None) -> Level:
    """Errors are what fails the gate, and nothing else."""
    if fail_on is not None and finding.severity.order <= Severity(fail_on).order:
        return Level.ERROR
    serious = finding.severity in (Severity.HIGH, Severity.MEDIUM)
    return Level.WARNING if serious else Level.NOTE


def budget_alert(judged: Judged) -> Alert:
    """A budget as an alert."""
    standing = judged.standing.value
    said = [f"{judged.budget}: {standing}", *filter(None, [judged.reason])]
    level = Level.ERROR if judged.fails else Level.NOTE
    return Alert(
        rule=f"BUDGET.{judged.metric}",
        level=level,
        title=f"{judged.metric} {standing}",
        message="\n".join(said),
        place=judged.place,
        key=f"{judged.op} {'baseline' if _relative(judged) else 'limit'}",
        judged=judged,
    )


def _relative(judged: Judged) -> bool:
    """Whether a budget refers to the baseline, even where that has no such value."""
    return judged.baseline is not None or judged.limit is None


def finding_alert(finding: Finding, level: Level, place: Place | None) -> Alert:
    """A finding as an alert."""
    title = f"[{finding.severity.tag}] {finding.title}"
    return Alert(
        rule=finding.rule,
        level=level,
        title=finding.rule,
        message="\n".join(filter(None, (title, finding.detail))),
        place=place,
        help=finding.fix,
        key=finding.rule,
        finding=finding,
    )
