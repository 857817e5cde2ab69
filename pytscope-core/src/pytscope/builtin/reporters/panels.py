"""Draw a panel: its light and headline, then its rows."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pytscope.builtin.reporters.cells import cells, pad, shorten
from pytscope.builtin.reporters.lines import Line, Span, Tone
from pytscope.builtin.reporters.meters import bar, percentages
from pytscope.builtin.reporters.pen import Pen
from pytscope.builtin.reporters.sparkline import MOST_CELLS, sparkline
from pytscope.builtin.reporters.tables import table_lines
from pytscope.model.panels import Meter, Panel, Row, Spark, Status, Table

LAMPS = {
    Status.OK: Tone.OK,
    Status.WATCH: Tone.WATCH,
    Status.BAD: Tone.BAD,
    Status.NOT_MEASURED: Tone.FAINT,
}
_BAR = 30
_SHORTEST_BAR = 10
_WIDEST_VALUE = 24
_INDENT = 2
_GAP = 2


@attrs.frozen
class _Columns:
    """Widths, in cells, that the rows of one panel share."""

    label: int
    percent: int
    value: int
    bar: int


def panel_lines(panel: Panel, pen: Pen) -> list[Line]:
    """A panel as lines."""
    title = f"{panel.title} · {panel.status.value}"
    lines = pen.heading(LAMPS[panel.status], title, panel.headline)
    meters = [row for row in panel.rows if isinstance(row, Meter)]
    percents = iter(percentages(meters))
    columns = _columns(panel.rows, pen)
    for row in panel.rows:
        if isinstance(row, Meter):
            lines += _meter(row, next(percents), columns, pen)
        elif isinstance(row, Spark):
            lines += _spark(row, columns, pen)
        elif isinstance(row, Table):
            lines += table_lines(row, pen)
        else:
            lines += pen.lines(" " * _INDENT, row.text)
    return lines


def _columns(rows: Sequence[Row], pen: Pen) -> _Columns:
    meters = [row for row in rows if isinstance(row, Meter)]
    labels = [pen.text(row.label) for row in rows if isinstance(row, Meter | Spark)]
    most = min(28, pen.width - 26)
    label = min(most, max(map(cells, labels), default=0))
    percent = max(map(len, ("100.0%", *percentages(meters))))
    values = [cells(pen.text(m.value)) for m in meters]
    value = max((v for v in values if v <= _WIDEST_VALUE), default=0)
    free = pen.width - _INDENT - label - 3 * _GAP - percent - value
    return _Columns(label, percent, value, max(_SHORTEST_BAR, min(_BAR, free)))


def _label(text: str, columns: _Columns, pen: Pen) -> Span:
    shown = shorten(pen.text(text), columns.label, pen.text("…"))
    return Span(" " * _INDENT + pad(shown, columns.label + _GAP))


def _meter(meter: Meter, percent: str, columns: _Columns, pen: Pen) -> list[Line]:
    prefix = [
        _label(meter.label, columns, pen),
        *bar(meter.share, columns.bar, ascii_only=pen.ascii),
        Span(" " * _GAP + pad(percent, columns.percent, right=True) + " " * _GAP),
    ]
    rest = []
    value = pen.text(meter.value)
    used = sum(span.cells for span in prefix)
    if cells(value) <= columns.value and used + columns.value <= pen.width:
        prefix.append(Span(pad(value, columns.value, right=True) + " "))
    else:
        rest.append(Span(f"{value} "))
    if meter.note:
        rest.append(Span(f"({pen.prose(meter.note)})", Tone.FAINT))
    return pen.lines(prefix, rest, hang=_INDENT + columns.label + _GAP)


def _spark(spark: Spark, columns: _Columns, pen: Pen) -> list[Line]:
    room = min(MOST_CELLS, pen.width - _INDENT - columns.label - _GAP)
    drawn = sparkline(spark.values, room, ascii_only=pen.ascii)
    prefix = [_label(spark.label, columns, pen), Span(drawn, Tone.WATCH), Span("  ")]
    rest = [Span(pen.prose(spark_caption(spark, len(drawn))), Tone.FAINT)]
    return pen.lines(prefix, rest, hang=_INDENT + columns.label + _GAP)


def spark_caption(spark: Spark, drawn: int) -> str:
    """What the cells of a sparkline are."""
    said = [spark.caption] if spark.caption else []
    if not spark.values:
        said.append("no values")
    elif len(spark.values) > drawn:
        said.append("each cell the largest of its stretch")
    return " · ".join(said)
