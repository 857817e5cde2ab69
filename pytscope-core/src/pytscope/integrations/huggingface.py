"""The door to `PytscopeCallback` for the Hugging Face Trainer, which pytscope-hf brings."""

from __future__ import annotations

from pytscope.doors import door

__all__ = ["PytscopeCallback"]  # noqa: F822  # found by __getattr__

__getattr__ = door(__name__, "PytscopeCallback", "pytscope_hf", "huggingface")
