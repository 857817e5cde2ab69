"""Which cause is named first: what is shown, then what was recorded, then what is guessed."""

from __future__ import annotations

from typing import Any

import pytest

from pytscope.model.comparison import Cause
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence
from pytscope.testing import make_run
from tests.core.diffing.parting import BATCHES, LOSS, changed, environment, found, made

FRESH = ({"python": "a", "numpy": "b"}, {"python": "c", "numpy": "d"})
"""States of generators that nobody seeded, in two processes."""


def bare(loss: list[float], which: int, config: dict[str, Any], **more: Any) -> Any:
    """A run of its own process that records its loss and its settings alone."""
    told = {"python": "3.11.7", "seeds": FRESH[which], **more}
    return make_run({"forward": 1}, scalars={"loss": loss}, config=config, environment=told)


def causes(start: int, *settings: dict[str, Any], by: float = 0.1) -> tuple[Cause, ...]:
    a, b = (
        bare(loss, which, settings[which])
        for which, loss in enumerate((LOSS, changed(LOSS, start, by)))
    )
    return found(a, b).causes


def ids(told: tuple[Cause, ...]) -> list[CauseId]:
    return [cause.id for cause in told]


@pytest.mark.parametrize(
    ("start", "name", "which"),
    [
        (0, "hidden", CauseId.SETTINGS),
        (0, "x", CauseId.SETTINGS),
        (1, "lr", CauseId.LEARNING_RATE),
        (1, "weight_decay", CauseId.OPTIMIZER),
        (9, "decay_at", CauseId.SCHEDULE),
    ],
)
def test_a_setting_comes_before_generators_of_a_fresh_process(
    start: int, name: str, which: CauseId
):
    told = causes(start, {name: 1}, {name: 2})
    assert told[0].id is which
    assert told[0].keys == (f"config.{name}",)
    assert CauseId.UNSEEDED_GENERATORS in ids(told)


def test_generators_are_named_where_nothing_else_differs():
    told = causes(0, {"a": 1}, {"a": 1})
    assert told[0].id is CauseId.UNSEEDED_GENERATORS
    assert all(cause.confidence is Confidence.SUGGESTIVE for cause in told)


def test_numbers_that_agree_at_first_speak_against_the_generators():
    told = causes(9, {}, {})
    assert ids(told) == [CauseId.UNKNOWN, CauseId.UNSEEDED_GENERATORS]
    assert "agree up to step 9" in told[1].detail


def test_the_seed_explains_generators_in_other_states():
    told = causes(0, {"seed": 1}, {"seed": 2})
    assert ids(told) == [CauseId.SEED]
    assert told[0].keys == ("config.seed", "seeds.python", "seeds.numpy")


def test_a_rate_cannot_have_changed_the_first_step():
    told = causes(0, {"lr": 1}, {"lr": 2})
    assert told[-1].id is CauseId.LEARNING_RATE
    assert "cannot have changed the first step" in told[-1].detail


def test_packages_come_last_where_the_gap_is_large_and_first_where_it_is_small():
    torch = {"version": "2.14.0"}
    for by, place in ((0.1, -1), (1e-7, 0)):
        b = made(loss=changed(LOSS, 3, by), provenance=environment(**torch), config={"x": 2})
        told = found(made(config={"x": 1}), b).causes
        assert {CauseId.PACKAGES, CauseId.SETTINGS} <= {*ids(told)}
        assert told[place].id is CauseId.PACKAGES


def test_other_weights_that_show_as_rounding_are_the_cause():
    b = made(loss=changed(LOSS, 2, 1e-7), provenance=environment(initial_weights={"hash": "w9"}))
    (cause,) = found(made(), b).causes
    assert (cause.id, cause.confidence) == (CauseId.INITIAL_WEIGHTS, Confidence.CONFIRMED)


def test_rounding_does_not_make_a_large_gap():
    torch = {"autocast": {"cpu": "bfloat16"}, "initial_seed": 2, "initial_weights": {"hash": "w2"}}
    told = found(made(), made(loss=changed(LOSS, 0, 0.3), provenance=environment(**torch))).causes
    sure = [cause.id for cause in told if cause.confidence is Confidence.CONFIRMED]
    assert sure == [CauseId.SEED]
    assert CauseId.PRECISION in ids(told)


def test_a_precision_of_products_is_not_sure_where_weights_may_differ():
    torch = {"precision": {"matmul": "medium", "tf32_cudnn": True}, "initial_weights": None}
    told = found(made(), made(loss=changed(LOSS, 0, 1e-3), provenance=environment(**torch))).causes
    precision = next(c for c in told if c.id == CauseId.PRECISION)
    assert precision.confidence is Confidence.SUGGESTIVE


def test_the_seed_is_not_sure_where_the_element_type_is_enough():
    torch = {"autocast": {"cpu": "bfloat16"}, "initial_seed": 2}
    told = found(made(), made(loss=changed(LOSS, 0, 1e-3), provenance=environment(**torch))).causes
    by = {cause.id: cause.confidence for cause in told}
    assert by[CauseId.PRECISION] is Confidence.CONFIRMED
    assert by[CauseId.SEED] is Confidence.SUGGESTIVE


@pytest.mark.parametrize(
    ("torch", "which"),
    [
        ({"optimizer": {"class": "SGD", "groups": [{"lr": 0.01}], "steps_after_first": 0}},
         CauseId.OPTIMIZER),
        ({"model": {"parameters": 36, "dtypes": {"float32": 36}},
          "initial_weights": {"hash": "w2"}}, CauseId.MODEL),
    ],
)  # fmt: skip
def test_what_follows_from_a_cause_is_no_cause(torch: dict[str, Any], which: CauseId):
    start = 0 if which is CauseId.MODEL else 1
    here, there = (
        environment(**facts) | {"model": {"optimizer_bytes": size}}
        for facts, size in (({}, 1320), (torch, 0))
    )
    b = made(loss=changed(LOSS, start), provenance=there)
    assert ids(found(made(provenance=here), b).causes) == [which]


LOADER = {"batch_size": 8, "sampler": "RandomSampler", "generator_seed": 0}
STATES = {"python": "p0", "numpy": "n9", "torch": "t0"}
DRAWN = {"python": "p0", "numpy": "n10", "torch": "t1"}
"""States at the start and after the first step where something drew from numpy's generator."""


def test_an_order_that_differs_does_not_hide_generators_that_were_not_seeded():
    there = environment(
        loaders=[{**LOADER, "generator_seed": 1}],
        initial_random_states=STATES,
        random_states=DRAWN,
    )
    b = made(loss=changed(LOSS, 0), batches=changed(BATCHES, 0), provenance=there)
    told = found(made(), b).causes
    assert ids(told) == [CauseId.DATA_ORDER, CauseId.UNSEEDED_GENERATORS]
    assert told[1].keys[0] == "torch.initial_random_states.numpy"


def test_augmentation_that_depends_on_the_number_of_workers():
    column = {"batch_samples_fingerprint": BATCHES}
    a, b = (
        made(
            loss=loss,
            batches=batches,
            scalars=column,
            provenance=environment(loaders=[{**LOADER, "num_workers": workers}]),
        )
        for loss, batches, workers in (
            (LOSS, BATCHES, 2),
            (changed(LOSS, 2), changed(BATCHES, 2), 3),
        )
    )
    (cause,) = found(a, b).causes
    assert cause.id is CauseId.AUGMENTATION_WORKERS
    assert "torch.loaders[0].num_workers" in cause.keys


def test_a_part_of_provenance_that_one_run_lacks_is_no_cause():
    here = environment()
    del here["git"], here["packages"]
    told = found(made(provenance=here), made(loss=changed(LOSS, 3))).causes
    assert ids(told) == [CauseId.UNKNOWN]
    assert "the code's commit" in told[0].detail
