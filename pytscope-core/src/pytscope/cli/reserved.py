"""Standard output for the report alone, from the moment plugins are loaded.

The guard sends what plugins print to standard error while it calls them. This
catches the rest: what their threads, child processes and exit functions write.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from typing import NoReturn

import click

from pytscope.cli.output import reserve, say

PATIENCE_S = 3.0
"""Seconds that threads have to end after the command has."""

PROGRAM = "the command is the whole process"
"""Object of the root context where that is so, and not a call from other code."""


def reserve_stdout() -> None:
    """Keep standard output to the report; what others write to it goes to standard error."""
    context = click.get_current_context(silent=True)
    own = sys.stdout
    if context is None or context.find_root().obj is not PROGRAM or own is not sys.__stdout__:
        return
    if own is None:  # `>&-` leaves none
        return
    own.flush()
    descriptor = own.fileno()
    reserve(os.fdopen(os.dup(descriptor), "w", encoding=own.encoding, errors=own.errors))
    aside = os.open(os.devnull, os.O_WRONLY) if sys.stderr is None else sys.stderr.fileno()
    os.dup2(aside, descriptor)
    sys.stdout = sys.stderr if sys.stderr is not None else own


def end_soon(code: int) -> None:
    """See to it that the process ends, also when threads that plugins left behind do not.

    Args:
        code: Exit code of the process.
    """
    others = [t for t in threading.enumerate() if t is not threading.current_thread()]
    left = [t.name for t in others if not t.daemon]
    if not left and others:
        _leave(code)
    elif left:
        timer = threading.Timer(PATIENCE_S, _end, (code, left))
        timer.daemon = True
        timer.start()


def _leave(code: int) -> NoReturn:
    """End at once: a daemon thread at work while the interpreter is taken down can crash it."""
    atexit._run_exitfuncs()  # noqa: SLF001  # what the interpreter would call
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    os._exit(code)


def _end(code: int, left: list[str]) -> None:
    say(f"warning: threads that a plugin started do not end ({', '.join(left)}); ended without")
    os._exit(code)
