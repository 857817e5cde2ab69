"""Counting what a call does, where its time would be noise."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls(call: Callable[[], object]) -> int:
    """Python functions entered meanwhile."""
    entered = []

    def count(_frame: Any, event: str, _argument: Any) -> None:
        if event == "call":
            entered.append(event)

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(entered)
