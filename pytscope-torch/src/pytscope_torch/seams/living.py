"""Objects that are alive, found without any other thread noticing."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from itertools import chain, compress
from typing import Any


def kinds_of(base: type) -> set[type]:
    """A class and all that derive from it."""
    return set(_derived(base))


def _derived(base: type) -> Iterator[type]:
    yield base
    kinds: list[type] = type.__subclasses__(base)
    for kind in kinds:
        yield from _derived(kind)


def living(kinds: set[type]) -> list[Any]:
    """Every object of some classes that the garbage collector knows.

    Whoever holds a tuple that another thread is still filling makes that thread
    fail. So one call into C, that of `list`, asks for all objects and lets go of
    those of other classes: no other thread runs meanwhile, and no collection.

    Args:
        kinds: The very classes; not those that derive from them.

    Returns:
        The objects; none where threads run at the same time.
    """
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return []
    objects: list[Any] = []
    collecting = gc.isenabled()
    gc.disable()
    try:
        asked = map(objects.extend, map(gc.get_objects, (None,)))
        found = compress(objects, map(kinds.__contains__, map(type, objects)))
        forgotten = map(objects.__delitem__, (slice(None),))
        return list(chain(asked, found, forgotten))[1:-1]
    finally:
        if collecting:
            gc.enable()
