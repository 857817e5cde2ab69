"""`--format text`: the report as lit panels for a terminal, a pipe or a file."""

from __future__ import annotations

from pytscope.builtin.reporters.checks import checks_lines
from pytscope.builtin.reporters.comparisons import text_comparison
from pytscope.builtin.reporters.findings import findings_lines
from pytscope.builtin.reporters.gates import text_gate
from pytscope.builtin.reporters.lines import Line, paint_sections
from pytscope.builtin.reporters.panels import panel_lines
from pytscope.builtin.reporters.pen import Pen
from pytscope.builtin.reporters.sections import (
    footer_lines,
    plugins_lines,
    problems_lines,
    run_lines,
)
from pytscope.model.report import Report
from pytscope.plugins.declare import RenderOptions, reporter

HEADLINES = ("timing", "budget")
"""Ids of the panels that come before the findings."""


@reporter("text", compare=text_comparison, check=text_gate)
def text_report(report: Report, options: RenderOptions) -> str:
    """Draw a report; without colour it is the same text to the byte."""
    pen = Pen.of(options)
    return paint_sections(_sections(report, options, pen), color=options.color)


def _sections(report: Report, options: RenderOptions, pen: Pen) -> list[list[Line]]:
    by_id = {panel.id: panel for panel in report.panels}
    first = [by_id[name] for name in HEADLINES if name in by_id]
    others = [panel for panel in report.panels if panel.id not in HEADLINES]
    verbose = options.verbose
    return [
        run_lines(report.run, pen),
        *(panel_lines(panel, pen) for panel in first),
        findings_lines(report, pen, verbose=verbose),
        *(panel_lines(panel, pen) for panel in others),
        checks_lines(report, pen, show_passed=options.show_passed, verbose=verbose),
        problems_lines(report.problems, pen, traces=verbose and not options.reproducible),
        plugins_lines(report.plugins, pen, reproducible=options.reproducible)
        if report.show_plugins
        else [],
        footer_lines(report, options, pen),
    ]
