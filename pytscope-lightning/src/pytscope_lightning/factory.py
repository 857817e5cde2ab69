"""Attaching without code: Lightning asks this for callbacks, and gets one if the user asked for it.

PYTSCOPE_RUN_DIR=runs/exp python train.py
"""

from __future__ import annotations

import os
from typing import Any

from pytscope.recording.harmless import tried, warn_once

VARIABLE = "PYTSCOPE_RUN_DIR"


def callbacks() -> list[Any]:
    """One callback when `PYTSCOPE_RUN_DIR` names a folder, else none; never an exception.

    It stands back where the Trainer has been given a `PytscopeCallback`.
    """
    folder = os.environ.get(VARIABLE, "").strip()
    return tried(lambda: _made(folder), _none) if folder else []


def _made(folder: str) -> list[Any]:
    from pytscope_lightning import PytscopeCallback

    callback = PytscopeCallback(folder)
    callback.stands_back = True
    return [callback]


def _none(error: BaseException) -> list[Any]:
    warn_once(f"{VARIABLE} is set, but nothing can be recorded ({type(error).__name__}: {error})")
    return []
