"""What `pytscope diff` found, as text: the runs, the line to read, then the panels."""

from __future__ import annotations

from pytscope.analyses.units import count
from pytscope.builtin.reporters.lines import Line, Tone, paint_sections
from pytscope.builtin.reporters.panels import panel_lines
from pytscope.builtin.reporters.pen import Pen
from pytscope.builtin.reporters.sections import problems_lines, run_words
from pytscope.builtin.reporters.tables import table_lines
from pytscope.model.comparison import Comparison, Verdict
from pytscope.model.panels import Table
from pytscope.model.wording import listed
from pytscope.plugins.declare import RenderOptions

_GATES = {"passed": Tone.OK, "failed": Tone.BAD}


def text_comparison(comparison: Comparison, options: RenderOptions) -> str:
    """Draw a comparison; without colour it is the same text to the byte."""
    pen = Pen.of(options)
    traces = options.verbose and not options.reproducible
    sections = [
        _head(comparison, pen),
        *(panel_lines(panel, pen) for panel in comparison.panels),
        _gate(comparison, pen),
        problems_lines(comparison.problems, pen, traces=traces),
        pen.lines("  ", footer(comparison, options), hang=2, tone=Tone.FAINT),
    ]
    return paint_sections(sections, color=options.color)


def _head(comparison: Comparison, pen: Pen) -> list[Line]:
    lines = pen.heading(_lamp(comparison), title(comparison), comparison.headline)
    return lines + table_lines(runs_table(comparison), pen)


def title(comparison: Comparison) -> str:
    """What was compared."""
    if not comparison.grouped:
        return f"DIFF of {listed((side.label for side in comparison.sides), 8)}"
    sizes = [sum(side.arm == arm for side in comparison.sides) for arm in (0, 1)]
    return f"DIFF {count(sizes[0], 'run')} against {sizes[1]}"


def _lamp(comparison: Comparison) -> Tone:
    verdicts = {m.verdict for m in (*comparison.outcomes, *comparison.timings)}
    if comparison.gate == "failed" or Verdict.REGRESSION in verdicts:
        return Tone.BAD
    if comparison.identical is None:
        return Tone.FAINT
    return Tone.OK if comparison.identical else Tone.WATCH


def runs_table(comparison: Comparison) -> Table:
    """Which runs they are, a row each."""
    arms = ("first", "second")
    rows = (
        (
            side.label,
            *((arms[side.arm],) if comparison.grouped else ()),
            side.run.name,
            run_words(side.run),
        )
        for side in comparison.sides
    )
    return Table(("", *(("arm",) if comparison.grouped else ()), "run", "holds"), tuple(rows))


def _gate(comparison: Comparison, pen: Pen) -> list[Line]:
    if comparison.gate is None:
        return []
    tone = _GATES.get(comparison.gate, Tone.WATCH)
    return pen.heading(tone, f"GATE · {comparison.gate}", comparison.gate_reason)


def footer(comparison: Comparison, options: RenderOptions) -> str:
    """What was read, by what."""
    said = []
    if not options.reproducible:
        read = (side for side in comparison.sides if side.run.path)
        said = [f"{side.label} read from {side.run.path}" for side in read]
    return " · ".join((*said, f"pytscope-core {comparison.tool_version}"))
