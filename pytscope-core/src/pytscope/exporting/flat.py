"""Steps as a flat table: which columns a run has, and their values for some rows.

Names: `rank attempt step start_ns wall_ns micro_batches`, then `flag.warmup` and
the other flags, `phase.NAME_ns`, `device.NAME_ns`, `scalar.NAME`,
`memory.NAME_bytes` and `extra.NAME_ns`. All ranks have the same columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from pytscope.model.records import Flag, phase_order
from pytscope.runs.run import Bools, Run, Timeline

BATCH = 8_192

_IDENTITY = ("rank", "attempt", "step", "start_ns", "wall_ns", "micro_batches")
_SUFFIXES = {
    "flag": "",
    "phase": "_ns",
    "device": "_ns",
    "scalar": "",
    "memory": "_bytes",
    "extra": "_ns",
}


@attrs.frozen
class FlatColumn:
    """One column of the table.

    Attributes:
        kind: `own` for the step's own numbers, `flag`, or a kind of a timeline's columns.
        key: The name within its kind.
        gaps: Whether a row may have no value; without gaps it is 0 there.
    """

    kind: str
    key: str
    gaps: bool = False

    @property
    def name(self) -> str:
        """Its name in the table."""
        return self.key if self.kind == "own" else f"{self.kind}.{self.key}{_SUFFIXES[self.kind]}"


@attrs.frozen(eq=False)
class Values:
    """A column's values for some rows.

    Attributes:
        values: One a row; those of rows without a value are arbitrary.
        missing: Which rows have none, or None when all have one.
    """

    values: npt.NDArray[Any]
    missing: Bools | None = None


def flat_columns(run: Run) -> tuple[FlatColumn, ...]:
    """The columns of a run's table, in order."""
    own = [FlatColumn("own", name) for name in _IDENTITY]
    flags = [FlatColumn("flag", flag.name.lower()) for flag in Flag if flag.name]
    known = {
        "phase": phase_order(_union(t.phases for t in run.timelines)),
        "device": phase_order(_union(t.device_phases for t in run.timelines)),
        "scalar": _union(t.scalars for t in run.timelines),
        "memory": _union(t.memory for t in run.timelines),
        "extra": _union(t.extras for t in run.timelines),
    }
    # On a timeline a step without a phase spent no time in it; else it was not recorded.
    whole = {"phase"} if run.has_timeline else set()
    found = [FlatColumn(kind, k, kind not in whole) for kind, keys in known.items() for k in keys]
    return (*own, *flags, *found)


def _union(names: Iterable[Iterable[str]]) -> list[str]:
    """All names, in order of first appearance."""
    return list(dict.fromkeys(name for each in names for name in each))


def batches(run: Run, columns: Iterable[FlatColumn]) -> Iterator[list[Values]]:
    """The table, some thousand rows of one rank at a time."""
    wanted = list(columns)
    for timeline in run.timelines:
        for first in range(0, len(timeline), BATCH):
            rows = range(first, min(first + BATCH, len(timeline)))
            yield [_values(timeline, column, rows) for column in wanted]


def _values(timeline: Timeline, column: FlatColumn, rows: range) -> Values:
    here = slice(rows.start, rows.stop)
    if column.kind == "own":
        if column.key == "rank":
            return Values(np.full(len(rows), timeline.rank, np.int64))
        return Values(getattr(timeline, column.key)[here])
    if column.kind == "flag":
        return Values((timeline.flags[here] & int(Flag[column.key.upper()])) != 0)
    return _sparse(timeline, column, rows)


def _sparse(timeline: Timeline, column: FlatColumn, rows: range) -> Values:
    try:
        where, values = timeline.column(column.kind, column.key, rows)
    except KeyError:  # another rank has it
        where, values = np.zeros(0, np.int64), np.zeros(0, np.int64)
    if len(where) == len(rows):
        return Values(values)
    dense = np.zeros(len(rows), values.dtype)
    dense[where - rows.start] = values
    if not column.gaps:
        return Values(dense)
    missing = np.ones(len(rows), np.bool_)
    missing[where - rows.start] = False
    return Values(dense, missing)
