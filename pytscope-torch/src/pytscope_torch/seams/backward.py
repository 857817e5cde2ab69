"""Backward passes: `torch.autograd.backward`, which `Tensor.backward` calls, and `grad`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from pytscope.recording.keys import CLOSE
from pytscope_torch.seams import Undo, put, together
from pytscope_torch.seams.frames import pass_over
from pytscope_torch.stamps import BACKWARD, Stamps


def backward_passes(stamps: Stamps, after: Callable[[], None]) -> Undo:
    """Stamp both edges of backward passes.

    Args:
        stamps: Where to.
        after: Called after each in which an optimizer stepped.
    """
    undo = [
        put(torch.autograd, name, _timed(stamps, getattr(torch.autograd, name), after))
        for name in ("backward", "grad")
    ]

    return together(undo)


def _timed(
    stamps: Stamps, engine: Callable[..., Any], after: Callable[[], None]
) -> Callable[..., Any]:
    compiling = torch.compiler.is_dynamo_compiling
    gathers = engine.__name__ == "backward"  # `grad` returns gradients: none is all-reduced

    @functools.wraps(engine)
    def stamped(*args: Any, **kwargs: Any) -> Any:
        if compiling() or stamps.inside or stamps.compiling or not stamps.here():
            return engine(*args, **kwargs)
        stamps.inside = True
        reading, events = stamps.reading, stamps.events
        try:
            now = reading()
            events.append(BACKWARD)
            events.append(now)
            if gathers and stamps.reduced is not None:
                stamps.reduced(args[0] if args else kwargs.get("tensors"))
            out = engine(*args, **kwargs)
        except BaseException:
            if stamps.waiting:
                stamps.release()
            stamps.broke()
            raise
        else:
            if stamps.waiting:
                stamps.release()
            now = reading()
            events.append(CLOSE)
            events.append(now)
        finally:
            stamps.inside = stamps.awaited = False
        if stamps.owed:
            after()
        return out

    pass_over(stamped)
    return stamped
