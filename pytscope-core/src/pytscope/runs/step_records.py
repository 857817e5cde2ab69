"""The rows of a timeline as step records, a few thousand at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pytscope.model.records import Flag, StepRecord
from pytscope.runs.run import ColumnStore, Timeline

BATCH = 4_096
"""Rows decoded together: enough to be quick, few enough to take no room."""

_SPARSE = ("scalar", "memory", "extra")


def step_records(timeline: Timeline, columns: ColumnStore) -> Iterator[StepRecord]:
    """Every step of a timeline, in recording order.

    Args:
        timeline: The rank.
        columns: Its columns.
    """
    for first in range(0, len(timeline), BATCH):
        yield from _batch(timeline, columns, first, min(first + BATCH, len(timeline)))


def _batch(timeline: Timeline, columns: ColumnStore, a: int, b: int) -> Iterator[StepRecord]:
    scalars, memory, extras = (_values(columns, kind, a, b) for kind in _SPARSE)
    rows = zip(
        timeline.attempt[a:b].tolist(),
        timeline.step[a:b].tolist(),
        timeline.start_ns[a:b].tolist(),
        timeline.wall_ns[a:b].tolist(),
        columns.many(np.arange(a, b)),
        _device(columns, a, b),
        scalars,
        memory,
        extras,
        timeline.micro_batches[a:b].tolist(),
        map(_FLAGS.__getitem__, timeline.flags[a:b].tolist()),
        strict=True,
    )
    for row in rows:
        yield StepRecord(timeline.rank, *row)


def _values(columns: ColumnStore, kind: str, a: int, b: int) -> list[dict[str, Any]]:
    """By row, the values of a kind that it has."""
    found: list[dict[str, Any]] = [{} for _ in range(a, b)]
    for name in columns.names(kind):
        rows, values = columns.part(kind, name, a, b)
        for row, value in zip((rows - a).tolist(), values.tolist(), strict=True):
            found[row][name] = value
    return found


def _device(columns: ColumnStore, a: int, b: int) -> list[Any]:
    if not columns.names("device"):
        return [None] * (b - a)
    return [columns.device_segments(row) for row in range(a, b)]


class _Flags(dict[int, Flag]):
    """Flags by their bits, each made once."""

    def __missing__(self, bits: int) -> Flag:
        return self.setdefault(bits, Flag(bits))


_FLAGS = _Flags()
