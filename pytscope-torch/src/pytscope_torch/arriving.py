"""Being told when a module has been imported, by whomever, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from pytscope.recording.harmless import tried


class Arrival(MetaPathFinder):
    """Calls back once a module's import is over.

    Stands in `sys.meta_path` until then. The import itself goes its usual way,
    and afterwards nothing of this is left at the module, its spec or its loader.

    Args:
        name: The module.
        then: Called in the thread that imported it.
    """

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name = name
        self._then = then

    def wait(self) -> None:
        """Wait for the import; when it is long over, call back now."""
        if self._name in sys.modules:
            self._then()
        else:
            sys.meta_path.insert(0, self)

    def withdraw(self) -> None:
        """Wait no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the other finders find, its loader watched for this one import."""
        if fullname != self._name:
            return None
        self.withdraw()
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            tried(lambda: self._watch(loader), lambda _: None)  # a loader with slots stays as it is
        return spec

    def _watch(self, loader: Any) -> None:
        load = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            try:
                load(module)
            except BaseException:
                sys.meta_path.insert(0, self)  # the script may try again
                raise
            self._then()

        loader.exec_module = exec_module
