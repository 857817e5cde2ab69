"""Columns of many blocks, joined by layout and decoded on first use."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pytscope.model.records import COUNTS, Segment
from pytscope.runs.blocks import StepBlock
from pytscope.runs.layouts import Column, Layout
from pytscope.runs.run import ColumnStore, Ints

KINDS = {"phase": "p", "device": "d", "scalar": "si", "memory": "b", "extra": "x"}
"""Letters on disk of the kinds of a `ColumnStore`."""

LateValues = Mapping[str, Mapping[int, int | float]]
"""Scalars written after their step's block: by name and row."""


def join_segments(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """Segments without those of length zero, neighbours of one phase joined."""
    found: list[Segment] = []
    for name, ns in segments:
        if ns and found and found[-1][0] == name:
            found[-1] = (name, found[-1][1] + ns)
        elif ns:
            found.append((name, ns))
    return tuple(found)


class _Pieces:
    """Where the columns of one layout lie, and which rows they belong to."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.places: list[tuple[int, int]] = []
        self.rows: list[Ints] = []

    @property
    def steps(self) -> int:
        return sum(n for _, n in self.places)

    def all_rows(self) -> Ints:
        return self.rows[0] if len(self.rows) == 1 else np.concatenate(self.rows)


class BlockColumns:
    """The steps of some blocks of one file as columns; a row per step, in file order.

    Args:
        view: The file's bytes.
        blocks: The blocks, in order.
        late: Scalars to add to the blocks' own.

    Attributes:
        rows: Number of steps.
    """

    def __init__(
        self, view: memoryview, blocks: Sequence[StepBlock], late: LateValues | None = None
    ) -> None:
        self._view = view
        self._late = late or {}
        self.rows = sum(block.n for block in blocks)
        self._pieces = _by_layout(view, blocks)
        self._raw: dict[tuple[int, int], npt.NDArray[Any]] = {}
        self._places: tuple[Ints, Ints] | None = None

    def wall_ns(self) -> tuple[Ints, int]:
        """Wall time of every row, the exact sum of its phases; and how many phases are below 0."""
        wall, negative = np.zeros(self.rows, np.int64), 0
        for rows, pieces in self._pieces:
            sums = np.zeros(len(rows), np.int64)
            for column in pieces.layout.of_kind("p"):
                values = self._values(pieces, column)
                if values.min() < 0:
                    negative += int((values < 0).sum())
                sums += values
            wall[rows] = sums
        return wall, negative

    def constants(self) -> tuple[Ints, Ints]:
        """Micro-batches and flags of every row."""
        micro, flags = np.ones(self.rows, np.int64), np.zeros(self.rows, np.int64)
        for rows, pieces in self._pieces:
            if pieces.layout.micro_batches != 1:
                micro[rows] = pieces.layout.micro_batches
            if pieces.layout.flags:
                flags[rows] = pieces.layout.flags
        return micro, flags

    def store(self) -> ColumnStore:
        """The columns, as a run's timeline wants them."""
        return ColumnStore(self._names(), self._load, self.segments, self.device_segments)

    def segments(self, row: int) -> tuple[Segment, ...]:
        """Segments of one row on the host clock."""
        return self._segments(row, "p")

    def device_segments(self, row: int) -> tuple[Segment, ...] | None:
        """Segments of one row on the device clock, or None."""
        return self._segments(row, "d") or None

    def _segments(self, row: int, kind: str) -> tuple[Segment, ...]:
        if self._places is None:
            self._places = self._locate()
        group, index = (int(places[row]) for places in self._places)
        pieces = self._pieces[group][1]
        values = (
            (column.name, int(self._cached(group, column)[index]))
            for column in pieces.layout.of_kind(kind)
        )
        return join_segments(values)

    def _locate(self) -> tuple[Ints, Ints]:
        """Group and place in the group of every row."""
        group, index = np.zeros(self.rows, np.int64), np.zeros(self.rows, np.int64)
        for i, (rows, _) in enumerate(self._pieces):
            group[rows] = i
            index[rows] = np.arange(len(rows))
        return group, index

    def _names(self) -> dict[str, tuple[str, ...]]:
        """Names by kind, in order of first appearance."""
        kind_of = {letter: kind for kind, letters in KINDS.items() for letter in letters}
        names: dict[str, dict[str, None]] = {kind: {} for kind in KINDS}
        for _, pieces in self._pieces:
            for column in pieces.layout.columns:
                names[kind_of[column.kind]][column.name] = None
        names["scalar"].update(dict.fromkeys(self._late))
        return {kind: tuple(known) for kind, known in names.items()}

    def _load(self, kind: str, name: str) -> tuple[Ints, npt.NDArray[Any]]:
        rows: list[Ints] = []
        values: list[npt.NDArray[Any]] = []
        for group, pieces in self._pieces:
            columns = [c for c in pieces.layout.columns if c.kind in KINDS[kind] and c.name == name]
            if columns:
                rows.append(group)
                # A phase may come several times in a step; another value counts once.
                summed = kind in ("phase", "device", "extra")
                values.append(
                    self._sum(pieces, columns) if summed else self._wide(pieces, columns[-1])
                )
        late = self._late.get(name, {}) if kind == "scalar" else {}
        return _merged(rows, values, late, adds=name in COUNTS)

    def _sum(self, pieces: _Pieces, columns: Sequence[Column]) -> Ints:
        total = np.zeros(pieces.steps, np.int64)
        for column in columns:
            total += self._values(pieces, column)
        return total

    def _wide(self, pieces: _Pieces, column: Column) -> npt.NDArray[Any]:
        values = self._values(pieces, column)
        return values.astype(np.float64 if column.dtype.kind == "f" else np.int64)

    def _values(self, pieces: _Pieces, column: Column) -> npt.NDArray[Any]:
        before, size = column.before, column.dtype.itemsize
        view = self._view
        parts = [view[at + n * before : at + n * (before + size)] for at, n in pieces.places]
        return np.frombuffer(b"".join(parts), column.dtype)

    def _cached(self, group: int, column: Column) -> npt.NDArray[Any]:
        key = (group, column.before)
        if key not in self._raw:
            self._raw[key] = self._values(self._pieces[group][1], column)
        return self._raw[key]


def _by_layout(view: memoryview, blocks: Sequence[StepBlock]) -> list[tuple[Ints, _Pieces]]:
    groups: dict[Layout, _Pieces] = {}
    row = 0
    for block in blocks:
        at = block.columns_at
        for (count, layout), rows in zip(
            block.patterns.entries, _rows(view, block, row), strict=True
        ):
            if count:
                pieces = groups.get(layout) or groups.setdefault(layout, _Pieces(layout))
                pieces.places.append((at, count))
                pieces.rows.append(rows)
            at += count * layout.width
        row += block.n
    return [(pieces.all_rows(), pieces) for pieces in groups.values()]


def _rows(view: memoryview, block: StepBlock, row: int) -> list[Ints]:
    """Rows of each pattern of a block whose first step is row `row`."""
    if block.which_at is None:
        return [np.arange(row, row + block.n)]
    which = np.frombuffer(view, np.uint8, block.n, block.which_at)
    order = np.argsort(which, kind="stable") + row
    ends = itertools.accumulate(count for count, _ in block.patterns.entries)
    return [
        order[end - count : end]
        for end, (count, _) in zip(ends, block.patterns.entries, strict=True)
    ]


def _merged(
    rows: list[Ints],
    values: list[npt.NDArray[Any]],
    late: Mapping[int, int | float],
    *,
    adds: bool,
) -> tuple[Ints, npt.NDArray[Any]]:
    """Values of several layouts in row order; late ones add to or replace earlier ones."""
    if late:
        given = list(late.values())
        whole = all(isinstance(v, int) for v in given)
        rows = [*rows, np.fromiter(late, np.int64)]
        values = [*values, np.array(given, np.int64 if whole else np.float64)]
    if len(rows) == 1 and not late:
        return rows[0], values[0]
    kind = np.int64 if all(v.dtype.kind == "i" for v in values) else np.float64
    joined = np.concatenate(rows)
    merged = np.concatenate([v.astype(kind) for v in values])
    order = np.argsort(joined, kind="stable")
    joined, merged = joined[order], merged[order]
    if adds:
        first = np.flatnonzero(np.append(True, joined[1:] != joined[:-1]))
        return joined[first], np.add.reduceat(merged, first)
    last = np.append(joined[1:] != joined[:-1], True)
    return joined[last], merged[last]
