"""A run that a plugin's source opened: checked before anyone relies on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pytscope.plugins.isolation import Refusal
from pytscope.runs.attempt import Attempt
from pytscope.runs.run import ReadNote, Run, Timeline

_COLUMNS = ("step", "attempt", "start_ns", "wall_ns", "flags", "micro_batches")
_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "path": str,
    "name": str,
    "timelines": tuple,
    "world_size": (int, type(None)),
    "config": Mapping,
    "environment": Mapping,
    "source": str,
    "has_timeline": bool,
    "flops_per_step": (int, float, type(None)),
    "peak_flops": (int, float, type(None)),
    "other_attempts": tuple,
    "live": bool,
    "notes": tuple,
    "attachments": Mapping,
}


def sound(opened: Any) -> Run:
    """What a source returned, if it is a run whose fields are of the types it declares.

    Raises:
        Refusal: It is not; says where.
    """
    if type(opened) is not Run:
        msg = f"it returned {type(opened).__name__}, not a Run"
        raise Refusal(msg)
    for name, kinds in _FIELDS.items():
        if not isinstance(getattr(opened, name), kinds):
            msg = f"run.{name} must not be a {type(getattr(opened, name)).__name__}"
            raise Refusal(msg)
    _all(opened.timelines, Timeline, "run.timelines")
    _all(opened.notes, ReadNote, "run.notes")
    _all(opened.other_attempts, int, "run.other_attempts")
    for timeline in opened.timelines:
        _must_be_table(timeline)
    return opened


def _must_be_table(timeline: Any) -> None:
    name = f"the timeline of rank {timeline.rank!r}"
    if not isinstance(timeline.rank, int):
        msg = f"{name} must have a whole number as its rank"
        raise Refusal(msg)
    _all(timeline.attempts, Attempt, f"attempts of {name}")
    for column in _COLUMNS:
        values = getattr(timeline, column)
        if not isinstance(values, np.ndarray) or values.shape != (len(timeline),):
            msg = f"{column} of {name} must be an array with a value a step"
            raise Refusal(msg)
        if values.dtype.kind != "i":
            msg = f"{column} of {name} must be whole numbers, not {values.dtype}"
            raise Refusal(msg)


def _all(values: Any, kind: type, name: str) -> None:
    if not isinstance(values, tuple) or not all(isinstance(v, kind) for v in values):
        msg = f"{name} must be a tuple of {kind.__name__}"
        raise Refusal(msg)
