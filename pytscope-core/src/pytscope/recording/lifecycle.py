"""Recorders that are recording, and what happens to them at fork and exit."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytscope.recording.profiler import Profiler

DISPLACED = "the process began another recording of this run"
FOLLOWS = "this process was still recording this run: that attempt ended without finish()"
_live: dict[int, Profiler] = {}
_hooked = False
entered: list[Callable[[Profiler], None]] = []
"""Told of every recorder that starts recording, before it is remembered."""


def enter(profiler: Profiler) -> None:
    """Remember a recorder that started recording."""
    global _hooked  # noqa: PLW0603  # process-wide hooks are set once
    for tell in tuple(entered):
        tell(profiler)
    _live[id(profiler)] = profiler
    if not _hooked:
        _hooked = True
        atexit.register(_abandon_all)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_forget_all)
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        from multiprocessing import util  # such a child leaves without running atexit

        util.Finalize(None, _abandon_all, exitpriority=0)


def leave(profiler: Profiler) -> bool:
    """Forget a recorder that stops; tell whether it was known, which one caller is told."""
    return _live.pop(id(profiler), None) is not None


def is_recorded(folder: Path, rank: int) -> bool:
    """Whether this process is recording a rank's file in a folder."""
    return any(profiler.records(folder, rank) for profiler in list(_live.values()))


def displace(profiler: Profiler, folder: Path, rank: int) -> bool:
    """End the recordings of this process that hold the file which a new one is to write.

    A notebook's cell that is run again makes a new recorder and forgets the old one.

    Returns:
        Whether there were any.
    """
    live = list(_live.values())  # at once: other threads start and finish meanwhile
    others = [p for p in live if p is not profiler and p.records(folder, rank)]
    for other in others:
        other.abandon(DISPLACED)
    return bool(others)


def _abandon_all() -> None:
    for profiler in list(_live.values()):
        profiler.abandon()


def _forget_all() -> None:
    for profiler in list(_live.values()):
        profiler.forget()
    _live.clear()
