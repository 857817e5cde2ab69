"""Loops by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LOOPS: dict[str, Callable[[Any], None]] = {}
UNTIMED: set[str] = set()
"""Loops without 20 steps whose phases sleep a known time."""


def loop(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """A loop that tests play, recorded and not."""
    LOOPS[function.__name__] = function
    return function


def untimed(function: Callable[[Any], None]) -> Callable[[Any], None]:
    """A loop whose steps are counted and whose times nobody knows."""
    UNTIMED.add(function.__name__)
    return loop(function)
