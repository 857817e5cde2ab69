from __future__ import annotations

from rich.cells import cell_len

from pytscope.builtin.reporters.lines import paint
from pytscope.builtin.reporters.pen import Pen
from pytscope.builtin.reporters.tables import table_lines
from pytscope.model.panels import Table


def drawn(table: Table, width: int = 60) -> list[str]:
    return paint(table_lines(table, Pen(width)), color=False).splitlines()


def test_columns_line_up():
    table = Table(("name", "ms"), (("data", "12.0"), ("字", "3.5")), right=(1,))
    assert drawn(table) == ["  name    ms", "  data  12.0", "  字     3.5"]


def test_the_widest_column_wraps():
    table = Table(("a", "b"), (("x", "word " * 20),))
    lines = drawn(table)
    assert len(lines) == 3
    assert all(cell_len(line) <= 60 for line in lines)
    assert lines[2].startswith("     word")


def test_too_many_columns_become_paragraphs():
    table = Table(tuple(f"column{i}" for i in range(12)), (("1234567890",) * 12,))
    lines = drawn(table)
    assert lines[0].startswith("  column0: 1234567890 · column1:")
    assert all(cell_len(line) <= 60 for line in lines)


def test_no_columns_and_no_rows():
    assert drawn(Table((), ())) == []
    assert drawn(Table(("a",), ())) == ["  a"]
