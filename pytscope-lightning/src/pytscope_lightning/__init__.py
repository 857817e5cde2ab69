"""pytscope for PyTorch Lightning: `Trainer(callbacks=[PytscopeCallback("runs/exp")])`.

The class is made when it is first asked for, as a subclass of the `Callback` of
the Lightning that the program uses: `lightning` or `pytorch_lightning`.
"""

from __future__ import annotations

from typing import Any

__all__ = ["PytscopeCallback"]  # found by __getattr__


def __getattr__(name: str) -> Any:
    if name != "PytscopeCallback":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from pytscope_lightning.classes import callback_class

    return callback_class()
