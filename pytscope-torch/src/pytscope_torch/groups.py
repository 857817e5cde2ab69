"""What an optimizer is set to, and what it remembers of the steps it has made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import torch

MOST_GROUPS = 8
MOST_SETTINGS = 64
LONGEST = 16
"""Entries of a setting that is a tuple."""
LOOKED_AT = 8
"""Parameters whose state is asked how many steps were made."""
PLAIN = (bool, int, float, str, type(None))


def optimizer_settings(optimizer: Any) -> dict[str, Any] | None:
    """Class and settings of an optimizer, group by group; None without one.

    Args:
        optimizer: A torch optimizer, or None.

    Returns:
        `class`; `groups`, the plain settings of each, of at most eight, with the
        number of its `tensors`; `state_at_start`, the parameters it remembers
        something of, none at a fresh start.
    """
    groups = getattr(optimizer, "param_groups", None)
    if groups is None:
        return None
    return {
        "class": type(optimizer).__name__,
        "groups": [group_settings(group) for group in groups[:MOST_GROUPS]],
        "state_at_start": len(getattr(optimizer, "state", ())),
    }


def group_settings(group: Mapping[str, Any]) -> dict[str, Any]:
    """The plain settings of a group of parameters, and how many tensors it has."""
    pairs = ((str(name), plain(value)) for name, value in group.items() if name != "params")
    told = dict(islice(((name, value) for name, value in pairs if value is not ...), MOST_SETTINGS))
    return {**told, "tensors": len(group["params"])}


def plain(value: Any) -> Any:
    """A setting as it can be written; `...` for one that cannot, or is on a device."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, (list, tuple)) and len(value) <= LONGEST:
        parts = [plain(part) for part in value]
        return ... if ... in parts else parts
    if isinstance(value, torch.Tensor) and value.numel() == 1 and value.device.type == "cpu":
        return value.item()
    return ...


def steps_made(optimizer: Any) -> int | None:
    """The most steps that an optimizer remembers to have made; None where it does not count.

    Not read from a device, which would be waited for.
    """
    states = getattr(optimizer, "state", None)
    if not isinstance(states, Mapping):
        return None
    return max(_counts(islice(states.values(), LOOKED_AT)), default=None)


def _counts(states: Iterable[Any]) -> Iterator[int]:
    for state in states:
        count = plain(state.get("step", ...)) if isinstance(state, Mapping) else ...
        if isinstance(count, (int, float)):
            yield int(count)
