"""Anything a user may put into a configuration, as plain JSON values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice
from numbers import Integral, Real
from typing import Any

from pytscope.recording.harmless import tried

MAX_TEXT = 1000
MAX_DEPTH = 8
MAX_ITEMS = 1000
MAX_SIZE = 400_000
"""Characters of one conversion, about; the values beyond are left out."""


def plain(value: object) -> Any:
    """Convert to JSON values; what has no such form becomes its `repr`, cut short.

    Non-finite floats become `"NaN"`, `"Infinity"`, `"-Infinity"`. At most
    1,000 entries of a container, 8 levels and 400,000 characters are kept, and
    a cut is marked.
    """
    return _Conversion().of(value, 0)


class _Conversion:
    """One conversion, with what it may still take in."""

    __slots__ = ("_around", "_left")

    def __init__(self) -> None:
        self._left = MAX_SIZE
        self._around: list[object] = []

    def of(self, value: object, depth: int) -> Any:
        if self._left <= 0 or any(value is outer for outer in self._around):
            return "…"
        self._around.append(value)
        converted = tried(
            lambda: self._converted(value, depth),
            lambda error: f"<{type(value).__name__}: reading it raised {type(error).__name__}>",
        )
        self._around.pop()
        self._left -= 8 + (len(converted) if isinstance(converted, str) else 0)
        return converted

    def _converted(self, value: object, depth: int) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str(value) if len(value) <= MAX_TEXT else value[:MAX_TEXT] + "…"
        if isinstance(value, Integral):  # those of numpy too
            return int(value) if abs(int(value)) < 2**63 else text(value)
        if isinstance(value, Real):
            number = float(value)
            return number if math.isfinite(number) else _non_finite(number)
        if depth >= MAX_DEPTH:
            return text(value)
        if isinstance(value, Mapping):
            return self._mapping(value, depth)
        if isinstance(value, (list, tuple, set, frozenset)):
            items = [self.of(v, depth + 1) for v in islice(value, MAX_ITEMS)]
            more = len(value) - MAX_ITEMS
            return items if more <= 0 else [*items, f"… {more} more"]
        if (fields := getattr(type(value), "__dataclass_fields__", None)) is not None:
            return self._mapping({name: getattr(value, name, None) for name in fields}, depth)
        if type(value).__module__ == "argparse":
            return self._mapping(vars(value), depth)
        return text(value)

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, held in islice(value.items(), MAX_ITEMS):
            name = str(key) if isinstance(key, str) else text(key)
            if name in out:  # 1 and "1"
                name = f"{name} ({type(key).__name__})"
            self._left -= len(name)
            out[name[:MAX_TEXT]] = self.of(held, depth + 1)
        if len(value) > MAX_ITEMS:
            out["…"] = f"{len(value) - MAX_ITEMS} more"
        return out


def _non_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def text(value: object) -> str:
    """The value's `repr`, at most 1,000 characters; a `repr` that raises is named."""
    shown = tried(
        lambda: repr(value),
        lambda error: f"<{type(value).__name__}: repr raised {type(error).__name__}>",
    )
    return shown if len(shown) <= MAX_TEXT else shown[:MAX_TEXT] + "…"


def name_of(value: object) -> str:
    """The value's `str`; one that raises is named."""
    return tried(lambda: str(value), lambda _: f"<{type(value).__name__}>")


def described(error: BaseException) -> dict[str, str]:
    """An exception as the values of an event."""
    message = tried(lambda: str(error), lambda odd: f"str() raised {type(odd).__name__}")
    return {"type": type(error).__qualname__, "message": text(message)[1:-1]}
