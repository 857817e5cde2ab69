"""Scripts and modules, run as `python` itself would run them.

Each gets a fresh `__main__`, which stays for good: what the script pickles,
spawns or leaves to its threads finds its own names there, and a child process
that imports the main module again imports the script.
"""

from __future__ import annotations

import builtins
import os
import re
import runpy
import sys
import zipfile
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from pytscope.model.errors import UsageError

INTERPRETER = re.compile(r"python[0-9.]*(\.exe)?")
TORCHRUN = "It goes first: torchrun … -m pytscope run -- train.py"


class Script:
    """Something that `python` can run.

    Args:
        target: A file, a folder or archive with a `__main__.py`, or a module's name.
        arguments: The command line after it.
        module: Whether it is a module's name.

    Attributes:
        name: What to call it: the file's name or the module's.

    Raises:
        UsageError: There is no such file, or it is no script.
    """

    def __init__(self, target: str, arguments: Sequence[str], *, module: bool = False) -> None:
        if not module:
            _refuse(target)
        self._target = target
        self._arguments = list(arguments)
        self._module = module
        self.name = target if module else Path(target).name

    def __call__(self) -> None:
        """Run it; what it raises comes out, and is shown as if nobody had stood above it."""
        main = ModuleType("__main__")
        main.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = main
        sys.argv = [self._target, *self._arguments]
        try:
            if self._module:
                self._search(os.getcwd())  # noqa: PTH109  # a word of sys.path
                _as_main(self._target, alter_argv=True)
            elif Path(self._target).is_dir() or zipfile.is_zipfile(self._target):
                self._search(str(Path(self._target).absolute()))
                _as_main("__main__", alter_argv=False)
            else:
                self._search(str(Path(self._target).resolve().parent))
                _execute(str(Path(self._target).absolute()), main)
        except BaseException:
            _hide_callers()
            raise

    def _search(self, folder: str) -> None:
        """Put the folder where Python put ours."""
        if not sys.flags.safe_path:
            sys.path[0] = folder


def _refuse(target: str) -> None:
    """Say what is wrong with what is no script."""
    if INTERPRETER.fullmatch(Path(target).name):
        msg = f"{target} is no script; pytscope run is Python itself"
        raise UsageError(msg, hint="Leave it out: pytscope run -- train.py")
    if not Path(target).exists():
        launcher = target == "torchrun"
        msg = f"there is no script at {target}"
        raise UsageError(msg, hint=TORCHRUN if launcher else "A module is run by its name with -m.")


def _execute(path: str, main: ModuleType) -> None:
    loader = SourceFileLoader("__main__", path)
    main.__dict__.update(__file__=path, __loader__=loader, __cached__=None, __annotations__={})
    exec(compile(loader.get_data(path), path, "exec", dont_inherit=True), main.__dict__)  # noqa: S102  # the user's own script


def _as_main(module: str, *, alter_argv: bool) -> None:
    """What `python -m` does."""
    if alter_argv:
        sys.argv[0] = "-m"
    run: Any = runpy._run_module_as_main  # type: ignore[attr-defined]  # noqa: SLF001  # public only as -m
    run(module, alter_argv)


def _hide_callers() -> None:
    """Have an exception that ends the process shown without the frames above the script."""
    shown = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        below = below_here(trace)
        shown(kind, error.with_traceback(below), below)

    sys.excepthook = hook


def below_here(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback below this module's frames."""
    below = trace
    while trace is not None:
        if trace.tb_frame.f_globals is globals():
            below = trace.tb_next
        trace = trace.tb_next
    return below
