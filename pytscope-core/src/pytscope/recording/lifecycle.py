"""Recorders that are recording, and what happens to them at fork and exit."""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytscope.recording.profiler import Profiler

_live: dict[int, Profiler] = {}
_hooked = False


def enter(profiler: Profiler) -> None:
    """Remember a recorder that started recording."""
    global _hooked  # noqa: PLW0603  # process-wide hooks are set once
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


def _abandon_all() -> None:
    for profiler in list(_live.values()):
        profiler.abandon()


def _forget_all() -> None:
    for profiler in list(_live.values()):
        profiler.forget()
    _live.clear()
