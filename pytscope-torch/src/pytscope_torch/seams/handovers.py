"""Batches that accelerate's loaders give: they fetch one ahead, to know which is the last."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any

from pytscope.recording.harmless import tried
from pytscope_torch.arriving import Arrival
from pytscope_torch.seams import Undo, put, together
from pytscope_torch.seams.frames import pass_over

if TYPE_CHECKING:
    from pytscope_torch.fingerprint import Fetched, Fingerprints

MODULE = "accelerate.data_loader"
KINDS = {"DataLoaderShard": False, "DataLoaderDispatcher": True}
"""Loaders, and whether what they give is none of what they fetch: parts of it, of all ranks."""


def handovers(fingerprints: Fingerprints) -> Undo:
    """Have accelerate's loaders tell which batch they give, from their import on.

    Args:
        fingerprints: Of the batches.
    """
    put_in: list[Undo] = []

    def arrived() -> None:
        for name, parts in KINDS.items():
            kind = getattr(sys.modules[MODULE], name, None)
            make = vars(kind).get("__iter__") if kind is not None else None
            if make is not None:
                put_in.append(put(kind, "__iter__", _making(make, fingerprints, parts=parts)))

    arrival = Arrival(MODULE, lambda: tried(arrived, lambda _: None))
    arrival.wait()
    put_in.append(arrival.withdraw)
    return together(put_in)


def _making(make: Any, fingerprints: Fingerprints, *, parts: bool) -> Callable[[Any], Any]:
    @functools.wraps(make)
    def __iter__(self: Any) -> Any:  # noqa: N807  # the name in tracebacks
        return _handing_over(make(self), self, fingerprints, parts=parts)

    pass_over(__iter__)
    return __iter__


def _handing_over(
    made: Any, loader: Any, fingerprints: Fingerprints, *, parts: bool
) -> Generator[Any, None, None]:
    kept: list[Fetched] = []
    try:
        while True:
            over = tried(lambda: fingerprints.ahead(kept), lambda _: None)
            try:
                batch = next(made)
            except StopIteration:
                return
            finally:
                if over is not None:
                    over()
            if parts:
                kept.clear()
                own = partial(fingerprints.give_itself, batch, id(made))
                tried(own, lambda _: None)
                del own
            else:
                tried(lambda: _give(fingerprints, kept, loader), lambda _: None)
            yield batch
            del batch  # while the next one is fetched, it need not be there
    finally:
        made.close()


def _give(fingerprints: Fingerprints, kept: list[Fetched], loader: Any) -> None:
    """Of what a loader has fetched the one before the last, or at its end the last; no other."""
    place = len(kept) - (1 if loader.end_of_dataloader else 2)
    if place >= 0:
        fingerprints.give(kept[place : place + 1])
        del kept[: place + 1]
