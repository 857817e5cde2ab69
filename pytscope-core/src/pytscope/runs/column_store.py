"""`ColumnStore`: where a timeline gets its columns from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pytscope.model.records import Segment

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


Array = TypeVar("Array", bound=npt.NDArray[Any])


def read_only(array: Array) -> Array:
    """The array, as those see it who share it and may not write to it."""
    shared = array.view()
    shared.flags.writeable = False
    return shared


def between(segments: Sequence[Segment], inner: str, outer: str) -> int:
    """Sum of the segments of one phase that stand between two of another."""
    around = zip(segments, segments[1:], segments[2:], strict=False)
    return sum(b[1] for a, b, c in around if b[0] == inner and a[0] == c[0] == outer)


def last_of(segments: Sequence[Segment], phase: str) -> tuple[int, int]:
    """Where the last segment of a phase begins and ends, nanoseconds into the step."""
    end = sum(ns for _, ns in segments)
    for name, ns in reversed(segments):
        if name == phase:
            return end - ns, end
        end -= ns
    return 0, 0


class ColumnStore:
    """Columns by kind and name, decoded on first use.

    Args:
        names: Column names by kind. Kinds: `phase device scalar memory extra`.
        load: Decodes one column: `(kind, name) -> (rows, values)`; `rows`
            are the indices of the steps that have it, in order.
        segments: Gives a row's segments on the host clock.
        device_segments: Gives a row's segments on the device clock, or None.
        many: Gives the segments of many rows at once; by default one by one.
    """

    def __init__(
        self,
        names: Mapping[str, tuple[str, ...]],
        load: Callable[[str, str], tuple[Ints, npt.NDArray[Any]]],
        segments: Callable[[int], tuple[Segment, ...]],
        device_segments: Callable[[int], tuple[Segment, ...] | None] = lambda _row: None,
        many: Callable[[Ints], list[tuple[Segment, ...]]] | None = None,
    ) -> None:
        self._names = dict(names)
        self._load = load
        self._cache: dict[tuple[str, str], tuple[Ints, npt.NDArray[Any]]] = {}
        self.segments = segments
        self.device_segments = device_segments
        self.many = many or (lambda rows: [segments(row) for row in rows.tolist()])

    def names(self, kind: str) -> tuple[str, ...]:
        """Names of the columns of a kind."""
        return self._names.get(kind, ())

    def get(self, kind: str, name: str) -> tuple[Ints, npt.NDArray[Any]]:
        """Rows that have the column, and its values there."""
        key = (kind, name)
        if key not in self._cache:
            rows, values = self._load(kind, name)
            self._cache[key] = (read_only(rows), read_only(values))
        return self._cache[key]

    def part(self, kind: str, name: str, first: int, end: int) -> tuple[Ints, npt.NDArray[Any]]:
        """Rows from `first` to before `end` that have the column, and its values there."""
        rows, values = self.get(kind, name)
        there = slice(*np.searchsorted(rows, (first, end)))
        return rows[there], values[there]

    def dense(self, kind: str, name: str, length: int) -> Ints:
        """An integer column in each of `length` rows, 0 where a row has none."""
        dense = np.zeros(length, np.int64)
        rows, values = self.get(kind, name)
        dense[rows] = values
        return dense

    def enclosed(self, inner: str, outer: str) -> tuple[Ints, Ints]:
        """Rows in which segments of one phase stand between two of another, and their sum.

        Args:
            inner: The phase between.
            outer: The phase on both sides.
        """
        if not {inner, outer} <= set(self.names("phase")):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        rows = np.intersect1d(self.get("phase", inner)[0], self.get("phase", outer)[0])
        sums = [between(segments, inner, outer) for segments in self.many(rows)]
        values = np.array(sums, np.int64)
        return rows[values != 0], values[values != 0]

    def last_segment(self, phase: str) -> tuple[Ints, Ints, Ints]:
        """Rows that have a phase, and where its last segment begins and ends there.

        Args:
            phase: The phase.
        """
        if phase not in self.names("phase"):
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
        rows = self.get("phase", phase)[0]
        edges = [last_of(segments, phase) for segments in self.many(rows)]
        begin, end = np.array(edges, np.int64).reshape(-1, 2).T
        there = end > begin
        return rows[there], begin[there], end[there]

    def total(self, kind: str, name: str) -> int:
        """The sum of an integer column, exact."""
        return exact_sum(self.get(kind, name)[1])


def exact_sum(values: Ints) -> int:
    """The sum of integers, exact also where 64 bits would not hold it."""
    if not len(values):
        return 0
    most = max(-int(values.min()), int(values.max()))
    if most < (1 << 62) // len(values):
        return int(values.sum())
    return sum(values.tolist())
