"""What interrupts a phase: garbage collection and compilation, as blocks inside it."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from operator import getitem
from typing import Any

from pytscope_torch.seams import Undo
from pytscope_torch.stamps import COMPILE, Stamps

COMPILER = "torch._dynamo.callback"
"""The module that tells of compilations, once there is one."""


class _Beginning(map):  # type: ignore[type-arg]  # it takes no arguments when it runs
    """Takes its next value when a collection begins."""

    start = property(None, next)


class _End(map):  # type: ignore[type-arg]  # as above
    """Takes its next value when a collection is over."""

    stop = property(None, next)


def collections(
    clock: Callable[[], int], here: Callable[[], bool], put: Callable[[tuple[Any, ...]], None]
) -> Undo:
    """Put begin and end of each garbage collection, and whether it was made here.

    From the collector on no Python is run. A signal that comes while C code runs, in a
    long import or in `torch.load`, is handled when the next Python function is called.
    Were that a callback of the collector, the exception would be printed and lost, and
    Ctrl-C would not end the training.

    Args:
        clock: The recording's clock.
        here: Tells whether the calling thread is the recording's.
        put: Takes the three.
    """
    latest = deque([clock()], maxlen=1)
    began = iter(partial(getitem, latest, 0), None)
    edges = (
        _Beginning(latest.append, iter(clock, None)),
        _End(put, zip(began, iter(clock, None), iter(here, None), strict=True)),
    )
    callbacks = [partial(setattr, edge) for edge in edges]
    gc.callbacks.extend(callbacks)

    def undo() -> None:
        for callback in callbacks:
            if callback in gc.callbacks:
                gc.callbacks.remove(callback)

    return undo


def compiled_code() -> bool:
    """Whether this process has compiled code."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", {})
    return bool(counters.get("stats", {}).get("unique_graphs"))


class Compilations:
    """Stamps Dynamo's compilations, once Dynamo is in use.

    It is not loaded for it: that takes longer than most first steps.

    Args:
        stamps: Where to.
        blind: Called when the Dynamo in use does not tell when it compiles.

    Attributes:
        wanted: Whether it is still to be attached.
    """

    def __init__(self, stamps: Stamps, blind: Callable[[], None] | None = None) -> None:
        self._stamps = stamps
        self._blind = blind
        self._open = False
        self._handler: Any = None
        self.wanted = True

    def look(self) -> None:
        """Attach when Dynamo has been loaded since."""
        if not self.wanted:
            return
        module = sys.modules.get(COMPILER)
        handler = getattr(module, "callback_handler", None)
        if handler is None:
            return
        self.wanted = False
        if all(hasattr(handler, name) for name in ("register_start_callback", "start_callbacks")):
            handler.register_start_callback(self._start)
            handler.register_end_callback(self._end)
            self._handler = handler
        elif self._blind is not None:
            self._blind()

    def _start(self, *_args: Any) -> None:
        if self._stamps.here() and not self._open:
            self._open = self._stamps.compiling = True
            self._stamps.open(COMPILE)

    def _end(self, *_args: Any) -> None:
        if self._open and self._stamps.here():
            self._open = self._stamps.compiling = False
            self._stamps.close()

    def undo(self) -> None:
        """Detach."""
        self.wanted = False
        if self._handler is not None:
            for callbacks, ours in (
                (self._handler.start_callbacks, self._start),
                (self._handler.end_callbacks, self._end),
            ):
                if ours in callbacks:
                    callbacks.remove(ours)
