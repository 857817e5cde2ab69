"""What series tell, by name."""

from __future__ import annotations

import pytest

from pytscope.diffing.roles import Role, of_role, role_of


@pytest.mark.parametrize(
    ("role", "names"),
    [
        (Role.BATCH, "batch_fingerprint data_hash"),
        (Role.INTEGERS, "batch_integers_fingerprint"),
        (Role.SAMPLES, "batch_samples_fingerprint"),
        (Role.COUNT, "tokens samples epoch num_input_tokens_seen total_flos"),
        (Role.LOSS, "loss train_loss train/loss ce_loss"),
        (Role.GRADIENT, "grad_norm train/grad_norm gnorm"),
        (Role.RATE, "lr learning_rate lr-Adam train/lr lr0 optim.lr/pg1"),
        (Role.OTHER, "accuracy eval_loss perplexity person_acc loss_scale ms_ssim rewards/mean"),
        (Role.CLOCK, "step_time eval_runtime it_per_s train_samples_per_second step_ms"),
        (Role.CLOCK, "gpu_util tokens/s throughput mfu gpu_memory"),
    ],
)
def test_roles(role: Role, names: str):
    assert {name: role_of(name) for name in names.split()} == dict.fromkeys(names.split(), role)


def test_names_of_a_role():
    assert of_role(["loss", "lr", "acc"], Role.LOSS, Role.OTHER) == ["loss", "acc"]
