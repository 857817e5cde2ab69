"""Who is calling: callbacks and trackers are not given the object that they serve."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

MOST = 32
"""Callers that are looked at."""
LOOP = "inner_training_loop"
"""End of the name of the function that is the Trainer's loop, in every version."""
BETWEEN = ("torch.", "accelerate.", "pytscope_", "transformers.trainer_callback")
"""Modules through which an exception passes on its way to the loop."""


def caller(kind: type[Any]) -> Any:
    """The nearest caller's `self` of a kind, or None."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  # there is no public way
    for _ in range(MOST):
        if frame is None:
            return None
        found = frame.f_locals.get("self")
        if isinstance(found, kind):
            return found
        frame = frame.f_back
    return None


def called_by_loop(trainer: Any) -> bool:
    """Whether what the caller raises ends a trainer's loop: nothing in between may catch it."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  # as above
    while frame is not None and frame.f_globals.get("__name__", "").startswith(BETWEEN):
        if _is_loop(frame):
            break
        frame = frame.f_back
    return frame is not None and _is_loop(frame) and frame.f_locals.get("self") is trainer


def loop_runs(trainer: Any = None) -> bool:
    """Whether the calling thread is in a Trainer's loop.

    Args:
        trainer: Whose loop it has to be; None for any, which keeps no batch of the
            loop alive: reading a frame's variables does, in some versions of Python.
    """
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  # as above
    while frame is not None:
        if _is_loop(frame) and (trainer is None or frame.f_locals.get("self") is trainer):
            return True
        frame = frame.f_back
    return False


def _is_loop(frame: FrameType) -> bool:
    return frame.f_code.co_name.endswith(LOOP)
