"""Names under which training loops log what pytscope looks at."""

from __future__ import annotations

from collections.abc import Iterable

LOSS = ("loss", "train_loss", "train/loss", "training_loss", "loss/train", "train_loss_step")
"""Names of the training loss, the likeliest first."""
GRAD_NORM = (
    *("grad_norm", "train/grad_norm", "gradient_norm", "grad_norm_total", "total_norm"),
    *("train/gradient_norm", "grad_2.0_norm_total", "train_grad_norm"),
)
"""Names of the norm of all gradients."""
LR = ("lr", "learning_rate", "train/learning_rate", "train/lr")
"""Names of the learning rate."""
EPOCH = ("epoch", "train/epoch", "epochs")
"""Names of the number of passes over the data so far."""


def first_of(wanted: Iterable[str], logged: Iterable[str]) -> str | None:
    """The first wanted name that is logged, or None."""
    there = set(logged)
    return next((name for name in wanted if name in there), None)
