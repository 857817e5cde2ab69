"""Columns that grow by one record at a time, one table for every shape of record."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import numpy.typing as npt

from pytscope.model.records import Segment
from pytscope.runs.columns import join_segments
from pytscope.runs.run import ColumnStore, Ints
from pytscope.runs.sources.legacy_record import Record

MOST_NAMES = {"phase": 256, "scalar": 1024, "memory": 256}
"""Names kept of a kind; the time of further phases is `other`, further values go."""
MEMORY = {"alloc": "allocated", "peak_alloc": "peak"}
"""Memory columns that have another name today."""
_REST = "other"

_Key = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


class _Shape:
    """Records of one shape: a row of numbers each, under the same names."""

    def __init__(self, names: list[tuple[str, str]]) -> None:
        self.names = names
        self.rows = array("q")
        self.numbers = array("d")

    def columns(self, kind: str, name: str) -> list[npt.NDArray[np.float64]]:
        """The columns of a name, views into the numbers."""
        places = [i for i, known in enumerate(self.names) if known == (kind, name)]
        if not places:
            return []
        table = np.frombuffer(self.numbers, np.float64).reshape(len(self.rows), -1)
        return [table[:, i] for i in places]


class LegacyColumns:
    """The usable records of one file."""

    def __init__(self) -> None:
        self._shapes: dict[_Key, _Shape] = {}
        self._names: dict[str, dict[str, None]] = {kind: {} for kind in MOST_NAMES}
        self._places: tuple[Ints, Ints] | None = None
        self._by_place: list[_Shape] = []
        self.rows = 0
        self.crowded: set[str] = set()

    def add(self, record: Record) -> None:
        """Add the next row."""
        key = (record.phases, record.scalars, record.memory)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _Shape(self._known(key))
        shape.rows.append(self.rows)
        shape.numbers.extend(record.seconds + record.values + record.sizes)
        self.rows += 1

    def _known(self, key: _Key) -> list[tuple[str, str]]:
        """Kind and name of every column of a shape; what is one too many is named away."""
        found = []
        for (kind, most), names in zip(MOST_NAMES.items(), key, strict=True):
            known = self._names[kind]
            for given in names:
                name = printable(MEMORY.get(given, given) if kind == "memory" else given)
                if name not in known and len(known) >= most:
                    self.crowded.add(kind)
                    name = _REST if kind == "phase" else ""
                if name or kind == "phase":
                    known[name] = None
                found.append((kind, name))
        return found

    def wall_ns(self) -> Ints:
        """Recorded time of every row: the exact sum of its phases."""
        wall = np.zeros(self.rows, np.int64)
        for name in self._names["phase"]:
            rows, values = self._load("phase", name)
            wall[rows] += values
        return wall

    def store(self) -> ColumnStore:
        """The columns, as a run's timeline wants them."""
        names = {kind: tuple(known) for kind, known in self._names.items()}
        return ColumnStore(names, self._load, self._segments)

    def _segments(self, row: int) -> tuple[Segment, ...]:
        """Phases of one row, in the order of its record."""
        if self._places is None:
            self._places = self._locate()
        shape = self._by_place[int(self._places[0][row])]
        at = int(self._places[1][row]) * len(shape.names)
        numbers = shape.numbers[at : at + len(shape.names)]
        return join_segments(
            (name, nanoseconds(value))
            for (kind, name), value in zip(shape.names, numbers, strict=True)
            if kind == "phase"
        )

    def _locate(self) -> tuple[Ints, Ints]:
        """Shape and place in the shape of every row."""
        which, index = np.zeros(self.rows, np.int64), np.zeros(self.rows, np.int64)
        self._by_place = list(self._shapes.values())
        for i, shape in enumerate(self._by_place):
            rows = np.frombuffer(shape.rows, np.int64)
            which[rows], index[rows] = i, np.arange(len(rows))
        return which, index

    def _load(self, kind: str, name: str) -> tuple[Ints, npt.NDArray[Any]]:
        rows, values = [], []
        for shape in self._shapes.values():
            if columns := shape.columns(kind, name):
                rows.append(np.frombuffer(shape.rows, np.int64))
                values.append(_joined(kind, columns))
        if len(rows) == 1:
            return rows[0], values[0]
        joined = np.concatenate(rows)
        order = np.argsort(joined, kind="stable")
        return joined[order], np.concatenate(values)[order]


def _joined(kind: str, columns: list[npt.NDArray[np.float64]]) -> npt.NDArray[Any]:
    """Columns of one name as one: phases in whole nanoseconds, added up; else the last."""
    if kind == "phase":
        return sum((np.rint(c * 1e9).astype(np.int64) for c in columns[1:]), _whole(columns[0]))
    return columns[-1].copy() if kind == "scalar" else columns[-1].astype(np.int64)


def _whole(seconds: npt.NDArray[np.float64]) -> Ints:
    return np.rint(seconds * 1e9).astype(np.int64)


def nanoseconds(seconds: float) -> int:
    """Seconds as whole nanoseconds: exactly those the recorder divided by 1e9."""
    return round(seconds * 1e9)


def printable(name: str) -> str:
    """A name that can be encoded: JSON can hold halves of characters."""
    return name.encode("utf-8", "backslashreplace").decode()
