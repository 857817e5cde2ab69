"""Evaluations outside of training: `evaluate` and `predict` of a Trainer that is recorded.

No event tells when one begins, so the methods of its class tell, as long as the Trainer
is there. Other Trainers of the class, copies of this one too, go straight through.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from pytscope.recording.harmless import harmless
from pytscope_hf.seams import over
from pytscope_torch.seams import Undo, together

METHODS = ("evaluate", "predict")
Record = Callable[[Any, str, Callable[[], Any]], Any]

_watched: set[int] = set()
"""Identities of the Trainers: by them no Trainer is kept alive, nor pickled with its class."""


def watch(trainer: Any, record: Record) -> None:
    """Have the methods of a Trainer that evaluate be recorded, until it is gone.

    Args:
        trainer: The Trainer, or None.
        record: Called in place of a method, with the Trainer, the method's name and its call.
    """
    me = id(trainer)
    if trainer is None or me in _watched:
        return
    with harmless("getting ready to record evaluations"):
        undo: list[Undo] = [partial(_watched.discard, me)]
        weakref.finalize(trainer, together(undo)).atexit = False
        _watched.add(me)
        for name in METHODS:
            undo += over(type(trainer), name, partial(_telling, me, name, record))


def _telling(me: int, name: str, record: Record, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        if id(self) != me:
            return method(self, *args, **kwargs)
        return record(self, name, partial(method, self, *args, **kwargs))

    return watched
