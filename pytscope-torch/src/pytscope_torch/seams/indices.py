"""Which samples a batch is made of: the numbers that a sampler drew for it.

A loader with workers draws them for some batches ahead, so they wait here until
their batch has come. Where samples have no numbers, as in an iterable data set,
nothing is known.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from torch.utils.data import dataloader as _module

from pytscope.recording.harmless import tried
from pytscope_torch.seams import Undo, put, together
from pytscope_torch.seams.frames import pass_over

NAME = "_next_index"
AHEAD = 4096
"""Batches for which numbers may wait."""


class Indices:
    """The numbers of samples whose batches are still to come, for each loader's iterator."""

    def __init__(self) -> None:
        self._drawn: WeakKeyDictionary[Any, dict[int, Any]] = WeakKeyDictionary()

    def drawn(self, iterator: Any, index: Any) -> None:
        """A sampler has drawn the numbers of a batch.

        Args:
            iterator: The loader's iterator.
            index: The numbers; of an iterable data set, None.
        """
        if index is None or not getattr(iterator, "_in_order", True):
            return
        waiting = self._drawn.setdefault(iterator, {})
        if len(waiting) >= AHEAD:  # nobody takes them: batches are fetched in another thread
            waiting.clear()
        waiting[getattr(iterator, "_send_idx", 0)] = index

    def taken(self, iterator: Any) -> bytes | None:
        """The numbers of the batch that an iterator has just given, as bytes; None when unknown."""
        waiting = self._drawn.get(iterator)
        if not waiting:
            return None
        index = waiting.pop(getattr(iterator, "_rcvd_idx", 1) - 1, None)
        return None if index is None else tried(lambda: packed(index), lambda _: None)


def packed(index: Any) -> bytes:
    """Numbers of samples, one or several, as bytes.

    Raises:
        TypeError: They are no whole numbers.
    """
    return array("q", index if isinstance(index, (list, tuple)) else [index]).tobytes()


def draws(drawn: Callable[[Any, Any], None]) -> Undo:
    """Have every draw of a loader's sampler told, wherever PyTorch has the place for it.

    Args:
        drawn: Called with the loader's iterator and the numbers.
    """
    base = _module._BaseDataLoaderIter  # noqa: SLF001  # the one class of its iterators
    draw = vars(base).get(NAME)
    if draw is None:
        return together([])

    @functools.wraps(draw)
    def _next_index(self: Any) -> Any:
        index = draw(self)
        tried(lambda: drawn(self, index), lambda _: None)
        return index

    pass_over(_next_index)
    return put(base, NAME, _next_index)
