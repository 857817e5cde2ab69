"""Logged values: losses, learning rates and metrics, none of them waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytscope.recording.keys import LOG_NAMES

MOST_GROUPS = 8
"""Groups of parameters whose learning rates are recorded."""
TAKEN = frozenset((*LOG_NAMES, "self"))
"""Names that mean something else to `log()` than to the user who logs them."""


class Losses:
    """The losses of the batches of one step."""

    def __init__(self) -> None:
        self._sum: Any = None
        self._count = 0

    def add(self, outputs: Any) -> None:
        """Take the loss of a batch, if there is one.

        Args:
            outputs: What a training step gave: a mapping, or the loss.
        """
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        if loss is not None:
            self._sum = loss if self._sum is None else self._sum + loss
            self._count += 1

    def taken(self, scale: int) -> Any:
        """The mean, and begin again; None without a loss.

        Args:
            scale: What Lightning has divided each by.
        """
        total, count = self._sum, self._count
        self._sum, self._count = None, 0
        return total if scale == count or total is None else total * (scale / count)


def learning_rates(optimizers: Sequence[Any], optimizer: Any) -> dict[str, Any]:
    """Learning rates of an optimizer's groups of parameters by name.

    `lr` is that of the first group of the first optimizer, `lr.1` that of its
    second group, `lr_1` that of the first group of the second optimizer.

    Args:
        optimizers: All of the Trainer's.
        optimizer: The one that steps.
    """
    at = next((i for i, one in enumerate(optimizers) if one is optimizer), 0)
    name = f"lr_{at}" if at else "lr"
    groups = optimizer.param_groups[:MOST_GROUPS]
    return {f"{name}.{i}" if i else name: group.get("lr") for i, group in enumerate(groups)}


def named(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics under names that `log()` takes for no other."""
    return {f"logged/{name}" if name in TAKEN else str(name): v for name, v in metrics.items()}
