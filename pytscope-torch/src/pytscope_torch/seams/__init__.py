"""Where instrumentation touches PyTorch: one seam a file, each with its own undoing.

A seam's function installs it and returns what takes it out again. Taking out
restores an attribute only while it is still ours: what somebody else put over
it stays, and ours under it passes calls through.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from pytscope.recording.harmless import harmless

Undo = Callable[[], None]
_MISSING = object()
_buried: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""What was under each wrapper that is out of use and that something else still covers."""


def put(owner: Any, name: str, value: Any) -> Undo:
    """Set an attribute of a module or class, and return what restores it.

    Two recordings may be undone in any order: the last one leaves what was
    there before the first.
    """
    before = vars(owner).get(name, _MISSING)
    if hasattr(value, "__wrapped__"):  # pickled by name, it is to be found where it is put
        value.__module__ = owner.__name__ if isinstance(owner, ModuleType) else owner.__module__
    setattr(owner, name, value)

    def undo() -> None:
        if vars(owner).get(name) is not value:
            _buried[value] = before
            return
        under = before
        while under in _buried:
            under = _buried[under]
        if under is _MISSING:
            delattr(owner, name)
        else:
            setattr(owner, name, under)

    return undo


def together(undo: list[Undo]) -> Undo:
    """Several undoings as one, the last first and each once; more may come to them meanwhile."""

    def take_out() -> None:
        while undo:
            part = undo.pop()
            with harmless("restoring PyTorch"):
                part()

    return take_out
