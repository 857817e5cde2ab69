"""The findings: what to change, by importance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import attrs

from pytscope.analyses.units import count, percent
from pytscope.builtin.reporters.amounts import number, ranges, seconds
from pytscope.builtin.reporters.lines import Line, Span, Tone
from pytscope.builtin.reporters.pen import Pen
from pytscope.builtin.reporters.tables import table_lines
from pytscope.model.findings import Confidence, Cost, Evidence, Finding, Severity
from pytscope.model.panels import Table
from pytscope.model.report import Check, FoldedFinding, Outcome, Report, RunSummary

TONES = {
    Severity.HIGH: Tone.BAD,
    Severity.MEDIUM: Tone.WATCH,
    Severity.LOW: Tone.OK,
    Severity.INFO: Tone.FAINT,
}
_BODY = " " * 8


def findings_lines(report: Report, pen: Pen, *, verbose: bool) -> list[Line]:
    """The section of the findings; with none it says what was checked."""
    title = f"FINDINGS ({len(report.findings)})"
    lines = pen.heading(_lamp(report), title, findings_headline(report))
    checks = {check.rule: check for check in report.checks}
    for row in report.folded:
        lines += _finding(row, report.run, pen)
        if verbose:
            lines += _details(row.finding, checks.get(row.finding.rule), pen)
    return lines


def _lamp(report: Report) -> Tone:
    if report.folded:
        return TONES[min((f.severity for f in report.findings), key=lambda s: s.order)]
    outcomes = {check.outcome for check in report.checks}
    if Outcome.ERROR in outcomes:
        return Tone.WATCH
    return Tone.OK if Outcome.PASSED in outcomes else Tone.FAINT


def findings_headline(report: Report) -> str:
    """How many there are of which severity, or what was checked; what is not shown.

    Where they are more than the checks that have one, it says of how many they are.
    """
    outcomes = Counter(check.outcome for check in report.checks)
    findings = report.findings
    shown = {finding.rule for finding in findings}
    by = Counter(finding.severity for finding in findings)
    said = [f"{by[severity]} {severity.value}" for severity in Severity if by[severity]]
    if not findings:
        said.append(_none_found(outcomes))
    if folded := len(findings) - len(report.folded):
        said.append(f"{folded} of them folded under another")
    if len(shown) < len(findings):
        said.append(f"of {count(len(shown), 'check')}")
    fired = {check.rule for check in report.checks if check.outcome is Outcome.FINDING}
    if hidden := sorted(fired - shown):
        said.append(f"below the severity asked for and not shown: {', '.join(hidden)}")
    return " · ".join(said)


def _none_found(outcomes: Counter[Outcome]) -> str:
    """Never "no findings" without what was checked, and what could not be."""
    passed, failed = outcomes[Outcome.PASSED], outcomes[Outcome.ERROR]
    nothing = "no findings" if passed else "nothing could be told"
    unmeasured = outcomes[Outcome.NOT_MEASURED]
    said = f"{nothing}: {count(passed, 'check')} passed, {unmeasured} not measured"
    if outcomes[Outcome.INCONCLUSIVE]:
        said += f", {outcomes[Outcome.INCONCLUSIVE]} inconclusive"
    return f"{said}, {failed} failed" if failed else said


def _finding(row: FoldedFinding, run: RunSummary, pen: Pen) -> list[Line]:
    finding = row.finding
    lines = _title("  ", finding, pen)
    if about := cost_words(finding, run):
        lines += pen.lines(_BODY, about)
    if finding.detail:
        lines += pen.lines(_BODY, finding.detail)
    if finding.fix:
        lines += pen.lines([Span(_BODY), Span("-> ", Tone.OK)], finding.fix)
    if finding.verify:
        lines += pen.lines(f"{_BODY}verify: ", finding.verify)
    for folded in row.also:
        lines += _title(f"{_BODY}also ", folded, pen, cost_words(folded, run))
    return lines


def _title(indent: str, finding: Finding, pen: Pen, more: str = "") -> list[Line]:
    severity = finding.severity
    prefix = [Span(indent), Span(f"[{severity.tag}]", TONES[severity]), Span(" ")]
    body = [
        Span(pen.prose(finding.title), Tone.TITLE),
        Span(f" ({pen.text(finding.rule)})", Tone.FAINT),
        Span(pen.text(f" · {more}" if more else "")),
    ]
    return pen.lines(prefix, body, hang=len(indent) + 3 if more else None)


def cost_words(finding: Finding, run: RunSummary) -> str:
    """What it costs, and how sure that is; empty when there is nothing to say."""
    said = []
    if finding.cost_s is not None:
        cost = finding.cost_s
        said.append(f"costs {seconds(cost.value)}{_part(cost, run)}{_interval(cost)}")
    if finding.confidence is Confidence.SUGGESTIVE:
        said.append("suggestive, not confirmed")
    return " · ".join(said)


def _part(cost: Cost, run: RunSummary) -> str:
    whole_ns = run.recorded_ns if run.wall_ns is None else run.wall_ns
    if not whole_ns or whole_ns < 0:
        return ""
    several = len(run.ranks) > 1
    if several and (run.wall_ns is None or cost.value * 1e9 > whole_ns):
        return ""  # each rank's time is another one here, and none is the job's
    of = "recorded time" if run.wall_ns is None else "wall"
    return f" ({percent(cost.value * 1e9 / whole_ns)} of {of})"


def _interval(cost: Cost) -> str:
    if cost.low is None or cost.high is None:
        return ""
    return f", between {seconds(cost.low)} and {seconds(cost.high)}"


def _details(finding: Finding, check: Check | None, pen: Pen) -> list[Line]:
    """Evidence, steps, ranks and thresholds."""
    lines: list[Line] = []
    if finding.evidence:
        lines += table_lines(evidence_table(finding.evidence), pen, len(_BODY))
    if finding.steps:
        lines += pen.lines(f"{_BODY}steps ", ranges(finding.steps))
    if finding.ranks:
        lines += pen.lines(f"{_BODY}ranks ", ", ".join(map(str, finding.ranks)))
    if check is not None and check.thresholds:
        lines += pen.lines(f"{_BODY}thresholds ", thresholds_words(check), tone=Tone.FAINT)
    return lines


def thresholds_words(check: Check) -> str:
    """The thresholds that a rule used."""
    return ", ".join(f"{name} = {value!r}" for name, value in check.thresholds.items())


def evidence_table(evidence: Iterable[Evidence]) -> Table:
    """Rows of evidence, without the columns that none of them fills."""
    rows = tuple(map(_row, evidence))
    return _filled(Table(("evidence", "value", "interval", "where"), rows, (1,)))


def _row(row: Evidence) -> tuple[str, ...]:
    value = f"{number(row.value)} {row.unit}".strip()
    known = row.low is not None and row.high is not None
    interval = f"{row.low:.4g} to {row.high:.4g}" if known else ""
    where = [f"steps {ranges((row.steps,))}"] if row.steps is not None else []
    where += [f"rank {row.rank}"] if row.rank is not None else []
    return (row.metric, value, interval, ", ".join(where))


def _filled(table: Table) -> Table:
    """The table without the columns that no row fills."""
    kept = [i for i in range(len(table.header)) if any(row[i] for row in table.rows)]
    return attrs.evolve(
        table,
        header=tuple(table.header[i] for i in kept),
        rows=tuple(tuple(row[i] for i in kept) for row in table.rows),
        right=tuple(kept.index(i) for i in table.right if i in kept),
    )
