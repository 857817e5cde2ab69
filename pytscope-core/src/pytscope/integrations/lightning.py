"""The door to `PytscopeCallback` for Lightning, which pytscope-lightning brings."""

from __future__ import annotations

from typing import Any

from pytscope.doors import enter

__all__ = ["PytscopeCallback"]  # noqa: F822  # found by __getattr__


def __getattr__(name: str) -> Any:
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return enter(name, "pytscope_lightning", "lightning")
