"""Logged values: what may be logged, and when it becomes a number."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pytscope.recording.columns import INT64
from pytscope.recording.harmless import tried
from pytscope.recording.keys import COUNTS, LOG, LOG_NAMES, Sample

PLAIN = frozenset((float, int, type(None)))


def scalar(value: Any, warn: Callable[[str], object]) -> Any:
    """A logged value as a float or an int, or a device scalar to be read later.

    Values on an accelerator are copied on its stream, not waited for. What is
    no single number is dropped with a warning.

    Args:
        value: A number, a 0-d or one-element tensor or array.
        warn: Called with a sentence when the value cannot be kept.

    Returns:
        A float, an int that fits 64 bits, a detached device scalar, or None.
    """
    if isinstance(value, int):
        return _bounded(int(value), warn)
    if isinstance(value, float):
        return float(value)
    kept, fault = tried(lambda: _number(value), lambda _: (None, "is no number"))
    if fault:
        warn(f"a logged value of type {type(value).__name__} {fault}; it is left out")
    return _bounded(kept, warn) if type(kept) is int else kept


def _number(value: Any) -> tuple[Any, str]:
    """A stranger's value as a number or device scalar, and what keeps it from being one."""
    if isinstance(value, (str, bytes, bytearray)):
        return None, "is no number"
    size = value.numel() if hasattr(value, "numel") else getattr(value, "size", 1)
    if size != 1:
        return None, "is no single number"
    device = getattr(getattr(value, "device", None), "type", "cpu")
    if device == "meta":
        return None, "is on the meta device and has no value"
    if device != "cpu":
        return value.detach().clone(), ""
    number = value.item() if hasattr(value, "item") else float(value)
    if isinstance(number, int):
        return int(number), ""
    if isinstance(number, (str, bytes, complex)):
        return None, "is no real number"
    return float(number), ""


def _bounded(value: int, warn: Callable[[str], object]) -> int | None:
    if INT64[0] <= value <= INT64[1]:
        return value
    warn("a logged integer does not fit 64 bits; it is left out")
    return None


def resolved(value: Any) -> Any:
    """A value of the event list with its device scalars read; unreadable ones are None.

    Args:
        value: The tuple of a `LOG`, the dict of an `EXTRA` or a sample's tuple.
    """
    if isinstance(value, dict):
        return {k: _read(v) for k, v in value.items()}
    if PLAIN.issuperset(map(type, value)):
        return value
    return tuple(map(_read, value))


def _read(value: Any) -> Any:
    if type(value) in PLAIN:
        return value
    number = tried(value.item, lambda _: None)
    if isinstance(number, bool):
        return int(number)
    return number if type(number) in PLAIN else None  # complex, say


def log_values(pairs: Iterable[tuple[object, Any]]) -> dict[str, Any]:
    """Logged values by name: the sum of `COUNTS`, the last of any other name."""
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key is LOG:
            named = dict(zip(LOG_NAMES, value, strict=True))
        elif isinstance(key, Sample):
            named = dict(zip(key.columns, value, strict=True))
        else:
            named = value
        for name, number in named.items():
            if number is not None:
                before = values.get(name, 0) if name in COUNTS else 0
                values[name] = before + number if before else number
    return values
