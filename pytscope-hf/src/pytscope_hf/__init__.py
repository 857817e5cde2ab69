"""pytscope for the Hugging Face Trainer and for accelerate.

`PytscopeCallback` goes into `Trainer(callbacks=[...])`, `PytscopeTracker` into
`Accelerator(log_with=[...])`, and after `register()` the Trainer knows
`report_to="pytscope"`. Each is loaded when it is first asked for, with the
framework that it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["PytscopeCallback", "PytscopeTracker", "register"]  # found by __getattr__

_PLACES = {
    "PytscopeCallback": "pytscope_hf.callback",
    "PytscopeTracker": "pytscope_hf.tracker",
    "register": "pytscope_hf.reporting",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_PLACES[name]), name)
