"""One rank's slice of the columns of many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pytscope.model.records import COUNTS, Segment
from pytscope.runs.columns import BlockColumns
from pytscope.runs.run import ColumnStore, Ints

LateValues = Mapping[str, Mapping[int, int | float]]
"""Scalars written after their step's block: by name and row of the rank."""
_INT64 = range(-(2**63), 2**63)


class RankColumns(ColumnStore):
    """The columns of one rank.

    Args:
        table: Columns of some ranks.
        place: Place of the rank among them.
        late: Scalars to add to the blocks' own.
    """

    def __init__(self, table: BlockColumns, place: int, late: LateValues) -> None:
        names = table.names(place)
        if late:
            names = {**names, "scalar": tuple(dict.fromkeys((*names["scalar"], *late)))}
        super().__init__(names, self.get, self._segments, self._device, self._many)
        self._table = table
        self._place = place
        self._first, self._end = table.bounds[place : place + 2]
        self._late = late

    def get(self, kind: str, name: str) -> tuple[Ints, npt.NDArray[Any]]:
        """Rows that have the column, and its values there; decoded anew, to keep memory low."""
        return self.part(kind, name, 0, self._end - self._first)

    def dense(self, kind: str, name: str, length: int) -> Ints:
        """An integer column in each of `length` rows, 0 where a row has none."""
        rows, values = self._table.values(kind, name)
        if rows is None:
            return values[self._first : self._end].astype(np.int64)
        dense = np.zeros(length, np.int64)
        low, high = np.searchsorted(rows, (self._first, self._end))
        dense[rows[low:high] - self._first] = values[low:high]
        return dense

    def enclosed(self, inner: str, outer: str) -> tuple[Ints, Ints]:
        """Rows in which one phase stands between two segments of another, and its sum there."""
        rows, sums = self._table.enclosed(inner, outer)
        if not len(rows):
            return rows, sums
        low, high = np.searchsorted(rows, (self._first, self._end))
        return rows[low:high] - self._first, sums[low:high]

    def last_segment(self, phase: str) -> tuple[Ints, Ints, Ints]:
        """Rows that have a phase, and where its last segment begins and ends there."""
        rows, begin, end = self._table.last_segment(phase)
        there = slice(*np.searchsorted(rows, (self._first, self._end)))
        return rows[there] - self._first, begin[there], end[there]

    def total(self, kind: str, name: str) -> int:
        """The sum of an integer column."""
        return self._table.sums(kind, name)[self._place]

    def part(self, kind: str, name: str, first: int, end: int) -> tuple[Ints, npt.NDArray[Any]]:
        """Rows from `first` to before `end` that have the column, and its values there."""
        rows, values = self._table.values(kind, name)
        low, high = self._first + first, self._first + end
        if rows is not None:
            low, high = np.searchsorted(rows, (low, high)).tolist()
        mine = np.arange(first, end) if rows is None else rows[low:high] - self._first
        wide = values[low:high].astype(np.float64 if values.dtype.kind == "f" else np.int64)
        late = self._late.get(name, {}) if kind == "scalar" else {}
        here = {row: value for row, value in late.items() if first <= row < end}
        return with_late(mine, wide, here, adds=name in COUNTS) if here else (mine, wide)

    def _segments(self, row: int) -> tuple[Segment, ...]:
        return self._many(np.array([row]))[0]

    def _device(self, row: int) -> tuple[Segment, ...] | None:
        return self._table.segments(np.array([self._first + row]), "d")[0] or None

    def _many(self, rows: Ints) -> list[tuple[Segment, ...]]:
        return self._table.segments(rows + self._first, "p")


def with_late(
    rows: Ints, values: npt.NDArray[Any], late: Mapping[int, int | float], *, adds: bool
) -> tuple[Ints, npt.NDArray[Any]]:
    """Values with late ones added to those of their rows, or in their place.

    Integers that 64 bits cannot hold, or beside floats, become floats.
    """
    known = dict(zip(rows.tolist(), values.tolist(), strict=True))
    for row, value in late.items():
        known[row] = known.get(row, 0) + value if adds else value
    merged = sorted(known.items())
    whole = all(type(v) is int and v in _INT64 for _, v in merged)
    kind = np.int64 if whole else np.float64
    return (
        np.array([row for row, _ in merged], np.int64),
        np.array([value for _, value in merged], kind),
    )
