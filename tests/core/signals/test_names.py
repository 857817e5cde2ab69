"""Names of logged values."""

from __future__ import annotations

from pytscope.signals.names import GRAD_NORM, LOSS, first_of


def test_the_likeliest_name_comes_first():
    assert first_of(LOSS, ["eval_loss", "train_loss", "loss"]) == "loss"
    assert first_of(LOSS, ["train/loss", "accuracy"]) == "train/loss"


def test_an_evaluation_is_no_training_loss():
    assert first_of(LOSS, ["eval_loss", "val_loss", "validation/loss"]) is None
    assert first_of(GRAD_NORM, []) is None
