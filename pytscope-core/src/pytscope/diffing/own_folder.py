"""Settings that name the folder of their own run: another in every run, and no difference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from posixpath import join, normpath
from typing import Any

from pytscope.diffing.identity import is_place
from pytscope.model.comparison import ABSENT, NOT_GIVEN
from pytscope.runs.run import Run

_SETTINGS = ("argv.", "config.")
_NUMBER = re.compile(r"[+-]?[\d.]+(e[+-]?\d+)?", re.IGNORECASE)
_OWN = "(the run's own folder)"
_KNOWN_BY = 2


def without_own(name: str, values: Sequence[Any], runs: Sequence[Run]) -> list[Any]:
    """The values of a fact as they are without the place of each run.

    The folder itself says nothing, as an option that was not given. What lies in it
    keeps its place in there: two checkpoints of runs may well differ.

    Args:
        name: Name of the fact; only options and settings are looked at.
        values: One a run.
        runs: The runs.
    """
    if not name.startswith(_SETTINGS):
        return [*values]
    return [_without(name, value, run) for value, run in zip(values, runs, strict=True)]


def _without(name: str, value: Any, run: Run) -> Any:
    none = NOT_GIVEN if name.startswith("argv.") else ABSENT
    if not isinstance(value, str) or not value or _NUMBER.fullmatch(value):
        return value
    inside = _inside(value, run, place=is_place(name))
    if inside is None:
        return value
    return "/".join((_OWN, *inside)) if inside else none


def _inside(value: str, run: Run, *, place: bool) -> tuple[str, ...] | None:
    """Where in the folder of its run a path is; None where it is outside.

    Runs are moved, and given by a path of their own: the last two parts of a folder
    tell it, the last alone where the setting is called by a place. A model may be
    called as a run is.
    """
    cwd = run.environment.get("cwd")
    parts = PurePath(normpath(join(cwd if isinstance(cwd, str) else "", value))).parts
    tails = [PurePath(normpath(run.path)).parts[-_KNOWN_BY:]] if run.path else []
    if place:
        tails += [(own,) for own in (PurePath(run.path).name, run.name) if own]
    else:
        tails = [tail for tail in tails if len(tail) == _KNOWN_BY]
    for end in range(len(parts), 0, -1):
        if any(parts[:end][-len(tail) :] == tail for tail in tails):
            return parts[end:]
    return None
