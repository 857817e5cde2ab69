"""The door to `AutoProfiler`, which pytscope-torch brings."""

from __future__ import annotations

from pytscope.doors import door

__all__ = ["AutoProfiler"]  # noqa: F822  # found by __getattr__

__getattr__ = door(__name__, "AutoProfiler", "pytscope_torch", "torch")
