"""Why runs part, case by case: the kind, what bears it out, and how sure."""

from __future__ import annotations

from typing import Any

import pytest

from pytscope.model.comparison import CauseKind
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence
from tests.core.diffing.parting import (
    BATCHES,
    LOSS,
    changed,
    environment,
    found,
    made,
    only,
)

SURE, PERHAPS = Confidence.CONFIRMED, Confidence.SUGGESTIVE


# --- batches and seeds -----------------------------------------------------------


def test_the_order_of_the_data():
    there = environment(loaders=[{"batch_size": 8, "sampler": "RandomSampler",
                                  "generator_seed": 1}])  # fmt: skip
    b = made(loss=changed(LOSS, 0), batches=changed(BATCHES, 0), provenance=there)
    cause = only(made(), b)
    assert (cause.kind, cause.id, cause.confidence) == (
        CauseKind.BATCH,
        CauseId.DATA_ORDER,
        SURE,
    )
    assert "torch.loaders[0].generator_seed" in cause.keys


def test_the_order_from_the_second_epoch_on():
    column = "batch_samples_fingerprint"
    a = made(scalars={column: BATCHES})
    b = made(
        loss=changed(LOSS, 8), batches=changed(BATCHES, 8), scalars={column: changed(BATCHES, 8)}
    )
    cause = only(a, b)
    assert cause.id is CauseId.DATA_ORDER
    assert "step 8" in cause.detail


def test_other_batches_may_be_other_data_where_nothing_tells_the_samples():
    cause = only(made(), made(loss=changed(LOSS, 8), batches=changed(BATCHES, 8)))
    assert (cause.id, cause.confidence) == (CauseId.DATA_ORDER_OR_DATA, SURE)
    assert "Whether the samples are the same is not recorded" in cause.detail


def test_batches_that_come_at_other_steps():
    b = made(loss=changed(LOSS, 0), batches=[*BATCHES[1:], BATCHES[0]])
    assert "100% of the batches of B" in only(made(), b).detail


def test_other_data():
    there = environment(loaders=[{"batch_size": 4, "sampler": "RandomSampler",
                                  "generator_seed": 0}])  # fmt: skip
    b = made(loss=changed(LOSS, 0), batches=changed(BATCHES, 0), provenance=there)
    cause = only(made(), b)
    assert cause.id is CauseId.DATA
    assert "torch.loaders[0].batch_size" in cause.keys


def test_the_seed_explains_order_and_weights():
    there = environment(initial_seed=2, initial_weights={"hash": "w2"})
    b = made(loss=changed(LOSS, 0), batches=changed(BATCHES, 0), provenance=there)
    cause = only(made(), b)
    assert (cause.kind, cause.id, cause.confidence) == (CauseKind.BATCH, CauseId.SEED, SURE)
    assert "torch.initial_seed" in cause.keys
    assert "initial weights" in cause.detail


def test_the_seed_of_weights_alone():
    there = environment(initial_seed=2, initial_weights={"hash": "w2"})
    cause = only(made(), made(loss=changed(LOSS, 0), provenance=there))
    assert (cause.kind, cause.id) == (CauseKind.INITIAL, CauseId.SEED)


@pytest.mark.parametrize("column", ["batch_integers_fingerprint", "batch_samples_fingerprint"])
def test_unseeded_augmentation(column: str):
    after = {"python": "p0", "numpy": "n10", "torch": "t1"}
    there = environment(
        initial_random_states={"python": "p0", "numpy": "n9", "torch": "t0"}, random_states=after
    )
    a = made(scalars={column: BATCHES})
    b = made(
        loss=changed(LOSS, 0),
        batches=changed(BATCHES, 0),
        scalars={column: BATCHES},
        provenance=there,
    )
    cause = only(a, b)
    assert (cause.kind, cause.confidence) == (CauseKind.BATCH, SURE)
    assert cause.id is CauseId.AUGMENTATION
    assert "torch.initial_random_states.numpy" in cause.keys
    assert "numpy" in cause.fix


@pytest.mark.parametrize("key", ["batch_size", "drop_last"])
def test_batches_of_another_size_are_not_blamed_on_the_sampler(key):
    there = environment(loaders=[{**environment()["torch"]["loaders"][0], key: 3}])
    column = {"batch_samples_fingerprint": BATCHES}
    other = {"batch_samples_fingerprint": changed(BATCHES, 0)}
    b = made(loss=changed(LOSS, 0), batches=changed(BATCHES, 0), scalars=other, provenance=there)
    cause = found(made(scalars=column), b).causes[0]
    assert cause.id is CauseId.DATA
    assert f"torch.loaders[0].{key}" in cause.keys
    assert "drew other samples" not in cause.detail


def test_an_order_drawn_from_numpy():
    column = {"batch_integers_fingerprint": BATCHES}
    there = environment(initial_random_states={"python": "p0", "numpy": "n9", "torch": "t0"},
                        random_states={"python": "p0", "numpy": "n10", "torch": "t1"})  # fmt: skip
    other = {"batch_integers_fingerprint": changed(BATCHES, 0)}
    b = made(loss=changed(LOSS, 0), batches=changed(BATCHES, 0), scalars=other, provenance=there)
    cause = only(made(scalars=column), b)
    assert cause.id is CauseId.DATA_ORDER
    assert "torch.initial_random_states.numpy" in cause.keys


def test_another_number_of_ranks():
    b = made(loss=changed(LOSS, 0), batches=changed(BATCHES, 0), world_size=2)
    cause = found(made(world_size=1), b).causes[0]
    assert cause.kind is CauseKind.BATCH
    assert "world_size" in cause.keys


def test_two_causes_at_once_are_both_sure():
    there = environment(initial_weights={"hash": "w2"})
    b = made(loss=changed(LOSS, 0), batches=changed(BATCHES, 0), rate=0.02, provenance=there)
    sure = [c.id for c in found(made(), b).causes if c.confidence is SURE]
    assert sure == [
        CauseId.DATA_ORDER_OR_DATA,
        CauseId.INITIAL_WEIGHTS,
        CauseId.LEARNING_RATE,
    ]


def test_other_samples_are_no_augmentation():
    a = made(scalars={"batch_samples_fingerprint": BATCHES})
    columns = {"batch_samples_fingerprint": changed(BATCHES, 0)}
    b = made(loss=changed(LOSS, 0), batches=changed(BATCHES, 0), scalars=columns)
    assert only(a, b).id is CauseId.DATA_ORDER


def test_batches_that_differ_only_later_are_a_further_cause():
    b = made(loss=changed(LOSS, 2), batches=changed(BATCHES, 9))
    causes = {cause.id: cause for cause in found(made(), b).causes}
    assert causes[CauseId.LATER_BATCHES].confidence is PERHAPS


def test_settings_of_the_data_without_fingerprints():
    a, b = (made(config={"dataset": name}, batches=None, loss=changed(LOSS, place))
            for name, place in (("x", 24), ("y", 0)))  # fmt: skip
    causes = {cause.id: cause for cause in found(a, b).causes}
    assert causes[CauseId.DATA_SETTINGS].keys == ("config.dataset",)


def test_generators_without_fingerprints():
    there = environment(initial_random_states={"python": "p0", "numpy": "n9", "torch": "t0"},
                        random_states={"python": "p0", "numpy": "n10", "torch": "t1"})  # fmt: skip
    a, b = made(batches=None), made(batches=None, loss=changed(LOSS, 0), provenance=there)
    ids = [cause.id for cause in found(a, b).causes]
    assert CauseId.UNSEEDED_GENERATORS in ids


# --- the start -------------------------------------------------------------------


def test_the_initial_weights():
    there = environment(initial_weights={"hash": "w2"})
    cause = only(made(), made(loss=changed(LOSS, 0), provenance=there))
    assert (cause.kind, cause.id, cause.confidence) == (
        CauseKind.INITIAL,
        CauseId.INITIAL_WEIGHTS,
        SURE,
    )
    assert "the same batch" in cause.detail


def test_weights_that_were_not_hashed():
    a, b = (made(loss=loss, provenance=environment(initial_weights=None))
            for loss in (LOSS, changed(LOSS, 0)))  # fmt: skip
    cause = only(a, b)
    assert cause.kind is CauseKind.INITIAL
    assert cause.confidence is PERHAPS


@pytest.mark.parametrize(
    ("torch", "key"),
    [
        ({"autocast": {"cpu": "bfloat16"}}, "torch.autocast"),
        ({"model": {"parameters": 18, "dtypes": {"float64": 18}},
          "initial_weights": {"hash": "w9"}}, "torch.model.dtypes"),
        ({"precision": {"matmul": "medium", "tf32_cudnn": True}}, "torch.precision.matmul"),
    ],
)  # fmt: skip
def test_precision(torch: dict[str, Any], key: str):
    b = made(loss=changed(LOSS, 0, 1e-4), provenance=environment(**torch))
    causes = found(made(), b).causes
    assert causes[0].id is CauseId.PRECISION
    assert causes[0].kind is CauseKind.INITIAL
    assert causes[0].confidence is SURE
    assert key in causes[0].keys


def test_another_element_type_of_the_batches_is_no_augmentation():
    column = {"batch_integers_fingerprint": BATCHES}
    there = environment(model={"parameters": 18, "dtypes": {"float64": 18}})
    b = made(
        loss=changed(LOSS, 0, 1e-7),
        batches=changed(BATCHES, 0),
        scalars=column,
        provenance=there,
    )
    causes = found(made(scalars=column), b).causes
    assert causes[0].id is CauseId.PRECISION
    assert causes[1].confidence is PERHAPS


def test_another_model():
    there = environment(
        model={"parameters": 36, "dtypes": {"float32": 36}}, initial_weights={"hash": "w3"}
    )
    cause = found(made(), made(loss=changed(LOSS, 0), provenance=there)).causes[0]
    assert cause.id is CauseId.MODEL


def test_random_numbers_in_the_model():
    there = environment(
        random_states={"python": "p0", "numpy": "n0", "torch": "t9", "after_step": 1}
    )
    cause = found(made(), made(loss=changed(LOSS, 0), provenance=there)).causes[0]
    assert cause.id is CauseId.MODEL_RANDOMNESS


# --- updates and schedules -------------------------------------------------------


def test_the_schedule():
    rate = [0.01 if i < 10 else 0.001 for i in range(24)]
    cause = only(made(), made(loss=changed(LOSS, 11), rate=rate))
    assert (cause.kind, cause.id, cause.confidence) == (
        CauseKind.SCHEDULE,
        CauseId.SCHEDULE,
        SURE,
    )
    assert "step 10" in cause.detail
    assert "step 11" in cause.detail


def test_the_rate_from_the_first_step_on():
    a, b = made(config={"lr": 0.01}), made(loss=changed(LOSS, 1), rate=0.02, config={"lr": 0.02})
    cause = only(a, b)
    assert cause.id is CauseId.LEARNING_RATE
    assert cause.keys == ("config.lr",)


def test_a_schedule_that_is_stretched_over_more_steps():
    rates = [0.01 * (1 - i / 24) for i in range(24)], [0.01 * (1 - i / 48) for i in range(24)]
    a = made(rate=rates[0], config={"max_steps": 24})
    b = made(loss=changed(LOSS, 2), rate=rates[1], config={"max_steps": 48})
    cause = only(a, b)
    assert cause.id is CauseId.SCHEDULE
    assert cause.keys == ("config.max_steps",)


def test_a_rate_that_follows_is_no_cause_for_sure():
    rate = [0.01 if i < 15 else 0.001 for i in range(24)]
    causes = found(made(), made(loss=changed(LOSS, 3), rate=rate)).causes
    assert [c.confidence for c in causes if c.kind is CauseKind.SCHEDULE] == [PERHAPS]


def test_a_schedule_that_matters_after_rounding():
    loss = [v if i < 2 else v * (1 + 1e-8) if i < 11 else v * 2 for i, v in enumerate(LOSS)]
    rate = [0.01 if i < 10 else 0.001 for i in range(24)]
    causes = found(made(), made(loss=loss, rate=rate)).causes
    assert {(cause.kind, cause.confidence) for cause in causes} == {
        (CauseKind.SCHEDULE, SURE),
        (CauseKind.BACKWARD, SURE),
    }


def test_all_causes_are_named():
    there = environment(version="2.1.0")
    a = made(config={"lr": 0.1}, rate=None)
    b = made(config={"lr": 0.2}, rate=None, loss=changed(LOSS, 1), provenance=there)
    keys = [cause.keys for cause in found(a, b).causes]
    assert ("config.lr",) in keys
    assert ("torch.version",) in keys


def test_the_optimizers_settings():
    there = environment(optimizer={"class": "Adam", "groups": [{"lr": 0.01, "weight_decay": 0.1}]})
    cause = only(made(), made(loss=changed(LOSS, 1), provenance=there))
    assert (cause.kind, cause.confidence) == (CauseKind.BACKWARD, SURE)
    assert cause.keys == ("torch.optimizer.groups[0].weight_decay",)


# --- provenance alone ------------------------------------------------------------


def test_every_kind_of_fact_is_a_cause():
    there = environment(version="2.1", threads=8, devices=[{"name": "X", "capability": "9.0"}],
                        determinism={"algorithms": True, "cudnn_benchmark": True})  # fmt: skip
    there["git"] = {"sha": "def", "branch": "main", "dirty": True, "diff_sha256": "x"}
    there |= {"driver_version": "5", "env": {"NCCL_ALGO": "Ring"}, "argv": ["train.py", "x"]}
    here = environment() | {"driver_version": "4"}
    b = made(loss=changed(LOSS, 0), provenance=there, config={"foo": 1})
    ids = {cause.id for cause in found(made(provenance=here), b).causes}
    assert ids >= {
        CauseId.SETTINGS,
        CauseId.PARALLELISM,
        CauseId.CODE,
        CauseId.KERNELS,
        CauseId.PACKAGES,
        CauseId.DEVICE,
        CauseId.DRIVER,
        CauseId.ENVIRONMENT,
        CauseId.COMMAND_LINE,
    }


def test_no_cause_is_named_twice():
    there = environment(initial_seed=2, version="2.1", initial_weights={"hash": "w2"})
    b = made(loss=changed(LOSS, 0), batches=changed(BATCHES, 0), provenance=there)
    ids = [cause.id for cause in found(made(), b).causes]
    assert len(ids) == len(set(ids))
    assert ids[0] == CauseId.SEED
