"""CSV: a header and one line a step, with the columns of `exporting.flat`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from pytscope.exporting.flat import Values, batches, flat_columns
from pytscope.model.escaping import visible
from pytscope.runs.codec import plain_number
from pytscope.runs.run import Run


def csv_text(run: Run) -> Iterator[str]:
    """The table as CSV, by rank and in recording order.

    An empty cell is "no value". Flags are `true` or `false`, floats have the
    digits that they need to come back the same, and those that are not finite
    are `NaN`, `Infinity` and `-Infinity`. In names, control characters are
    written in their Python form.

    Args:
        run: The run.

    Yields:
        The header, then some thousand lines at a time, each with its newline.
    """
    columns = flat_columns(run)
    yield _lines([[visible(column.name) for column in columns]])
    for batch in batches(run, columns):
        yield _lines(zip(*map(_cells, batch), strict=True))


def _lines(rows: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _cells(column: Values) -> list[Any]:
    values = column.values
    cells: list[Any] = values.tolist()
    if values.dtype.kind == "b":
        cells = ["true" if value else "false" for value in cells]
    elif values.dtype.kind == "f" and not np.isfinite(values).all():
        cells = list(map(plain_number, cells))
    if column.missing is not None:
        for row in np.flatnonzero(column.missing).tolist():
            cells[row] = ""
    return cells
