"""Tables whose cells wrap inside their columns."""

from __future__ import annotations

from itertools import zip_longest

from pytscope.builtin.reporters.cells import cells, pad
from pytscope.builtin.reporters.lines import Line, Span, Tone, paragraph
from pytscope.builtin.reporters.pen import Pen
from pytscope.model.panels import Table

_GAP = 2
_NARROWEST = 8


def table_lines(table: Table, pen: Pen, indent: int = 2) -> list[Line]:
    """A table under its header; one too wide for columns becomes `name: cell` paragraphs."""
    header = [pen.text(cell) for cell in table.header]
    rows = [[pen.text(cell) for cell in row] for row in table.rows]
    natural = [max(map(cells, column)) for column in zip(header, *rows, strict=True)]
    room = pen.width - indent - _GAP * max(0, len(header) - 1)
    widths = _fitted(natural, room)
    if widths is None:
        return [line for row in rows for line in _listed(header, row, pen, indent)]
    lines = _row(header, widths, table.right, indent, Tone.FAINT) if any(header) else []
    for row in rows:
        lines += _row(row, widths, table.right, indent, Tone.PLAIN)
    return lines


def _fitted(natural: list[int], room: int) -> list[int] | None:
    """Column widths: the widest give way until all fit; None when they cannot."""
    widths = list(natural)
    while sum(widths) > room:
        widest = max(widths)
        if widest <= _NARROWEST:
            return None
        widths[widths.index(widest)] -= 1
    return widths


def _row(
    row: list[str], widths: list[int], right: tuple[int, ...], indent: int, tone: Tone
) -> list[Line]:
    columns = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    lines: list[Line] = []
    for parts in zip_longest(*columns, fillvalue=""):
        padded = [
            pad(part, width, right=i in right)
            for i, (part, width) in enumerate(zip(parts, widths, strict=True))
        ]
        lines.append((Span(" " * indent), Span((" " * _GAP).join(padded), tone)))
    return lines


def _wrapped(cell: str, width: int) -> list[str]:
    if cells(cell) <= width:
        return [cell]
    lines = paragraph([], [Span(cell)], width, 0)
    return ["".join(span.text for span in line) for line in lines]


def _listed(header: list[str], row: list[str], pen: Pen, indent: int) -> list[Line]:
    body = pen.text(" · ").join(f"{h}: {c}" for h, c in zip(header, row, strict=True) if c)
    return paragraph([Span(" " * indent)], [Span(body)], pen.width, indent + 2)
