"""Evaluations outside of training: `evaluate` and `predict` of a Trainer that is recorded.

No event tells when one begins, so those two methods are taken over, as attributes of
the one Trainer. Copied or pickled with it, they turn into the methods again.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from pytscope.recording.harmless import harmless

METHODS = ("evaluate", "predict")
TOLD = ("__name__", "__qualname__", "__self__", "__func__")
Record = Callable[[Any, str, Callable[..., Any]], Any]


class Watched:
    """Stands in front of a method of a Trainer, which it does not keep alive.

    Args:
        trainer: The Trainer.
        name: The method's name.
        record: Called in its place, with the Trainer, its name and the method's call.
    """

    __slots__ = ("__weakref__", "_name", "_record", "_trainer")

    def __init__(self, trainer: Any, name: str, record: Record) -> None:
        self._trainer = weakref.ref(trainer)
        self._name = name
        self._record = record

    @property
    def __wrapped__(self) -> Any:
        """The method."""
        trainer = self._trainer()
        return getattr(type(trainer), self._name).__get__(trainer)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The method's call."""
        call = partial(self.__wrapped__, *args, **kwargs)
        return self._record(self._trainer(), self._name, call)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and name not in TOLD:  # not set yet in a copy; the object's own
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self.__wrapped__, memo)

    def __reduce__(self) -> tuple[Any, ...]:
        """The method itself, of the object that is pickled along."""
        return getattr, (self._trainer(), self._name)


def watch(trainer: Any, record: Record) -> None:
    """Take over the methods of a Trainer that evaluate, once.

    Args:
        trainer: The Trainer, or None.
        record: As for `Watched`.
    """
    if trainer is None:
        return
    with harmless("getting ready to record evaluations"):
        for name in METHODS:
            if name not in vars(trainer):  # nor somebody else's own
                setattr(trainer, name, Watched(trainer, name, record))
