"""A sign of life on a terminal's standard error while something takes its time."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from pytscope.cli.terminal import Terminal
from pytscope.model.escaping import visible

AFTER_S = 1.0
"""Seconds of silence before anything is shown."""
_LONGEST_NAME = 60


@contextmanager
def reading(path: str, after_s: float = AFTER_S) -> Iterator[None]:
    """Show that a run is being read, when that takes long and somebody watches.

    Nothing is shown when standard error is no terminal, or a dumb one; what
    was shown is gone at the end.

    Args:
        path: The run.
        after_s: Seconds before anything is shown.
    """
    stream = sys.stderr
    terminal = Terminal.of(stream, os.environ)
    if not terminal.interactive or terminal.dumb:
        yield
        return
    name = path if len(path) <= _LONGEST_NAME else f"...{path[-_LONGEST_NAME:]}"
    sign = _Sign(f"reading {visible(name)}", stream, terminal)
    timer = threading.Timer(after_s, sign.show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        sign.hide()


class _Sign:
    """A spinner with the seconds that have passed, made by the thread of a timer."""

    def __init__(self, text: str, stream: TextIO, terminal: Terminal) -> None:
        self._text = text
        self._stream = stream
        self._terminal = terminal
        self._lock = threading.Lock()
        self._over = False
        self._shown: Any = None

    def show(self) -> None:
        """Show it, unless it is over already."""
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        colored = "256" if self._terminal.color("auto") else None
        with self._lock:
            if self._over:
                return
            console = Console(
                file=self._stream,
                color_system=colored,  # type: ignore[arg-type]  # one of rich's literals
                force_terminal=True,
                highlight=False,
                emoji=False,
                markup=False,
                legacy_windows=False,
            )
            self._shown = Progress(
                SpinnerColumn("dots" if self._terminal.unicode else "line"),
                TextColumn("{task.description}", markup=False),
                TimeElapsedColumn(),
                console=console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._shown.add_task(self._text, total=None)
            self._shown.start()

    def hide(self) -> None:
        """Take it away, and never show it again."""
        with self._lock:
            self._over = True
            if self._shown is not None:
                self._shown.stop()
