"""Finding step ends in the live event list."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pytscope.recording.harmless import tried
from pytscope.recording.keys import (
    BEGIN,
    BROKEN,
    CLOSE,
    CLOSED,
    DROPPED,
    END,
    EXHAUSTED,
    FAIL,
    FETCH,
    FINISH,
    MICRO,
    Key,
    Open,
    Sample,
    is_close,
    is_end,
    is_value,
)
from pytscope.recording.plain import name_of

TYPES = frozenset((str, Key, Open, Sample))
VALUES = frozenset((int, tuple, dict))
"""Types of the values in the event list, none of which a key is of."""
ENDING = (CLOSE, EXHAUSTED, END, MICRO, FAIL, CLOSED)
"""Keys that say something is over, which stays true without a stamp of their own."""
NEAR = 64
"""Keys among which the end of the first step is looked for, when all may be alike."""
FEW = 4
"""Steps from which on it is enough to look at one of them."""


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


def paired(events: list[Any]) -> tuple[list[Any], list[Any]]:
    """The events in whole pairs, and the keys at the end whose value is still to come.

    An interrupt between two appends leaves a key without its value. A key that
    ends something is given the next stamp; any other never took effect.

    Returns:
        The pairs, and what is left.
    """
    size = len(events) // 2 * 2
    if VALUES.issuperset(map(type, _telling(events, size))):
        return events[:size], events[size:]
    out: list[Any] = []
    waiting: list[Any] = []
    i, last = 0, len(events) - 1
    while i < last:
        key, value = events[i], events[i + 1]
        if type(value) not in VALUES:
            waiting += [key] if isinstance(key, Key) and key in ENDING else []
            i += 1
            continue
        if type(value) is int:
            for ended in waiting:
                out += (ended, value)
            waiting = []
        out += (key, value)
        i += 2
    return out, waiting + events[i:]


def unbalanced(keys: list[Any]) -> tuple[int, tuple[str, ...]]:
    """Blocks that keys leave: how many of those open before, and those opened and left open.

    What an interrupt kept open is closed where `Tiling` closes it.
    """
    left = 0
    opened: list[Open] = []
    depth: int | None = None
    for key in keys:
        if isinstance(key, Open):
            opened.append(key)
        elif is_close(key):
            left += not opened
            del opened[-1:]
        elif key is BEGIN or key is MICRO or key is FAIL or is_end(key):
            if depth is not None and (key is FAIL or key is BROKEN):
                del opened[depth:]
            while opened and opened[-1] is FETCH and key is not FAIL:
                del opened[-1]
            depth = len(opened) if key is BEGIN else None
    return left, tuple(block.name for block in opened)


def _telling(events: list[Any], size: int) -> list[Any]:
    """The values that tell whether any is missing: of one step, when all have the same keys.

    A step with a value missing has not as many pairs as the others.
    """
    keys = events[:size:2]
    step = first_step(keys)
    steps = step and len(keys) // step
    if step == 1 or steps < FEW or not alike(keys, step, steps):
        return events[1:size:2]
    return events[1 : 2 * step : 2] + events[2 * step * steps + 1 : size : 2]


def first_step(keys: list[Any]) -> int:
    """Keys up to the first step end and the values after it; 0 when that is not near."""
    if END not in keys[:NEAR]:
        return 0
    stop = keys.index(END) + 1
    while stop < len(keys) and is_value(keys[stop]):
        stop += 1
    return stop


def alike(keys: list[Any], step: int, steps: int) -> bool:
    """Whether so many steps of so many keys follow each other with the same keys."""
    one = keys[:step]
    return TYPES.issuperset(map(type, one)) and keys[: step * steps] == one * steps


def different(keys: list[Any]) -> Collection[Any]:
    """The different ones among many keys, found without looking at each from Python."""
    step = first_step(keys)
    if step and not len(keys) % step and alike(keys, step, len(keys) // step):
        return keys[:step]
    return tried(lambda: set(keys), lambda _: keys)  # a stranger's object may have no hash


def settled(keys: list[Any]) -> list[Any]:
    """Keys with every closed iterator decided, and every odd phase name made a string.

    A closed iterator is a step end, unless a failure follows and cancels it.
    """
    seen = different(keys)
    if not TYPES.issuperset(map(type, seen)):
        seen = keys = [key if isinstance(key, Key) else name_of(key) for key in keys]
    if CLOSED not in seen:
        return keys
    out = list(keys)
    follows: object = None
    for i in range(len(keys) - 1, -1, -1):
        if keys[i] is CLOSED:
            out[i] = FINISH if follows is FAIL else BROKEN
        if not is_value(keys[i]):
            follows = keys[i]
    return out


def given_up(events: list[Any]) -> tuple[int, int, int, tuple[str, ...]]:
    """What has to be known of events that are not recorded, the value of `DROPPED`.

    Args:
        events: Pairs whose closed iterators are all decided.

    Returns:
        Steps in them, their last stamp, blocks left and blocks entered.
    """
    keys = settled(events[::2])
    steps = sum(map(is_end, keys))
    end: int = next(v for k, v in zip(keys[::-1], events[::-2], strict=True) if not is_value(k))
    left, entered = unbalanced(keys)
    if keys[0] is not DROPPED:
        return steps, end, left, entered
    before, stamp, outer, inner = events[1]
    kept = max(0, len(inner) - left)
    entered = (*inner[:kept], *entered)
    last = end if type(end) is int else stamp
    return before + steps, last, outer + max(0, left - len(inner)), entered


def moved(blocks: tuple[str, ...], left: int, entered: tuple[str, ...]) -> tuple[str, ...]:
    """The blocks open after some are left and others entered."""
    return (*blocks[: max(0, len(blocks) - left)], *entered)
