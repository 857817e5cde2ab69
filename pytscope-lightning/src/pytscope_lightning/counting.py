"""Which number a fit's first step has.

`trainer.global_step` counts the steps of all optimizers, pytscope those of one.
Where the two differ, the checkpoint keeps both.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from pytscope_lightning.recording import Recording

KEY = "pytscope"
"""Where a checkpoint keeps the number, beside Lightning's own entries."""


class Count:
    """Remembers how far the last fit, or the one that a checkpoint is of, had come."""

    def __init__(self) -> None:
        self._known: tuple[int, int] | None = None
        self._loaded: tuple[int, int | None] | None = None

    def first(self, trainer: Any) -> int:
        """Number of the first step of the fit that begins; steps made, of a model to evaluate.

        What nobody counted is reckoned from Lightning's number, as if each
        optimizer had made as many steps.
        """
        loaded, self._loaded = self._loaded, None
        if loaded is None:
            total, step = trainer.global_step, None
        else:
            total, step = loaded
        if step is not None:
            return step
        if self._known is not None and self._known[0] == total:
            return self._known[1]
        automatic = trainer.lightning_module.automatic_optimization
        return int(total) // (1 if automatic else max(1, len(trainer.optimizers)))

    def forget(self) -> None:
        """Something else begins than what a checkpoint was read for."""
        self._loaded = None

    def over(self, recording: Recording) -> None:
        """A fit is over; the Trainer may go on from here."""
        self._known = (recording.global_step, recording.next_step)

    def save(self, recording: Recording, checkpoint: MutableMapping[str, Any]) -> None:
        """Write into a checkpoint what Lightning's own number does not tell."""
        if recording.next_step != checkpoint.get("global_step"):
            checkpoint[KEY] = {"step": recording.next_step}

    def load(self, checkpoint: Mapping[str, Any]) -> None:
        """Read a checkpoint from which a fit goes on."""
        own = checkpoint.get(KEY)
        step = own.get("step") if isinstance(own, Mapping) else None
        self._loaded = (int(checkpoint.get("global_step", 0)), step)
