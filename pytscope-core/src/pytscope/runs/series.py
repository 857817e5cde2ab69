"""A recorded series by its name: which of those called so is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from pytscope.model.records import LOGGED
from pytscope.runs.column_store import Ints

if TYPE_CHECKING:
    from pytscope.runs.run import Timeline

SeriesKind = Literal["logged", "phase"]
WALL = "wall"


def named(
    timeline: Timeline, name: str, kind: SeriesKind | None
) -> tuple[Ints, npt.NDArray[np.float64]]:
    """Rows that have a series, and its values, as `Run.series` finds it."""
    if kind not in ("logged", "phase", None):
        msg = f"kind is 'logged', 'phase' or None, not {kind!r}"
        raise ValueError(msg)
    if kind is None and name == WALL:
        kind = "phase"
    found = _logged(timeline, name) if kind != "phase" else None
    if found is None and (kind == "phase" or (kind is None and name not in LOGGED)):
        found = _timed(timeline, name)
    if found is None:
        raise KeyError(_missing(timeline, name, kind))
    return found[0], np.asarray(found[1], np.float64)


def _logged(timeline: Timeline, name: str) -> tuple[Ints, npt.NDArray[Any]] | None:
    if name in timeline.scalars:
        return timeline.column("scalar", name)
    return timeline.column("memory", name) if name in timeline.memory else None


def _timed(timeline: Timeline, name: str) -> tuple[Ints, npt.NDArray[Any]] | None:
    """A phase, or `wall`, in seconds."""
    rows = np.arange(len(timeline))
    if name == WALL:
        return rows, timeline.wall_ns * 1e-9
    return (rows, timeline.phase_ns(name) * 1e-9) if name in timeline.phases else None


def _missing(timeline: Timeline, name: str, kind: SeriesKind | None) -> str:
    if kind != "phase" and name in timeline.phases:
        return f"nothing was logged as {name!r}; for the phase: kind='phase'"
    if kind == "phase" and _logged(timeline, name) is not None:
        return f"no phase {name!r} was recorded; for what was logged: kind='logged'"
    return name
