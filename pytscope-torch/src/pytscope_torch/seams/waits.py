"""Where a rank waits for others inside its passes: all-reduces of DDP, collectives, `Work.wait`.

DDP all-reduces gradients while the backward pass goes on and waits for them at
its end, in C++. `Reducer.prepare_for_backward`, which every forward pass with
synchronisation calls, tells that a backward pass will wait; a callback queued
with the autograd engine before DDP's own tells when all gradients of this rank
are there. No communication hook is registered, so buckets, overlap
and numerics are DDP's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from pytscope.recording.harmless import harmless
from pytscope_torch.quietly import quietly
from pytscope_torch.seams import Undo, put, together
from pytscope_torch.seams.frames import keep_out, pass_over
from pytscope_torch.stamps import COMM, Stamps

BROADCAST = "_broadcast_coalesced"
"""What DDP sends its buffers with, in a forward pass."""


def waits(stamps: Stamps) -> Undo:
    """Stamp what blocks a rank inside of forward, backward and optimizer, as `comm`."""
    if not torch.distributed.is_available():
        return together([])
    from torch.distributed import Reducer, Work  # there only where it is available

    package = torch.distributed
    broadcast = getattr(package, BROADCAST)
    prepare = "prepare_for_backward"
    return together(
        [
            put(package, BROADCAST, waiting(stamps, broadcast)),
            put(Work, "wait", waiting(stamps, Work.wait)),
            put(Reducer, prepare, Reductions(stamps).preparing(getattr(Reducer, prepare))),
        ]
    )


def waiting(stamps: Stamps, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that blocks until others come, wherever it is called.

    One that is called with `async_op=True` only starts something.
    """
    compiling = torch.compiler.is_dynamo_compiling

    @functools.wraps(function)
    def stamped(*args: Any, **kwargs: Any) -> Any:
        if compiling() or stamps.waiting or kwargs.get("async_op") or not stamps.here():
            return function(*args, **kwargs)
        inside, stamps.inside = stamps.inside, True
        try:
            _begun(stamps)
            return function(*args, **kwargs)
        finally:
            _over(stamps)
            stamps.inside = inside

    pass_over(stamped)
    return stamped


class Reductions:
    """The backward passes that DDP ends by waiting for the gradients of the other ranks.

    Nobody tells which passes those are. As many are expected as there are models
    that have been prepared for one, and any further one of the same step, as a
    model may have several losses. In a pass that does not wait after all, `comm`
    is what the engine's callback takes.

    Args:
        stamps: Where to.
    """

    __slots__ = ("_passes", "_prepared", "_stamps", "_step")

    def __init__(self, stamps: Stamps) -> None:
        self._stamps = stamps
        self._prepared: set[int] = set()
        self._passes = 0
        self._step = 0

    def preparing(self, prepare: Callable[..., Any]) -> Callable[..., Any]:
        """`Reducer.prepare_for_backward`: a backward pass to come will wait."""
        stamps = self._stamps
        compiling = torch.compiler.is_dynamo_compiling

        @functools.wraps(prepare)
        def prepared(reducer: Any, *args: Any, **kwargs: Any) -> Any:
            if not compiling() and stamps.here():
                if self._passes >= len(self._prepared):
                    self._forget()
                self._prepared.add(id(reducer))
                self._step = stamps.steps
                stamps.reduced = self.run
            return prepare(reducer, *args, **kwargs)

        pass_over(prepared)
        return prepared

    def run(self, backward: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Run a backward pass; the wait at its end is `comm`.

        Args:
            backward: `torch.autograd.backward`.
            args: Its arguments.
            kwargs: Its arguments by name.
        """
        stamps = self._stamps
        if self._passes >= len(self._prepared) and self._step != stamps.steps:
            self._forget()
            return backward(*args, **kwargs)
        hook = self._hooked(args[0] if args else kwargs.get("tensors"))
        try:
            return backward(*args, **kwargs)
        finally:
            if hook is not None:
                hook.remove()
            if stamps.waiting:
                _over(stamps)

    def _forget(self) -> None:
        self._prepared.clear()
        self._passes = 0
        self._stamps.reduced = None

    def _hooked(self, tensors: Any) -> Any:
        """Be told when the pass begins that goes back from these tensors; the hook, to remove."""
        self._passes += 1
        hook = None
        with harmless("looking where a backward pass begins"), quietly():
            root = root_of(tensors)
            if root is not None:
                hook = root.register_prehook(self._started)
        return hook

    def _started(self, *_: Any) -> None:
        """A pass begins: queue first, ahead of DDP."""
        with harmless("waiting for the other ranks"):
            torch.autograd.Variable._execution_engine.queue_callback(self._ready)  # noqa: SLF001  # FSDP's way, too

    def _ready(self) -> None:
        """This rank's gradients are there; DDP waits next."""
        _begun(self._stamps)


def _begun(stamps: Stamps) -> None:
    stamps.waiting = True
    stamps.open(COMM)
    if stamps.device is not None:
        stamps.device.open()


def _over(stamps: Stamps) -> None:
    if stamps.device is not None:
        stamps.device.close()
    stamps.close()
    stamps.waiting = False


def root_of(tensors: Any) -> Any:
    """Where a backward pass begins: the node of the first tensor that has one.

    Anything but a tensor, a list and a tuple is left alone: looking may use it up.
    """
    found = tensors if isinstance(tensors, list | tuple) else (tensors,)
    return next((node for t in found if (node := getattr(t, "grad_fn", None)) is not None), None)


pass_over(Reductions.run)
keep_out(Reductions._forget, Reductions._hooked, Reductions._started, Reductions._ready)  # noqa: SLF001  # this module's
keep_out(_begun, _over)
