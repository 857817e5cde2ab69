"""Functions that are a block as a whole: checkpoints, collectives, transfers."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

from pytscope.recording.keys import Open
from pytscope_torch.seams import Undo, put, together
from pytscope_torch.seams.frames import pass_over
from pytscope_torch.seams.waits import waiting
from pytscope_torch.stamps import CHECKPOINT, H2D, Stamps

COLLECTIVES = (
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "gather",
    "gather_object",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "scatter",
    "scatter_object_list",
)
SAVES = ("save", "async_save")


def checkpoints(stamps: Stamps) -> Undo:
    """Stamp `torch.save`, and the distributed checkpoints of a package in use."""
    undo = [put(torch, "save", block(stamps, CHECKPOINT, torch.save))]
    saver = sys.modules.get("torch.distributed.checkpoint")
    if saver is not None:
        undo += [put(saver, n, block(stamps, CHECKPOINT, getattr(saver, n))) for n in SAVES]
    return together(undo)


def collectives(stamps: Stamps) -> Undo:
    """Stamp collectives that the loop waits for; an asynchronous one is only started."""
    if not torch.distributed.is_available():
        return together([])
    package = torch.distributed
    found = [(name, getattr(package, name, None)) for name in COLLECTIVES]
    return together([put(package, n, waiting(stamps, f)) for n, f in found if f is not None])


def transfers(stamps: Stamps) -> Undo:
    """Stamp copies of host tensors to an accelerator: `Tensor.to` and `Tensor.cuda`."""
    return together(
        [
            put(torch.Tensor, name, _transfer(stamps, getattr(torch.Tensor, name)))
            for name in ("to", "cuda")
        ]
    )


def block(stamps: Stamps, key: Open, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as a block of a phase; what it calls of the kind is part of it."""
    compiling = torch.compiler.is_dynamo_compiling

    @functools.wraps(function)
    def stamped(*args: Any, **kwargs: Any) -> Any:
        if compiling() or stamps.inside or not stamps.here():
            return function(*args, **kwargs)
        stamps.inside = True
        try:
            stamps.open(key)
            return function(*args, **kwargs)
        finally:
            stamps.close()
            stamps.inside = False

    pass_over(stamped)
    return stamped


def _transfer(stamps: Stamps, function: Callable[..., Any]) -> Callable[..., Any]:
    compiling = torch.compiler.is_dynamo_compiling

    @functools.wraps(function)
    def stamped(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if compiling() or stamps.inside or not stamps.here() or tensor.device.type != "cpu":
            return function(tensor, *args, **kwargs)
        since = stamps.now()
        moved = function(tensor, *args, **kwargs)
        if moved.device.type != "cpu":
            stamps.block(H2D, since)
        return moved

    pass_over(stamped)
    return stamped
