"""Values by global step where steps were done again: those of the last time count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pytscope.model.records import Flag
from pytscope.runs.column_store import Ints

if TYPE_CHECKING:
    from pytscope.runs.run import Timeline


def counting(timeline: Timeline, name: str, kind: str = "scalar") -> tuple[Ints, npt.NDArray[Any]]:
    """A column's steps and values, as `last_pass` has them.

    Args:
        timeline: The rank.
        name: The column's name.
        kind: As for `Timeline.column`.

    Raises:
        KeyError: The rank has no such column.
    """
    return last_pass(timeline, *timeline.column(kind, name))


def last_pass(
    timeline: Timeline, rows: Ints, values: npt.NDArray[Any]
) -> tuple[Ints, npt.NDArray[Any]]:
    """Steps, ascending and each once, and the values of the last time that each was done.

    Values keep their type: whole numbers have more bits than a float.

    Args:
        timeline: The rank.
        rows: Rows that have a value.
        values: One a row.
    """
    keep = ~timeline.has(Flag.REDONE)[rows]
    steps, kept = timeline.step[rows][keep], values[keep]
    if not ascending(steps):
        steps, last = np.unique(steps[::-1], return_index=True)
        kept = kept[::-1][last]
    return steps, kept


def ascending(steps: Ints) -> bool:
    """Whether steps ascend, each once."""
    return bool(np.all(steps[1:] > steps[:-1]))
