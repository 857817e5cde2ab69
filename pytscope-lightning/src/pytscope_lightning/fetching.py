"""Batches that Lightning's fetchers give: of a loader without a length they fetch one ahead."""

from __future__ import annotations

import functools
import sys
from collections import deque
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from pytscope.recording.harmless import tried
from pytscope_torch.fingerprint import Fetched, Fingerprints
from pytscope_torch.seams import Undo, put

NEXT = "__next__"


def fetchers(trainer: Any, fingerprints: Fingerprints, undo: list[Undo]) -> None:
    """Have fetchers tell which batch they give.

    Args:
        trainer: A Trainer of the framework whose fetchers are meant.
        fingerprints: Of the batches.
        undo: Takes what puts everything back.
    """
    package = type(trainer.fit_loop).__module__.rpartition(".")[0]
    module = sys.modules.get(f"{package}.fetchers")
    every, ahead = (getattr(module, f"_{kind}DataFetcher", None) for kind in ("", "Prefetch"))
    if every is None or ahead is None or not (NEXT in vars(every) and NEXT in vars(ahead)):
        return
    waiting: WeakKeyDictionary[Any, deque[list[Fetched]]] = WeakKeyDictionary()

    def came(fetcher: Any, kept: list[Fetched]) -> None:
        if isinstance(fetcher, ahead):
            waiting.setdefault(fetcher, deque()).append(kept)
        else:
            fingerprints.give(kept)

    def given(fetcher: Any) -> None:
        fingerprints.give(waiting[fetcher].popleft())

    undo.append(put(every, NEXT, _fetching(vars(every)[NEXT], fingerprints, came)))
    undo.append(put(ahead, NEXT, _giving(vars(ahead)[NEXT], given)))


def _fetching(
    method: Any, fingerprints: Fingerprints, came: Callable[[Any, list[Fetched]], None]
) -> Callable[[Any], Any]:
    @functools.wraps(method)
    def __next__(self: Any) -> Any:  # noqa: N807  # the name in tracebacks
        kept: list[Fetched] = []
        over = tried(lambda: fingerprints.ahead(kept), lambda _: None)
        try:
            batch = method(self)
        finally:
            if over is not None:
                over()
        tried(lambda: came(self, kept), lambda _: None)
        return batch

    return __next__


def _giving(method: Any, given: Callable[[Any], None]) -> Callable[[Any], Any]:
    @functools.wraps(method)
    def __next__(self: Any) -> Any:  # noqa: N807  # as above
        batch = method(self)
        tried(lambda: given(self), lambda _: None)
        return batch

    return __next__
