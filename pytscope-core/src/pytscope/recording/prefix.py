"""Finding step ends in the live event list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytscope.recording.keys import CLOSED, DROPPED, END, FAIL, FINISH, Key, Open, Sample, is_value

TYPES = frozenset((str, Key, Open, Sample))


def ready_length(events: list[Any], *, closing: bool = False) -> int:
    """Length of the prefix that ends with the last step end and the values after it.

    Args:
        events: The live event list; it may grow meanwhile.
        closing: Whether nothing more will come, so that an iterator closed at
            the very end is a step end.

    Returns:
        An even number of entries; 0 when no step has ended.
    """
    size = len(events) // 2 * 2
    follows: object = None
    for i in range(size - 2, -1, -2):
        key = events[i]
        closed = key is CLOSED and follows is not FAIL and (closing or follows is not None)
        if key is END or key is DROPPED or closed:
            cut = i + 2
            while cut < size and is_value(events[cut]):
                cut += 2
            return cut
        if not is_value(key):
            follows = key
    return 0


def decided_length(events: list[Any]) -> int:
    """Length of the prefix before a closed iterator of which nothing tells yet what it was."""
    size = len(events) // 2 * 2
    i = size - 2
    while i >= 0 and is_value(events[i]):
        i -= 2
    return i if i >= 0 and events[i] is CLOSED else size


def orphan(events: list[Any]) -> int | None:
    """Place of a key without its value, as an interrupt between two appends leaves it."""
    for i in range(0, len(events) - 1, 2):
        if isinstance(events[i + 1], (str, Key)):
            return i
    return None


def whole(events: list[Any]) -> list[Any]:
    """The events without orphans; the same list when there are none."""
    if TYPES.isdisjoint(map(type, events[1::2])):
        return events
    events = list(events)
    while (lost := orphan(events)) is not None:
        del events[lost]
    return events


def settled(keys: list[Any]) -> list[Any]:
    """Keys with every closed iterator decided, and every odd phase name made a string.

    A closed iterator is a step end, unless a failure follows and cancels it.
    """
    if not TYPES.issuperset(map(type, keys)):
        keys = [key if isinstance(key, Key) else str(key) for key in keys]
    if CLOSED not in keys:
        return keys
    out = list(keys)
    follows: object = None
    for i in range(len(keys) - 1, -1, -1):
        if keys[i] is CLOSED:
            out[i] = FINISH if follows is FAIL else END
        if not is_value(keys[i]):
            follows = keys[i]
    return out


def step_ends(keys: list[Any]) -> Iterator[tuple[int, int]]:
    """Places of the step ends, each with where its step's values end."""
    for i, key in enumerate(keys):
        if key is END:
            stop = i + 1
            while stop < len(keys) and is_value(keys[stop]):
                stop += 1
            yield i, stop
