"""Arguments as the record needs them: what cannot be used is said and left out."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from pytscope.recording.harmless import tried

MAX_STEP = 10**15
"""Largest number of a first step; the reader takes step numbers up to 2**53."""

RESET = "reset"

Say = Callable[[str], object]


def count(name: str, value: Any, say: Say, *, most: int = 2**31) -> int | None:
    """A number from 0 to `most`, or None for None and for what is no such number.

    Args:
        name: The argument's name.
        value: What was given: an int, an integral float, a 0-d tensor or array.
        say: Called with a sentence when it cannot be used.
        most: The largest that is taken.
    """
    if value is None:
        return None

    def read() -> int | None:
        number = int(value) if isinstance(value, float) else operator.index(value)
        return number if 0 <= number <= most and number == value else None

    found = tried(read, lambda _: None)
    if found is None:
        say(f"{name}={_shown(value)} is no number from 0 to {most:,}; it is left out")
    return found


def amount(name: str, value: Any, say: Say) -> float | None:
    """A finite number above 0 as a float, or None for None and for what is none."""
    if value is None:
        return None
    number = tried(lambda: float(value), lambda _: 0.0)
    if math.isfinite(number) and number > 0:
        return number
    say(f"{name}={_shown(value)} is no number above 0; it is left out")
    return None


def memory_mode(value: Any, say: Say) -> bool | str:
    """Whether memory is sampled, and `"reset"` where its peak is reset too.

    Args:
        value: What was given as `collect_memory`.
        say: Called with a sentence when it is neither a truth value nor `"reset"`.
    """
    if not isinstance(value, str):
        return tried(lambda: bool(value), lambda _: True)
    if value != RESET:
        known = f"True, False and {RESET!r} are known"
        say(f"collect_memory={_shown(value)} is unknown ({known}); it is taken for True")
        return True
    return RESET


def _shown(value: object) -> str:
    from pytscope.recording.plain import text

    return text(value)[:80]
