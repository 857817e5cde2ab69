"""`PytscopeCallback`: one class for `lightning` and for `pytorch_lightning`.

Both packages hold the same code under two names, and a callback must be an
instance of the `Callback` of the one whose Trainer it is given to. A program may
import the second after this class was made, so an instance is of whatever is
imported when it is made.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pytscope_lightning.callback import Hooks

FRAMEWORKS = ("lightning.pytorch", "pytorch_lightning")


@cache
def callback_class() -> type[Any]:
    """The class, a subclass of `Callback` of each framework that is imported.

    Raises:
        ModuleNotFoundError: Neither framework is installed; it names `lightning`.
    """
    if not loaded():
        import_module(next((name for name in FRAMEWORKS if installed(name)), FRAMEWORKS[0]))
    doc = Hooks.__doc__
    body = {"__module__": "pytscope_lightning", "__doc__": doc, "__new__": _new}
    return type("PytscopeCallback", (Hooks, *loaded()), body)


def loaded() -> list[type[Any]]:
    """The `Callback` classes of the frameworks that the program has imported."""
    modules = (sys.modules.get(name) for name in FRAMEWORKS)
    return [found for m in modules if (found := getattr(m, "Callback", None)) is not None]


def installed(framework: str) -> bool:
    """Whether a framework can be imported; `lightning` need not bring its part for PyTorch."""
    top, _, _ = framework.partition(".")
    return find_spec(top) is not None and find_spec(framework) is not None


def _new(cls: Any, *_args: Any, **_options: Any) -> Any:
    """An instance of the class and of each `Callback` that is loaded by now."""
    return object.__new__(widened(cls, tuple(loaded())))


@cache
def widened(cls: Any, callbacks: tuple[type[Any], ...]) -> type[Any]:
    """A class that is a subclass of all these too; the class itself when it is one."""
    missing = [callback for callback in callbacks if not issubclass(cls, callback)]
    if not missing:
        return cls  # type: ignore[no-any-return]  # a class, which mypy has no hash for
    body = {name: getattr(cls, name) for name in ("__module__", "__doc__", "__qualname__")}
    return type(cls.__name__, (cls, *missing), {**body, "_importable": cls})
