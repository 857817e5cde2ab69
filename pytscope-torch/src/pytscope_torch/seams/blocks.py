"""Functions that are a block as a whole: checkpoints, transfers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from pytscope.recording.keys import Open
from pytscope_torch.seams import Undo, put, together
from pytscope_torch.seams.frames import pass_over
from pytscope_torch.seams.late import Late
from pytscope_torch.stamps import CHECKPOINT, H2D, Stamps

SAVES = ("save", "async_save")


def checkpoints(stamps: Stamps, late: Late) -> Undo:
    """Stamp `torch.save`, and the distributed checkpoints once a program has loaded them."""

    def saves(module: Any) -> Undo:
        found = ((name, getattr(module, name)) for name in SAVES)
        return together([put(module, name, block(stamps, CHECKPOINT, f)) for name, f in found])

    late.want("torch.distributed.checkpoint", SAVES, saves)
    return put(torch, "save", block(stamps, CHECKPOINT, torch.save))


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
