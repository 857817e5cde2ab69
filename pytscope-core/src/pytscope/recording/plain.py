"""Anything a user may put into a configuration, as plain JSON values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MAX_TEXT = 1000
MAX_DEPTH = 8
MAX_ITEMS = 1000


def plain(value: object, depth: int = 0) -> Any:
    """Convert to JSON values; what has no such form becomes its `repr`, cut short.

    Non-finite floats become `"NaN"`, `"Infinity"`, `"-Infinity"`. At most
    1,000 entries of a container and 8 levels are kept, and a cut is marked.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < 2**63 else text(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _non_finite(value)
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + "…"
    if depth >= MAX_DEPTH:
        return text(value)
    if isinstance(value, Mapping):
        return _mapping(value, depth)
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [plain(v, depth + 1) for v in list(value)[:MAX_ITEMS]]
        return items if len(value) <= MAX_ITEMS else [*items, f"… {len(value) - MAX_ITEMS} more"]
    fields = getattr(value, "__dict__", None)
    if type(value).__module__ == "argparse" or hasattr(value, "__dataclass_fields__"):
        return _mapping(fields or {}, depth)
    return text(value)


def _mapping(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    items = list(value.items())
    out = {
        text(k) if not isinstance(k, str) else k: plain(v, depth + 1) for k, v in items[:MAX_ITEMS]
    }
    if len(items) > MAX_ITEMS:
        out["…"] = f"{len(items) - MAX_ITEMS} more"
    return out


def _non_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def text(value: object) -> str:
    """The value's `repr`, at most 1,000 characters; a `repr` that raises is named."""
    try:
        shown = repr(value)
    except Exception as error:  # noqa: BLE001  # a stranger's __repr__ must not end the recording
        shown = f"<{type(value).__name__}: repr raised {type(error).__name__}>"
    return shown if len(shown) <= MAX_TEXT else shown[:MAX_TEXT] + "…"
