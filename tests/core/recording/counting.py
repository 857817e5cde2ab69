"""Counting what a call does, where its time would be noise."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any


def calls(call: Callable[[], object]) -> int:
    """Python functions entered meanwhile."""
    entered = []

    def count(_frame: Any, event: str, _argument: Any) -> None:
        if event == "call":
            entered.append(event)

    collecting = gc.isenabled()
    gc.disable()  # a collection calls what others have hung on it, and on what it frees
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
        if collecting:
            gc.enable()
    return len(entered)


def objects_kept(call: Callable[[], object]) -> int:
    """Objects of the garbage collector that a call leaves, each time it is made.

    The least of five times: they are counted for the whole process, where other threads may
    make some of their own meanwhile.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return min(_grown(call) for _ in range(5))
    finally:
        if collecting:
            gc.enable()


def _grown(call: Callable[[], object]) -> int:
    gc.collect()
    before = len(gc.get_objects())
    call()
    gc.collect()
    return len(gc.get_objects()) - before
