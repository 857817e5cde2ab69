"""The end of a backward pass under DDP, where a rank waits for the others' gradients.

DDP all-reduces gradients while the backward pass goes on and waits for them at
its end, in C++. `Reducer.prepare_for_backward`, which every forward pass with
synchronisation calls, tells that a backward pass will wait; a callback queued
with the autograd engine before DDP's own tells when all gradients of this rank
are there. No communication hook is registered, so buckets, overlap
and numerics are DDP's own.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.autograd.graph import GradientEdge
from torch.overrides import has_torch_function_unary as noticed

from pytscope.recording.harmless import forgiven
from pytscope_torch.quietly import quietly
from pytscope_torch.seams import Undo, put
from pytscope_torch.seams.frames import keep_out, pass_over
from pytscope_torch.stamps import COMM, Stamps

PREPARE = "prepare_for_backward"
FAULTS = (AttributeError, RuntimeError, TypeError)
"""What a node without hooks, or an engine that takes no callback, raises."""


def reductions(stamps: Stamps) -> Undo:
    """Stamp where DDP waits at the end of backward passes, as `comm`."""
    from torch.distributed import Reducer  # there only where it is available

    found = Reductions(stamps)
    undo = put(Reducer, PREPARE, found.preparing(getattr(Reducer, PREPARE)))

    def take_out() -> None:
        undo()
        found.stop()

    return take_out


class Reductions:
    """The backward passes that DDP ends by waiting for the gradients of the other ranks.

    Nobody tells which passes those are. As many are expected as there are models
    that have been prepared for one, and any further one of the same step, as a
    model may have several losses. In a pass that does not wait after all, `comm`
    is what the engine's callback takes.

    Args:
        stamps: Where to.
    """

    __slots__ = ("_hooked", "_hooks", "_passes", "_prepared", "_queue", "_stamps", "_step")

    def __init__(self, stamps: Stamps) -> None:
        self._stamps = stamps
        self._prepared: set[int] = set()
        self._passes = 0
        self._step = 0
        self._queue = torch.autograd.Variable._execution_engine.queue_callback  # noqa: SLF001  # FSDP's way, too
        self._hooks = OrderedDict({0: self._started})
        with quietly():
            self._hooked = torch.empty(0, device="cpu")
            self._hooked._backward_hooks = self._hooks  # noqa: SLF001  # see `_expect`

    def preparing(self, prepare: Any) -> Callable[..., Any]:
        """`Reducer.prepare_for_backward`: a backward pass to come will wait."""
        stamps, prepared_for, expect = self._stamps, self._prepared, self._expect
        compiling = torch.compiler.is_dynamo_compiling
        plain = getattr(prepare, "__func__", prepare)  # quicker to call than what is around it

        @functools.wraps(prepare)
        def prepared(reducer: Any, outputs: Any, /) -> Any:
            if not compiling() and stamps.here():
                if self._passes >= len(prepared_for):
                    self._passes = 0
                    prepared_for.clear()
                prepared_for.add(id(reducer))
                self._step = stamps.steps
                stamps.reduced = expect
            return plain(reducer, outputs)

        pass_over(prepared)
        return prepared

    def stop(self) -> None:
        """Have graphs that are kept call nothing of this any more."""
        self._hooks.clear()

    def _expect(self, tensors: Any) -> None:
        """A backward pass from these tensors is about to begin: be told when it has.

        Each node that it may begin at gets a tensor's dictionary of hooks. That is one call;
        a hook's handle, and its removal, take ten times as long.
        """
        stamps = self._stamps
        if self._passes >= len(self._prepared) and self._step != stamps.steps:
            self._prepared.clear()
            self._passes = 0
            stamps.reduced = None
            return
        self._passes += 1
        stamps.awaited = True
        try:
            if isinstance(tensors, torch.Tensor) and not noticed(tensors):
                node = tensors.grad_fn
                if node is not None:
                    node._register_hook_dict(self._hooked)  # noqa: SLF001  # as `Tensor.register_hook` does
            else:
                self._expect_quietly(tensors)
        except FAULTS as error:
            forgiven("looking where a backward pass begins", error)

    def _expect_quietly(self, tensors: Any) -> None:
        """The same, of what modes and classes of the program would hear of, and of several."""
        with quietly():
            for node in roots_of(tensors):
                node._register_hook_dict(self._hooked)  # noqa: SLF001  # as above

    def _started(self, _: Any) -> None:
        """The pass has begun: queue first, ahead of DDP."""
        stamps = self._stamps
        if stamps.awaited:  # not by another node, nor in a later pass over a graph that was kept
            stamps.awaited = False
            try:
                self._queue(self._ready)
            except FAULTS as error:
                forgiven("waiting for the other ranks", error)

    def _ready(self) -> None:
        """This rank's gradients are there; DDP waits next."""
        stamps = self._stamps
        reading, events = stamps.reading, stamps.events
        stamps.waiting = True
        now = reading()
        events.append(COMM)
        events.append(now)
        if stamps.device is not None:
            stamps.device.open()


def roots_of(tensors: Any) -> Iterator[Any]:
    """The nodes where a backward pass may begin, of tensors and of edges of the graph.

    Anything but a tensor, an edge, a list and a tuple is left alone: looking may use it up.
    """
    several = isinstance(tensors, list | tuple) and not isinstance(tensors, GradientEdge)
    for root in tensors if several else (tensors,):
        edge = isinstance(root, GradientEdge)
        node = root.node if edge else getattr(root, "grad_fn", None)
        if node is not None:
            yield node


keep_out(Reductions._expect, Reductions._started, Reductions._ready)  # noqa: SLF001  # this module's
