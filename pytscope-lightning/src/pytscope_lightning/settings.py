"""What a Trainer and its module are set to, for the record of the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytscope.recording.harmless import tried

NAMES = (
    "accumulate_grad_batches",
    "gradient_clip_algorithm",
    "gradient_clip_val",
    "limit_train_batches",
    "limit_val_batches",
    "max_epochs",
    "max_steps",
    "num_devices",
    "num_nodes",
    "precision",
    "val_check_interval",
)


def settings(trainer: Any, module: Any) -> dict[str, Any]:
    """Settings of the Trainer by name, its strategy, and the module's hyperparameters."""
    found = {name: tried(_read(trainer, name), lambda _: None) for name in NAMES}
    found["strategy"] = type(trainer.strategy).__name__
    hparams = tried(lambda: dict(module.hparams), lambda _: {})
    return {"trainer": found, "hparams": hparams} if hparams else {"trainer": found}


def _read(trainer: Any, name: str) -> Callable[[], Any]:
    return lambda: getattr(trainer, name, None)
