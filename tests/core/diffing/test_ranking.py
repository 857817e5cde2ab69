"""Which cause is named first: what is shown, then what was recorded, then what is guessed."""

from __future__ import annotations

from typing import Any

import pytest

from pytscope.model.comparison import Cause
from pytscope.model.findings import Confidence
from pytscope.testing import make_run
from tests.core.diffing.parting import BATCHES, LOSS, changed, environment, found, made

FRESH = ({"python": "a", "numpy": "b"}, {"python": "c", "numpy": "d"})
"""States of generators that nobody seeded, in two processes."""
UNSEEDED = "unseeded random numbers in the data"


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


def titles(told: tuple[Cause, ...]) -> list[str]:
    return [cause.title for cause in told]


@pytest.mark.parametrize(
    ("start", "name", "title"),
    [
        (0, "hidden", "other settings"),
        (0, "x", "other settings"),
        (1, "lr", "the learning rate"),
        (1, "weight_decay", "the optimizer's settings"),
        (9, "decay_at", "the learning-rate schedule"),
    ],
)
def test_a_setting_comes_before_generators_of_a_fresh_process(start: int, name: str, title: str):
    told = causes(start, {name: 1}, {name: 2})
    assert told[0].title == title
    assert told[0].keys == (f"config.{name}",)
    assert UNSEEDED in titles(told)


def test_generators_are_named_where_nothing_else_differs():
    told = causes(0, {"a": 1}, {"a": 1})
    assert told[0].title == UNSEEDED
    assert all(cause.confidence is Confidence.SUGGESTIVE for cause in told)


def test_numbers_that_agree_at_first_speak_against_the_generators():
    told = causes(9, {}, {})
    assert "agree up to step 9" in told[0].detail


def test_the_seed_explains_generators_in_other_states():
    told = causes(0, {"seed": 1}, {"seed": 2})
    assert titles(told) == ["the seed"]
    assert told[0].keys == ("config.seed", "seeds.python", "seeds.numpy")


def test_a_rate_cannot_have_changed_the_first_step():
    told = causes(0, {"lr": 1}, {"lr": 2})
    assert told[-1].title == "the learning rate"
    assert "cannot have changed the first step" in told[-1].detail


def test_packages_come_last_where_the_gap_is_large_and_first_where_it_is_small():
    torch = {"version": "2.14.0"}
    for by, place in ((0.1, -1), (1e-7, 0)):
        b = made(loss=changed(LOSS, 3, by), provenance=environment(**torch), config={"x": 2})
        told = found(made(config={"x": 1}), b).causes
        assert {"versions of packages", "other settings"} <= {*titles(told)}
        assert told[place].title == "versions of packages"


def test_other_weights_that_show_as_rounding_are_the_cause():
    b = made(loss=changed(LOSS, 2, 1e-7), provenance=environment(initial_weights={"hash": "w9"}))
    (cause,) = found(made(), b).causes
    assert (cause.title, cause.confidence) == ("the initial weights", Confidence.CONFIRMED)


def test_rounding_does_not_make_a_large_gap():
    torch = {"autocast": {"cpu": "bfloat16"}, "initial_seed": 2, "initial_weights": {"hash": "w2"}}
    told = found(made(), made(loss=changed(LOSS, 0, 0.3), provenance=environment(**torch))).causes
    sure = [cause.title for cause in told if cause.confidence is Confidence.CONFIRMED]
    assert sure == ["the seed"]
    assert "the precision of the arithmetic" in titles(told)


def test_a_precision_of_products_is_not_sure_where_weights_may_differ():
    torch = {"precision": {"matmul": "medium", "tf32_cudnn": True}, "initial_weights": None}
    told = found(made(), made(loss=changed(LOSS, 0, 1e-3), provenance=environment(**torch))).causes
    precision = next(c for c in told if c.title == "the precision of the arithmetic")
    assert precision.confidence is Confidence.SUGGESTIVE


def test_the_seed_is_not_sure_where_the_element_type_is_enough():
    torch = {"autocast": {"cpu": "bfloat16"}, "initial_seed": 2}
    told = found(made(), made(loss=changed(LOSS, 0, 1e-3), provenance=environment(**torch))).causes
    by = {cause.title: cause.confidence for cause in told}
    assert by["the precision of the arithmetic"] is Confidence.CONFIRMED
    assert by["the seed"] is Confidence.SUGGESTIVE


@pytest.mark.parametrize(
    ("torch", "title"),
    [
        ({"optimizer": {"class": "SGD", "groups": [{"lr": 0.01}], "steps_after_first": 0}},
         "the optimizer's settings"),
        ({"model": {"parameters": 36, "dtypes": {"float32": 36}},
          "initial_weights": {"hash": "w2"}}, "the model"),
    ],
)  # fmt: skip
def test_what_follows_from_a_cause_is_no_cause(torch: dict[str, Any], title: str):
    start = 0 if title == "the model" else 1
    here, there = (
        environment(**facts) | {"model": {"optimizer_bytes": size}}
        for facts, size in (({}, 1320), (torch, 0))
    )
    b = made(loss=changed(LOSS, start), provenance=there)
    assert titles(found(made(provenance=here), b).causes) == [title]


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
    assert titles(told) == ["the order of the data", UNSEEDED]
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
    assert "depend on the workers" in cause.title
    assert "torch.loaders[0].num_workers" in cause.keys


def test_a_part_of_provenance_that_one_run_lacks_is_no_cause():
    here = environment()
    del here["git"], here["packages"]
    told = found(made(provenance=here), made(loss=changed(LOSS, 3))).causes
    assert titles(told) == ["something that is not recorded"]
    assert "the code's commit" in told[0].detail
