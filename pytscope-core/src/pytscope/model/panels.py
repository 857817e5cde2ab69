"""Report sections as data; every reporter draws every panel."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence

import attrs


def _floats(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(values)


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


def _indices(values: Iterable[int]) -> tuple[int, ...]:
    return tuple(values)


class Status(enum.Enum):
    """The word beside a panel's light."""

    OK = "ok"
    WATCH = "watch"
    BAD = "bad"
    NOT_MEASURED = "not measured"


@attrs.frozen
class Meter:
    """A bar: a label, a share of the whole, and values to print beside it.

    Attributes:
        label: Name of the line.
        share: Share of the whole, 0 to 1 (negative or larger is drawn as an
            empty or full bar, and printed as it is).
        value: Text after the percentage, such as `12.0 ms`.
        note: Trailing remark, such as `recoverable`.
        group: Meters of one group print percentages that sum to 100.0 when
            their shares sum to 1; None prints the share rounded by itself.
    """

    label: str
    share: float
    value: str = ""
    note: str = ""
    group: str | None = None


@attrs.frozen
class Spark:
    """A sparkline; reporters bucket it to at most 60 cells by maximum.

    Attributes:
        label: Name of the series.
        values: The series, in order.
        caption: What the cells are.
    """

    label: str
    values: tuple[float, ...] = attrs.field(converter=_floats, repr=False)
    caption: str = ""


@attrs.frozen
class Table:
    """Rows of text under a header.

    Attributes:
        header: Column names.
        rows: Cells, each row as long as the header.
        right: Indices of right-aligned columns.
    """

    header: tuple[str, ...] = attrs.field(converter=_texts)
    rows: tuple[tuple[str, ...], ...] = attrs.field()
    right: tuple[int, ...] = attrs.field(default=(), converter=_indices)

    @rows.validator
    def _same_width(self, _attribute: object, rows: Sequence[Sequence[str]]) -> None:
        if any(len(row) != len(self.header) for row in rows):
            msg = f"every row needs {len(self.header)} cells, as many as the header"
            raise ValueError(msg)


@attrs.frozen
class Text:
    """A paragraph."""

    text: str


Row = Meter | Spark | Table | Text


def _rows(values: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(values)


@attrs.frozen
class Panel:
    """A section of the report.

    Attributes:
        id: Stable identifier, such as `timing`.
        title: Title in capitals by convention, such as `TIMING`.
        headline: The one line to read.
        status: The word beside the light.
        rows: What is drawn below the headline.
        order: Place among the panels; equal places are ordered by id.
    """

    id: str
    title: str
    headline: str
    status: Status
    rows: tuple[Row, ...] = attrs.field(default=(), converter=_rows)
    order: int = 50
