"""Fetches: the iterators of `torch.utils.data.DataLoader`, their making and each next batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch.utils.data import DataLoader
from torch.utils.data import dataloader as _module

from pytscope.recording.keys import CLOSE, FETCH
from pytscope_torch.seams import Undo, put, together
from pytscope_torch.seams.frames import pass_over
from pytscope_torch.stamps import CREATE, Stamps


def fetches(
    stamps: Stamps,
    before: Callable[[], None],
    made: Callable[[Any, int], None],
    fetched: Callable[[Any, Any], None] | None = None,
) -> Undo:
    """Stamp the fetches of every `DataLoader`; the iterators stay the loader's own.

    Args:
        stamps: Where to.
        before: Called before a fetch that comes in an optimizer's step.
        made: Called with each loader of which an iterator was made, and how many steps
            had ended.
        fetched: Called with each batch and the iterator it is from, or None.
    """
    base = _module._BaseDataLoaderIter  # noqa: SLF001  # the one class of its iterators
    undo = [
        put(DataLoader, "__iter__", _making(stamps, DataLoader.__iter__, made)),
        put(base, "__next__", _fetching(stamps, before, base.__next__, fetched)),
    ]
    if "next" in vars(base):
        undo.append(put(base, "next", base.__next__))

    return together(undo)


def _making(stamps: Stamps, make: Any, made: Callable[[Any, int], None]) -> Any:
    @functools.wraps(make)
    def __iter__(self: Any) -> Any:  # noqa: N807  # the name in tracebacks
        if stamps.inside or not stamps.here():
            return make(self)
        try:
            stamps.fetch(CREATE)
            iterator = make(self)
        finally:
            stamps.close()
        made(self, stamps.steps)
        return iterator

    pass_over(__iter__)
    return __iter__


def _fetching(
    stamps: Stamps,
    before: Callable[[], None],
    fetch: Any,
    fetched: Callable[[Any, Any], None] | None,
) -> Any:
    @functools.wraps(fetch)
    def __next__(self: Any) -> Any:  # noqa: N807  # as above
        if not stamps.here():
            return _elsewhere(stamps, fetch, self)
        if stamps.inside:
            return fetch(self)
        try:
            if stamps.stepping:
                before()
            stamps.fetched = True
            reading, events = stamps.reading, stamps.events
            now = reading()
            events.append(FETCH)
            events.append(now)
            batch = fetch(self)
        except BaseException:
            stamps.exhausted()
            raise
        now = reading()
        events.append(CLOSE)
        events.append(now)
        if fetched is not None:
            fetched(batch, self)
        return batch

    pass_over(__next__)
    return __next__


def _elsewhere(stamps: Stamps, fetch: Any, iterator: Any) -> Any:
    since = stamps.now()
    try:
        return fetch(iterator)
    finally:
        stamps.span(FETCH, since)
