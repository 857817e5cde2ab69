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
