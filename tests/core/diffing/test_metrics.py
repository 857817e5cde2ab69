"""Which logged names are results, and the one number that stands for a run."""

from __future__ import annotations

import math

import pytest

from pytscope.diffing.metrics import metric, outcomes_of, own_values
from pytscope.testing import make_run


@pytest.mark.parametrize(
    ("name", "lower", "evaluated"),
    [
        ("loss", True, False),
        ("train/loss", True, False),
        ("train_loss_epoch", True, False),
        ("eval_loss", True, True),
        ("val_perplexity", True, True),
        ("val/acc@1", False, True),
        ("eval_f1_macro", False, True),
        ("precision_loss", True, False),
        ("test-BLEU", False, True),
        ("reward", False, False),
        ("kl", None, False),
    ],
)
def test_the_direction_is_read_from_the_name(name, lower, evaluated):
    known = metric(name)
    assert known is not None
    assert (known.lower_is_better, known.evaluated) == (lower, evaluated)


@pytest.mark.parametrize(
    "name",
    """lr learning_rate lr-AdamW tokens samples epoch grad_norm loss_scale batch_fingerprint
    batch_integers_fingerprint eval_runtime eval_samples_per_second total_flos num_tokens
    global_step step_time gpu_mem ...""".split(),  # noqa: SIM905  # names read better without quotes
)
def test_what_is_no_result_is_none(name):
    assert metric(name) is None


def test_a_training_metric_is_the_mean_of_the_last_tenth_and_an_evaluation_its_last_value():
    loss = [5.0] * 90 + [float(i) for i in range(10)]
    evals = [None] * 49 + [2.0] + [None] * 39 + [1.5] + [None] * 10
    found = outcomes_of([make_run({"forward": 1}, scalars={"loss": loss, "eval_loss": evals})])
    assert {o.metric.told: o.values for o in found} == {
        "final eval_loss": (1.5,),
        "loss (last 10%)": (4.5,),
    }


def test_runs_are_compared_where_all_of_them_have_been():
    long = make_run({"forward": 1}, steps=200, scalars={"loss": [200.0 - i for i in range(200)]})
    short = make_run({"forward": 1}, steps=100, scalars={"loss": [200.0 - i for i in range(100)]})
    (outcome,) = outcomes_of([long, short])
    assert outcome.values[0] == outcome.values[1]
    assert (outcome.last, outcome.longest) == (99, 199)


def test_loggers_of_other_cadences_share_the_window():
    every = [200.0 - i for i in range(100)]
    dense = make_run({"forward": 1}, scalars={"loss": every})
    sparse = make_run(
        {"forward": 1}, scalars={"loss": [v if i % 3 == 0 else None for i, v in enumerate(every)]}
    )
    (outcome,) = outcomes_of([dense, sparse])
    assert outcome.last == 99
    assert outcome.values[0] == pytest.approx(outcome.values[1], abs=1.5)


def test_a_run_that_ends_without_a_number_has_none():
    run = make_run({"forward": 1}, scalars={"loss": [1.0] * 95 + [math.nan] * 5})
    assert math.isnan(outcomes_of([run])[0].values[0])
    assert "loss" not in own_values(run)
    skipped = make_run({"forward": 1}, scalars={"loss": [1.0] * 95 + [math.nan] + [1.0] * 4})
    assert outcomes_of([skipped])[0].values == (1.0,)


def test_what_one_run_did_not_log_is_left_out():
    one = make_run({"forward": 1}, scalars={"loss": 1.0, "eval_loss": 2.0})
    two = make_run({"forward": 1}, scalars={"loss": 1.0})
    assert [o.metric.name for o in outcomes_of([one, two])] == ["loss"]
