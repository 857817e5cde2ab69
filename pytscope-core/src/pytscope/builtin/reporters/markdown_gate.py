"""What `pytscope check` found, for a step summary or a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from pytscope.builtin.reporters.findings import cost_words, findings_headline
from pytscope.builtin.reporters.gates import gate_footer
from pytscope.builtin.reporters.markdown_parts import (
    also_markup,
    panel_markup,
    problems_markup,
    spaced,
)
from pytscope.builtin.reporters.markup import Markup
from pytscope.builtin.reporters.sections import run_words
from pytscope.model.gate import Gate
from pytscope.plugins.declare import RenderOptions


def markdown_gate(gate: Gate, options: RenderOptions) -> str:
    """Write a gate as GitHub-flavoured Markdown; width and colour are of no account here."""
    markup = Markup(options.ascii)
    lines = [*_head(gate, markup), *panel_markup(gate.panel, markup), *_findings(gate, markup)]
    lines += problems_markup(gate.problems, options, markup)
    lines.append(f"<sub>{markup.text(gate_footer(gate, options))}</sub>")
    return "\n".join(spaced(lines)) + "\n"


def _head(gate: Gate, markup: Markup) -> Iterator[str]:
    dot = markup.plain("·")
    name = markup.code(gate.report.run.name)
    yield f"## pytscope check {dot} {name}" if name else "## pytscope check"
    yield ""
    yield markup.text(run_words(gate.report.run))
    yield ""
    yield f"**Verdict:** {markup.text(gate.panel.headline)}"
    yield ""


def _findings(gate: Gate, markup: Markup) -> Iterator[str]:
    report = gate.report
    yield f"### Findings ({len(report.findings)})"
    yield ""
    if not report.folded:
        yield markup.text(findings_headline(report))
    for row in report.folded:
        finding = row.finding
        rule, about = markup.code(finding.rule), markup.text(cost_words(finding, report.run))
        said = ", ".join(filter(None, (rule, about)))
        yield f"- **{finding.severity.tag}** {markup.text(finding.title)} ({said})"
        for text in filter(None, (finding.detail, finding.fix and f"Fix: {finding.fix}")):
            yield f"  <br>{markup.text(text)}"
        for also in also_markup(row, report.run, markup):
            yield f"  {also}"
    yield ""
