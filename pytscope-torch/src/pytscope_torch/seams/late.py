"""Functions of modules that a program may load only while it is recorded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType

from pytscope.recording.harmless import harmless
from pytscope_torch.seams import Undo

Install = Callable[[ModuleType], Undo]
"""Stamps functions of a module; returns what takes that out again."""


class Late:
    """Installs seams in modules, once those are there; nothing is loaded for it.

    Args:
        undo: Gets what takes each of them out again.

    Attributes:
        wanted: Modules that are not there yet: what they must have, and what stamps it.
    """

    def __init__(self, undo: list[Undo]) -> None:
        self._undo = undo
        self._loaded = 0
        self.wanted: dict[str, tuple[Sequence[str], Install]] = {}

    def want(self, module: str, names: Sequence[str], install: Install) -> None:
        """Install a seam in a module as soon as it has some names, at the next look or later."""
        self.wanted[module] = (names, install)
        self._loaded = 0

    def look(self) -> None:
        """Look which modules have been loaded since; one that is loading comes next time."""
        loaded = len(sys.modules)
        if loaded == self._loaded:
            return
        self._loaded = loaded
        with harmless("stamping what was loaded since"):
            for name in [name for name in self.wanted if name in sys.modules]:
                self._met(name, sys.modules[name])

    def _met(self, name: str, module: ModuleType) -> None:
        needed, install = self.wanted[name]
        if not all(hasattr(module, part) for part in needed):
            self._loaded = 0
            return
        del self.wanted[name]
        self._undo.append(install(module))
