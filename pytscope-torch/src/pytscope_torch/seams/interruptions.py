"""What interrupts a phase: garbage collection and compilation, as blocks inside it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from typing import Any

from pytscope_torch.seams import Undo
from pytscope_torch.stamps import COMPILE, GC, Stamps

COMPILER = "torch._dynamo.callback"
"""The module that tells of compilations, once there is one."""
SHORTEST_NS = 50_000
"""Collections shorter than this stay part of the phase they interrupt."""


def collections(stamps: Stamps) -> Undo:
    """Stamp garbage collections that take long enough to matter."""
    since = 0

    def on_collection(phase: str, _info: Mapping[str, Any]) -> None:
        nonlocal since
        if not stamps.here():
            return
        if phase == "start":
            since = stamps.now()
        elif since and stamps.now() - since >= SHORTEST_NS:
            stamps.block(GC, since)

    gc.callbacks.append(on_collection)

    def undo() -> None:
        if on_collection in gc.callbacks:
            gc.callbacks.remove(on_collection)

    return undo


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
