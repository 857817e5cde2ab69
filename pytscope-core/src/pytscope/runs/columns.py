"""The columns of many blocks, joined by layout and decoded on first use.

The blocks may be of several ranks: thousands of short files cost as many calls
of numpy as one long one when they are decoded together, and each rank is then
a slice.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pytscope.model.records import Segment
from pytscope.runs.blocks import StepBlock
from pytscope.runs.layouts import Column, Layout
from pytscope.runs.run import Bools, Ints

KINDS = {"phase": "p", "device": "d", "scalar": "si", "memory": "b", "extra": "x"}
"""Letters on disk of the kinds of a `ColumnStore`."""
_KIND_OF = {letter: kind for kind, letters in KINDS.items() for letter in letters}
_SUMMED = frozenset(("phase", "device", "extra"))
"""Kinds that may come several times in a step; of another the last value counts."""
_FEW = 2**16

Values = tuple[Ints | None, npt.NDArray[Any]]
"""Rows, None for all of them, and what stands there, as narrow as on disk."""


def join_segments(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """Segments without those of length zero, neighbours of one phase joined."""
    found: list[Segment] = []
    for name, ns in segments:
        if ns and found and found[-1][0] == name:
            found[-1] = (name, found[-1][1] + ns)
        elif ns:
            found.append((name, ns))
    return tuple(found)


class _Group:
    """The steps of one layout: where their columns lie, and their rows."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.pieces: list[tuple[memoryview, int, int]] = []
        self.rows: Ints = np.zeros(0, np.int64)

    def decoded(self, column: Column) -> npt.NDArray[Any]:
        """One column, a value for each of the group's rows."""
        before, after = column.before, column.before + column.dtype.itemsize
        parts = [view[at + n * before : at + n * after] for view, at, n in self.pieces]
        return np.frombuffer(parts[0] if len(parts) == 1 else b"".join(parts), column.dtype)


class BlockColumns:
    """The steps of some blocks as columns: a row per step, rank by rank, in order.

    Args:
        ranks: The blocks of every rank.

    Attributes:
        rows: Number of steps.
        bounds: Row of every rank's first step, and `rows` at the end.
        seen: Groups that every rank has, in order of appearance.
        negative: Rows of durations below zero, one for each.
    """

    def __init__(self, ranks: Sequence[Sequence[StepBlock]]) -> None:
        self._groups: list[_Group] = []
        self.seen: list[tuple[int, ...]] = []
        self.negative: list[Ints] = []
        self.bounds = [0]
        self._values: dict[tuple[str, str], Values] = {}
        self._raw: dict[tuple[int, int], npt.NDArray[Any]] = {}
        self._shared: dict[tuple[int, ...], Ints | None] = {}
        self._enclosed: dict[tuple[str, str], tuple[Ints, Ints]] = {}
        self._last: dict[str, tuple[Ints, Ints, Ints]] = {}
        self._sums: dict[tuple[str, str], list[int]] = {}
        self._of_rank: dict[tuple[int, ...], dict[str, tuple[str, ...]]] = {}
        which = self._sort(ranks)
        self.rows = len(which)
        self._place(which)
        self._index = self._columns_by_name()

    def _sort(self, ranks: Sequence[Sequence[StepBlock]]) -> npt.NDArray[Any]:
        """Put every block's columns into the group of their layout; the group of every row.

        A block may have several patterns of one layout, whose steps alternate; each
        is of a group of its own then, for in a group rows are in order.
        """
        ids: dict[tuple[Layout, int], int] = {}
        parts: list[npt.NDArray[Any]] = []
        for blocks in ranks:
            seen: dict[int, None] = {}
            rows = 0
            for block in blocks:
                parts.append(self._take(block, ids, seen))
                rows += block.n
            self.bounds.append(self.bounds[-1] + rows)
            self.seen.append(tuple(seen))
        kind = np.uint16 if len(ids) <= _FEW else np.uint32
        return np.concatenate(parts, dtype=kind) if parts else np.zeros(0, kind)

    def _take(
        self, block: StepBlock, ids: dict[tuple[Layout, int], int], seen: dict[int, None]
    ) -> npt.NDArray[Any]:
        at, mine = 0, []
        met: Counter[Layout] = Counter()
        for count, layout in block.patterns.entries:
            key = (layout, met[layout])
            group = ids.get(key, 0)
            if count:
                met[layout] += 1
                if key not in ids:
                    group = ids[key] = len(self._groups)
                    self._groups.append(_Group(layout))
                self._groups[group].pieces.append((block.columns, at, count))
                seen[group] = None
            mine.append(group)
            at += count * layout.width
        kind = np.uint16 if len(ids) <= _FEW else np.uint32
        if block.which is None:
            return np.full(block.n, mine[0], kind)
        return np.array(mine, kind)[np.frombuffer(block.which, np.uint8)]

    def _place(self, which: npt.NDArray[Any]) -> None:
        """Tell every group its rows."""
        if len(self._groups) == 1:
            self._groups[0].rows = np.arange(self.rows)
            return
        order = np.argsort(which, kind="stable")
        counts = np.bincount(which, minlength=len(self._groups)).tolist()
        ends = itertools.accumulate(counts)
        for group, count, end in zip(self._groups, counts, ends, strict=True):
            group.rows = order[end - count : end]

    def _columns_by_name(self) -> dict[tuple[str, str], list[tuple[int, list[Column]]]]:
        index: dict[tuple[str, str], list[tuple[int, list[Column]]]] = {}
        for g, group in enumerate(self._groups):
            for column in group.layout.columns:
                places = index.setdefault((_KIND_OF[column.kind], column.name), [])
                if not places or places[-1][0] != g:
                    places.append((g, []))
                places[-1][1].append(column)
        return index

    def names(self, rank: int) -> dict[str, tuple[str, ...]]:
        """Names by kind that a rank has, in order of appearance.

        Args:
            rank: Place of the rank among those given.
        """
        seen = self.seen[rank]
        if seen not in self._of_rank:
            names: dict[str, dict[str, None]] = {kind: {} for kind in KINDS}
            for g in seen:
                for column in self._groups[g].layout.columns:
                    names[_KIND_OF[column.kind]][column.name] = None
            self._of_rank[seen] = {kind: tuple(known) for kind, known in names.items()}
        return self._of_rank[seen]

    def wall_ns(self) -> Ints:
        """Wall time of every row, the exact sum of its phases."""
        wall = np.zeros(self.rows, np.int64)
        for kind, name in self._index:
            if kind == "phase":
                rows, values = self.values(kind, name)
                wall[slice(None) if rows is None else rows] += values
        return wall

    def constants(self) -> tuple[Ints, Ints]:
        """Micro-batches and flags of every row."""
        micro: Ints = np.broadcast_to(np.int64(1), self.rows)
        if any(group.layout.micro_batches != 1 for group in self._groups):
            micro = micro.copy()
            for group in self._groups:
                micro[group.rows] = group.layout.micro_batches
        flags = np.zeros(self.rows, np.int64)
        for group in self._groups:
            if group.layout.flags:
                flags[group.rows] = group.layout.flags
        return micro, flags

    def values(self, kind: str, name: str) -> Values:
        """Rows that have a column, and its values there, decoded once."""
        key = (kind, name)
        if key not in self._values:
            self._values[key] = self._joined(kind, self._index.get(key, []))
        return self._values[key]

    def _joined(self, kind: str, places: list[tuple[int, list[Column]]]) -> Values:
        if not places:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        parts = [self._decoded(kind, self._groups[g], columns) for g, columns in places]
        rows = self._rows_of(tuple(g for g, _ in places))
        if len(parts) == 1:
            return rows, parts[0]
        dense = np.zeros(self.rows, np.result_type(*parts))
        for (g, _), part in zip(places, parts, strict=True):
            dense[self._groups[g].rows] = part
        return rows, dense if rows is None else dense[rows]

    def _decoded(self, kind: str, group: _Group, columns: list[Column]) -> npt.NDArray[Any]:
        if kind not in _SUMMED:
            return group.decoded(columns[-1])
        parts = [group.decoded(column) for column in columns]
        if kind == "phase":
            for part in parts:
                if part.min() < 0:
                    self.negative.append(group.rows[part < 0])
        if len(parts) == 1:
            return parts[0]
        total = np.zeros(len(group.rows), np.int64)
        for part in parts:
            total += part
        return total

    def _rows_of(self, groups: tuple[int, ...]) -> Ints | None:
        """Rows of some groups, shared by all columns that have the same."""
        if groups not in self._shared:
            if sum(len(self._groups[g].rows) for g in groups) == self.rows:
                self._shared[groups] = None
            elif len(groups) == 1:
                self._shared[groups] = self._groups[groups[0]].rows
            else:
                there: Bools = np.zeros(self.rows, np.bool_)
                for g in groups:
                    there[self._groups[g].rows] = True
                self._shared[groups] = np.flatnonzero(there)
        return self._shared[groups]

    def sums(self, kind: str, name: str) -> list[int]:
        """Sum of an integer column over every rank."""
        key = (kind, name)
        if key not in self._sums:
            rows, values = self.values(kind, name)
            bounds = np.array(self.bounds)
            places = bounds if rows is None else np.searchsorted(rows, bounds)
            # Differences of running sums: exact even where these wrap around.
            running = np.zeros(len(values) + 1, np.int64)
            np.cumsum(values, dtype=np.int64, out=running[1:])
            self._sums[key] = np.diff(running[places]).tolist()
        return self._sums[key]

    def enclosed(self, inner: str, outer: str) -> tuple[Ints, Ints]:
        """Rows in which one phase stands between two segments of another, and its sum there."""
        key = (inner, outer)
        if key not in self._enclosed:
            found = [
                (group.rows[sums != 0], sums[sums != 0])
                for group in self._groups
                if (sums := _between(group, inner, outer)) is not None
            ]
            rows = np.concatenate([r for r, _ in found]) if found else np.zeros(0, np.int64)
            sums = np.concatenate([s for _, s in found]) if found else np.zeros(0, np.int64)
            order = np.argsort(rows)
            self._enclosed[key] = (rows[order], sums[order])
        return self._enclosed[key]

    def last_segment(self, phase: str) -> tuple[Ints, Ints, Ints]:
        """Rows that have a phase, and where its last segment begins and ends there."""
        if phase not in self._last:
            begin, end = np.zeros((2, self.rows), np.int64)
            for group in self._groups:
                begin[group.rows], end[group.rows] = _last(group, phase)
            rows = np.flatnonzero(end > begin)
            self._last[phase] = (rows, begin[rows], end[rows])
        return self._last[phase]

    def segments(self, rows: Ints, kind: str) -> list[tuple[Segment, ...]]:
        """Segments of some rows, on the host clock (`p`) or the device's (`d`)."""
        found: list[tuple[Segment, ...]] = [()] * len(rows)
        for g, group in enumerate(self._groups):
            columns = group.layout.of_kind(kind)
            places = np.searchsorted(group.rows, rows)
            places[places == len(group.rows)] = 0
            here = np.flatnonzero(group.rows[places] == rows)
            if not columns or not len(here):
                continue
            names = [column.name for column in columns]
            values = [self._cached(g, column)[places[here]] for column in columns]
            tidy = all(v.all() for v in values) and all(map(operator.ne, names, names[1:]))
            steps = zip(*(v.tolist() for v in values), strict=True)
            for at, step in zip(here.tolist(), steps, strict=True):
                made = zip(names, step, strict=True)
                found[at] = tuple(made) if tidy else join_segments(made)
        return found

    def _cached(self, g: int, column: Column) -> npt.NDArray[Any]:
        key = (g, column.before)
        if key not in self._raw:
            self._raw[key] = self._groups[g].decoded(column)
        return self._raw[key]


def _between(group: _Group, inner: str, outer: str) -> Ints | None:
    """Per row of a group, the segments of one phase that stand between two of another.

    Segments of length zero are none, so whose neighbour a segment is differs
    from row to row; the columns are walked through with that in mind.
    """
    columns = group.layout.of_kind("p")
    names = [column.name for column in columns]
    if names.count(outer) < 2 or inner not in names:  # noqa: PLR2004  # one on either side
        return None
    total, pending = np.zeros((2, len(group.rows)), np.int64)
    after_outer, open_here, last_inner = np.zeros((3, len(group.rows)), np.bool_)
    for column in columns:
        values = group.decoded(column)
        there = values != 0
        if column.name == inner:
            begins = there & ~last_inner
            open_here[begins] = after_outer[begins]
            pending[begins] = 0
            pending += values
            last_inner |= there
            after_outer &= ~there
            continue
        if column.name == outer:
            closes = there & last_inner & open_here
            total[closes] += pending[closes]
            after_outer |= there
        else:
            after_outer &= ~there
        last_inner &= ~there
    return total


def _last(group: _Group, phase: str) -> tuple[Ints, Ints]:
    """Per row of a group, where the last segment of a phase begins and ends; 0 without one."""
    at, begin, end = np.zeros((3, len(group.rows)), np.int64)
    joined = np.zeros(len(group.rows), np.bool_)
    for column in group.layout.of_kind("p"):
        values = group.decoded(column)
        there = values != 0
        if column.name == phase:
            opens = there & ~joined
            begin[opens] = at[opens]
            end[there] = (at + values)[there]
            joined |= there
        else:
            joined &= ~there
        at += values
    return begin, end
