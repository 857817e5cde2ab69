"""`--format markdown`: the report for a pull request, a step summary or a chat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytscope.analyses.budget import Budget
from pytscope.analyses.units import percent
from pytscope.builtin.reporters.amounts import ranges
from pytscope.builtin.reporters.checks import (
    WORDS,
    checks_headline,
    passed_rules,
    unsettled,
)
from pytscope.builtin.reporters.findings import (
    cost_words,
    evidence_table,
    findings_headline,
    thresholds_words,
)
from pytscope.builtin.reporters.markdown_comparison import markdown_comparison
from pytscope.builtin.reporters.markdown_gate import markdown_gate
from pytscope.builtin.reporters.markdown_parts import (
    also_markup,
    panel_markup,
    problems_markup,
    spaced,
    title_markup,
)
from pytscope.builtin.reporters.markup import Markup
from pytscope.builtin.reporters.sections import footer_words, plugins_table, run_words
from pytscope.model.findings import Finding
from pytscope.model.report import Check, FoldedFinding, Report
from pytscope.plugins.declare import RenderOptions, reporter

HEADLINES = ("timing", "budget")
"""Ids of the panels that come right after the findings."""


@reporter("markdown", compare=markdown_comparison, check=markdown_gate)
def markdown_report(report: Report, options: RenderOptions) -> str:
    """Write everything that the text report says as GitHub-flavoured Markdown.

    Width and colour are of no account here.
    """
    markup = Markup(options.ascii)
    lines = [*_head(report, markup), *_findings(report, markup)]
    by_id = {panel.id: panel for panel in report.panels}
    others = (panel for panel in report.panels if panel.id not in HEADLINES)
    for panel in (*(by_id[i] for i in HEADLINES if i in by_id), *others):
        lines += panel_markup(panel, markup)
    lines += _checks(report, options, markup)
    lines += problems_markup(report.problems, options, markup)
    if report.show_plugins:
        lines += [f"### Plugins ({len(report.plugins)})"]
        table = plugins_table(report.plugins, reproducible=options.reproducible)
        lines += markup.table(table, code=(0,))
    lines += _foot(report, options, markup)
    return "\n".join(spaced(lines)) + "\n"


def _head(report: Report, markup: Markup) -> Iterator[str]:
    dot = markup.plain("·")
    name = markup.code(report.run.name)
    yield f"## pytscope {dot} {name}" if name else "## pytscope"
    yield ""
    yield markup.text(run_words(report.run))
    yield ""
    yield f"**Verdict:** {markup.text(_verdict(report))}"
    yield ""


def _verdict(report: Report) -> str:
    """What to read when nothing else is read."""
    said = [findings_headline(report)]
    if report.folded:
        first = report.folded[0].finding
        said = [first.title, cost_words(first, report.run), *said]
    budget = report.analyses.get("budget")
    if isinstance(budget, Budget) and budget.wall_ns:
        whole = "wall" if budget.has_wall else "recorded time"
        said.append(f"{percent(budget.recoverable_share)} of {whole} recoverable")
    return " · ".join(filter(None, said))


def _findings(report: Report, markup: Markup) -> Iterator[str]:
    yield f"### Findings ({len(report.findings)})"
    yield ""
    if not report.folded:
        yield markup.text(findings_headline(report))
        yield ""
    checks = {check.rule: check for check in report.checks}
    for place, row in enumerate(report.folded, 1):
        yield from _finding(place, row, report, checks.get(row.finding.rule), markup)


def _finding(
    place: int, row: FoldedFinding, report: Report, check: Check | None, markup: Markup
) -> Iterator[str]:
    finding = row.finding
    yield f"#### {place}. {title_markup(finding, markup)}"
    yield ""
    if about := cost_words(finding, report.run):
        yield f"*{markup.text(about)}*"
        yield ""
    for name, said in (("", finding.detail), ("Fix", finding.fix), ("Verify", finding.verify)):
        if text := markup.text(said):
            yield f"**{name}:** {text}" if name else text
            yield ""
    yield from _details(finding, check, markup)
    yield from also_markup(row, report.run, markup)
    yield ""


def _details(finding: Finding, check: Check | None, markup: Markup) -> Iterator[str]:
    """Evidence, steps, ranks and thresholds, folded away."""
    said = []
    if finding.steps:
        said.append(f"steps {ranges(finding.steps)}")
    if finding.ranks:
        said.append(f"ranks {', '.join(map(str, finding.ranks))}")
    if check is not None and check.thresholds:
        said.append(f"thresholds {thresholds_words(check)}")
    if not (finding.evidence or said):
        return
    yield "<details><summary>Evidence</summary>"
    yield ""
    if finding.evidence:
        yield from markup.table(evidence_table(finding.evidence))
    for line in said:
        yield f"- {markup.text(line)}"
    yield ""
    yield "</details>"
    yield ""


def _checks(report: Report, options: RenderOptions, markup: Markup) -> Iterator[str]:
    yield "### Checks"
    yield ""
    yield markup.text(checks_headline(report))
    yield ""
    for outcome, rules, reason in unsettled(report, verbose=options.verbose):
        yield f"- {WORDS[outcome]}: {_codes(rules, markup)}: {markup.text(reason)}"
    if passed := passed_rules(report):
        yield ""
        yield f"<details><summary>{len(passed)} passed</summary>"
        yield ""
        yield _codes(passed, markup)
        yield ""
        yield "</details>"
    yield ""


def _codes(names: Iterable[str], markup: Markup) -> str:
    return ", ".join(filter(None, map(markup.code, names)))


def _foot(report: Report, options: RenderOptions, markup: Markup) -> Iterator[str]:
    yield f"<sub>{markup.text(footer_words(report, options))}</sub>"
    if report.findings and (rule := markup.text(report.findings[0].rule)):
        yield ""
        yield f"<sub>More: pytscope explain {rule}</sub>"
