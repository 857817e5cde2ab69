"""What `pytscope check` found, as text: the gate first, then what the findings say."""

from __future__ import annotations

from pytscope.builtin.reporters.checks import checks_lines
from pytscope.builtin.reporters.findings import findings_lines
from pytscope.builtin.reporters.lines import Tone, paint_sections
from pytscope.builtin.reporters.panels import panel_lines
from pytscope.builtin.reporters.pen import Pen
from pytscope.builtin.reporters.sections import footer_words, problems_lines, run_lines
from pytscope.model.gate import Gate
from pytscope.plugins.declare import RenderOptions


def text_gate(gate: Gate, options: RenderOptions) -> str:
    """Draw a gate; without colour it is the same text to the byte.

    The sections of the analysis are drawn when the options ask for more.
    """
    pen, report, verbose = Pen.of(options), gate.report, options.verbose
    sections = [
        run_lines(report.run, pen),
        panel_lines(gate.panel, pen),
        *(panel_lines(panel, pen) for panel in report.panels if verbose),
        findings_lines(report, pen, verbose=verbose),
        checks_lines(report, pen, show_passed=options.show_passed, verbose=True) if verbose else [],
        problems_lines(report.problems, pen, traces=verbose and not options.reproducible),
        pen.lines("  ", gate_footer(gate, options), hang=2, tone=Tone.FAINT),
    ]
    return paint_sections(sections, color=options.color)


def gate_footer(gate: Gate, options: RenderOptions) -> str:
    """What was read, and what it was held against."""
    said = [footer_words(gate.report, options)]
    if gate.baseline is not None:
        where = "" if options.reproducible else f" {gate.baseline.path}"
        whose = f" of run {gate.baseline.run}" if gate.baseline.run else ""
        said.append(f"baseline{where}{whose}")
    return " · ".join(said)
