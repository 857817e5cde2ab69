"""Phases by the names of the actions that Lightning tells its profiler of.

Every Trainer has a profiler, one that does nothing by default, and tells it of
each hook and of each call of its strategy, by names such as
`[Strategy]DDPStrategy.training_step`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from pytscope.recording.keys import Open
from pytscope_torch.framework import (
    BACKWARD,
    FETCH,
    FORWARD,
    H2D,
    LOGGING,
    STEPPING,
    Told,
)

TRANSFORM = Open("transform")
"""Batches are transformed in the hooks around their transfer."""
PARTS = frozenset((H2D, TRANSFORM))
"""Parts of what they are in, where that is one phase as a whole, such as an evaluation."""
LIGHTNING = ("lightning.", "pytorch_lightning.")
BATCH_HOOKS = (
    ("on_before_batch_transfer", TRANSFORM),
    ("transfer_batch_to_device", H2D),
    ("on_after_batch_transfer", TRANSFORM),
)
BAR_HOOKS = (
    "on_train_batch_end",
    "on_train_epoch_start",
    "on_train_epoch_end",
)


class Edges:
    """Turns actions into blocks.

    Args:
        told: Where to.
        phases: The phase of each action that has one.

    Attributes:
        phases: As given.
    """

    __slots__ = ("_opened", "_told", "phases")

    def __init__(self, told: Told, phases: Mapping[str, Open]) -> None:
        self._told = told
        self.phases = phases
        self._opened: list[tuple[str, Open, BaseException | None]] = []

    def started(self, action: str) -> None:
        """An action that has a phase begins."""
        key = self.phases[action]
        if not self._told.here or (key in PARTS and self._told.inside):
            return
        self._opened.append((action, key, sys.exc_info()[1]))
        self._told.enter(key)

    def stopped(self, action: str, error: BaseException | None) -> None:
        """An action that has a phase is over.

        Args:
            action: Its name.
            error: The exception that is being handled, if any: also one that was
                when the action began, such as that of an `except` around the fit.
        """
        if not self._opened or self._opened[-1][0] != action or not self._told.here:
            return
        _, key, before = self._opened.pop()
        self._told.leave(key, None if error is before else error)


def phases_of(trainer: Any, module: Any) -> dict[str, Open]:
    """The phase of each action of a Trainer that has one.

    Args:
        trainer: The Trainer.
        module: Its LightningModule.
    """
    strategy = f"[Strategy]{type(trainer.strategy).__name__}"
    loop = type(trainer.fit_loop.epoch_loop).__name__
    phases = {f"[{loop}].train_dataloader_next": FETCH}
    phases |= _of_batches("LightningModule", module)
    phases |= _of_batches("LightningDataModule", trainer.datamodule)
    bar = trainer.progress_bar_callback
    if bar is not None:
        phases |= {f"[Callback]{bar.state_key}.{hook}": LOGGING for hook in BAR_HOOKS}
    if module.automatic_optimization:
        phases[f"{strategy}.training_step"] = FORWARD
        if is_own(module, "backward"):
            phases[f"{strategy}.backward"] = BACKWARD
        if is_own(module, "optimizer_step"):
            phases[f"[LightningModule]{type(module).__name__}.optimizer_step"] = STEPPING
    return phases


def _of_batches(kind: str, owner: Any) -> Iterator[tuple[str, Open]]:
    for hook, key in BATCH_HOOKS:
        if owner is not None and (key is H2D or is_own(owner, hook)):
            yield f"[{kind}]{type(owner).__name__}.{hook}", key


def is_own(owner: Any, hook: str) -> bool:
    """Whether a hook is the user's, not Lightning's."""
    module = getattr(getattr(owner, hook, None), "__module__", None) or ""
    return not module.startswith(LIGHTNING)
