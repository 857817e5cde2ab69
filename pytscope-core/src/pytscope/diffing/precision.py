"""The arithmetic that runs were trained in, and what it leaves uncertain."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

FULL, HALF = 1e-5, 1e-3
"""Shares of a value that are nothing but rounding, in float32 and in 16-bit arithmetic."""
_HALF = re.compile(
    r"(?<![a-z0-9])(bf16|fp16|bfloat16|float16|half|fp8|float8\w*)(?![a-z0-9])", re.IGNORECASE
)
_FULL_KEYS = ("torch.autocast", "torch.model.dtypes", "torch.default_dtype")
_SWITCHES = frozenset(("bf16", "fp16", "fp8", "half", "amp", "use_amp", "mixed_precision"))
_NAMES = re.compile(r"(.*_)?(dtype|precision|amp|autocast)(_.*)?", re.IGNORECASE)


def tolerance(*told: Mapping[str, Any]) -> tuple[float, str]:
    """What counts as rounding between runs, and the words for it: the coarsest counts.

    Args:
        told: The facts of each run.
    """
    for own in told:
        for name, value in own.items():
            found = half(name, value)
            if found:
                return HALF, found
    recorded = any(name.startswith(_FULL_KEYS) for own in told for name in own)
    return FULL, "float32" if recorded else "float32 assumed"


def half(name: str, value: Any) -> str:
    """The 16-bit type that a fact says was used, or an empty string."""
    top, _, rest = name.partition(".")
    if name == "torch.autocast" and isinstance(value, str):
        match = _HALF.search(value)
        return f"autocast in {match[0]}" if match else ""
    if name == "torch.model.dtypes" and isinstance(value, str):
        match = _HALF.search(value)
        return f"parameters in {match[0]}" if match else ""
    if top not in ("config", "argv"):
        return ""
    last = rest.rpartition(".")[2].lower()
    if last == "precision" and str(value) in ("16", "16-mixed", "16-true"):
        return f"precision is {value}"
    if last in _SWITCHES and value in (True, "true", "True", "1", 1):
        return f"{last} is on"
    if _NAMES.fullmatch(last) and isinstance(value, str) and _HALF.search(value.replace("_", " ")):
        return f"{last} is {value}"
    return ""
