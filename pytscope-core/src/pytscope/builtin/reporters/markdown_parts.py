"""Panels, problems and folded findings as Markdown, for whatever is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytscope.builtin.reporters.findings import cost_words
from pytscope.builtin.reporters.markup import Markup
from pytscope.builtin.reporters.meters import percentages
from pytscope.builtin.reporters.panels import spark_caption
from pytscope.builtin.reporters.sparkline import sparkline
from pytscope.model.findings import Finding
from pytscope.model.panels import Meter, Panel, Row, Spark, Table
from pytscope.model.report import FoldedFinding, Problem, RunSummary, credited
from pytscope.plugins.declare import RenderOptions


def panel_markup(panel: Panel, markup: Markup) -> Iterator[str]:
    """A panel under its heading."""
    dot = markup.plain("·")
    yield f"### {markup.text(panel.title)} {dot} {panel.status.value}"
    yield ""
    yield markup.text(panel.headline)
    yield ""
    percents = iter(percentages([row for row in panel.rows if isinstance(row, Meter)]))
    for kind, rows in _runs(panel.rows):
        if kind is Meter:
            yield from _meters(rows, [next(percents) for _ in rows], markup)
        else:
            for row in rows:
                yield from _row(row, markup)
    yield ""


def _runs(rows: Sequence[Row]) -> Iterator[tuple[type, list[Row]]]:
    """Rows that follow each other and are of one kind."""
    found: list[Row] = []
    for row in rows:
        if found and type(row) is not type(found[0]):
            yield type(found[0]), found
            found = []
        found.append(row)
    if found:
        yield type(found[0]), found


def _meters(meters: Iterable[Row], percents: Sequence[str], markup: Markup) -> list[str]:
    kept = [row for row in meters if isinstance(row, Meter)]
    cells = [(m.label, p, m.value, m.note) for m, p in zip(kept, percents, strict=True)]
    noted = any(note for *_, note in cells)
    header = ("", "share", "amount", "") if noted else ("", "share", "amount")
    rows = tuple(row if noted else row[:3] for row in cells)
    return markup.table(Table(header, rows, (1, 2)), code=(0,))


def _row(row: Row, markup: Markup) -> Iterator[str]:
    if isinstance(row, Table):
        yield from markup.table(row)
    elif isinstance(row, Spark):
        drawn = sparkline(row.values, ascii_only=markup.ascii)
        caption = spark_caption(row, len(drawn))
        shown = filter(None, (markup.code(row.label), drawn and f"`{drawn}`", markup.text(caption)))
        yield f"- {' '.join(shown)}"
    elif not isinstance(row, Meter):
        yield f"- {markup.text(row.text)}"


def title_markup(finding: Finding, markup: Markup) -> str:
    """Severity, title and rule of a finding."""
    title = f"**{finding.severity.tag}** {markup.text(finding.title)}"
    return f"{title} ({rule})" if (rule := markup.code(finding.rule)) else title


def also_markup(row: FoldedFinding, run: RunSummary, markup: Markup) -> Iterator[str]:
    """The findings that are folded under another, an item each."""
    for folded in row.also:
        about = markup.text(cost_words(folded, run))
        yield f"- also {title_markup(folded, markup)}" + (f": {about}" if about else "")


def problems_markup(
    problems: Sequence[Problem], options: RenderOptions, markup: Markup
) -> Iterator[str]:
    """What plugins failed at."""
    if not problems:
        return
    yield f"### Problems ({len(problems)})"
    yield ""
    yield "Plugins that failed, and at what; the rest of the report stands."
    yield ""
    for problem in problems:
        who = credited(problem.plugin, problem.distribution, problem.version)
        yield f"- {markup.text(f'{who}, {problem.stage}: {problem.message}')}"
        if options.verbose and not options.reproducible:
            for line in problem.traceback.splitlines():
                yield f"  {markup.text(line)}<br>"
    yield ""


def spaced(lines: Iterable[str]) -> Iterator[str]:
    """Lines with one empty line where there are several."""
    empty = True
    for line in lines:
        if line or not empty:
            yield line
        empty = not line
