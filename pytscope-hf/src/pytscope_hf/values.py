"""What the Trainer logs, as values of a recording."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from torch import Tensor

NAMES = {"learning_rate": "lr"}
TAKEN = ("lr", "samples", "self", "tokens")
"""Names that mean something else to `log()` than to the user who logs them."""
TRAINING = "loss"
"""What is in the log of a training step, and in no other."""


def logged(logs: Mapping[str, Any], state: Any) -> dict[str, Any]:
    """The numbers of a log, by the names they have in a recording.

    Args:
        logs: What the Trainer logs.
        state: Its state, whose count of FLOPs is current whenever a loss is logged.
    """
    found = named(logs)
    if TRAINING in found:
        found["total_flos"] = float(state.total_flos)
    return found


def named(values: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers among values, by names that `log()` takes for no other."""
    return {_named(name): value for name, value in values.items() if _number(value)}


def _named(name: object) -> str:
    return f"logged/{name}" if name in TAKEN else NAMES.get(str(name), str(name))


def _number(value: object) -> bool:
    if isinstance(value, Tensor):
        return bool(value.numel() == 1)
    return isinstance(value, Real) and not isinstance(value, bool)


class Tokens:
    """Tokens of each step, where the Trainer counts those it has seen so far on all ranks.

    Args:
        state: The Trainer's state.
        world: How many ranks there are.
    """

    def __init__(self, state: Any, world: int) -> None:
        self._seen: int = state.num_input_tokens_seen
        self._world = max(1, world)
        self._counted = 0

    def of_step(self, state: Any) -> int:
        """Tokens since the last call, a rank's even share; what does not divide comes later."""
        seen = (state.num_input_tokens_seen - self._seen) // self._world
        new, self._counted = seen - self._counted, seen
        return int(new)
