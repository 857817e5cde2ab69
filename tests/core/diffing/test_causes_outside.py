"""Causes outside of training, and where an unknown one lies."""

from __future__ import annotations

import pytest

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
    resumed,
)

SURE, PERHAPS = Confidence.CONFIRMED, Confidence.SUGGESTIVE


def test_only_what_is_evaluated_differs():
    scores = [1.0 - v for v in LOSS]
    a, b = (made(scalars={"val_acc": v}) for v in (scores, changed(scores, 6)))
    cause = only(a, b)
    assert (cause.id, cause.confidence) == (CauseId.EVALUATION, SURE)
    assert "val_acc differs at step 6" in cause.detail
    assert "17 of them after it" in cause.detail


def test_an_evaluation_at_the_end_of_training_may_as_well_show_other_weights():
    last = [None] * 23
    a, b = (made(scalars={"val_acc": [*last, v]}) for v in (0.5, 0.6))
    assert CauseId.EVALUATION not in [cause.id for cause in found(a, b).causes]


def test_an_evaluation_that_differs_because_training_does_is_no_cause():
    scores = [1.0 - v for v in LOSS]
    b = made(loss=changed(LOSS, 5), scalars={"val_acc": changed(scores, 6)})
    assert CauseId.EVALUATION not in [
        c.id for c in found(made(scalars={"val_acc": scores}), b).causes
    ]


@pytest.mark.parametrize("shift", [1, 7])
def test_steps_that_are_counted_from_another_number(shift):
    a, b = made(), made(attempts=[(shift, 24)])
    for one, other, late in ((a, b, "B"), (b, a, "A")):
        divergence = found(one, other)
        (cause,) = divergence.causes
        assert cause.id is CauseId.STEP_NUMBERS_OR_RESUME
        assert f"The first losses of {late} are those of" in cause.detail


FRESH = {"class": "Adam", "groups": [{"lr": 0.01}], "steps_after_first": 1}


def began_later(shift, weights, **facts):
    """A run of another course that begins later, with an optimizer that remembers nothing."""
    run = made(
        loss=changed(LOSS, 0),
        batches=changed(BATCHES, 0),
        attempts=[(shift, 24)],
        provenance=environment(initial_weights={"hash": weights}, optimizer=FRESH, **facts),
    )
    return resumed(run, initial_weights={"hash": weights}, optimizer=FRESH, **facts)


@pytest.mark.parametrize(("shift", "weights"), [(1, "w0"), (1, "w9"), (8, "w0")])
def test_a_later_start_that_remembers_nothing_began_anew_whatever_its_seed(shift, weights):
    a = made(provenance=environment(optimizer=FRESH))
    ids = [cause.id for cause in found(a, began_later(shift, weights, initial_seed=2)).causes]
    assert ids == [CauseId.STEP_NUMBERS_OR_RESUME, CauseId.SEED]


def test_a_later_start_with_other_weights_is_a_resume_that_lost_the_optimizer():
    ids = [cause.id for cause in found(made(), began_later(8, "w9")).causes]
    assert CauseId.RESUME_OPTIMIZER_STATE in ids
    assert CauseId.STEP_NUMBERS_OR_RESUME not in ids


def test_a_run_that_goes_on_elsewhere_is_no_run_that_began_anew():
    b = made(loss=changed(LOSS, 0, 0.3), attempts=[(3, 24)])
    assert CauseId.STEP_NUMBERS_OR_RESUME not in [c.id for c in found(made(), b).causes]


def test_runs_without_a_common_step_say_which_they_have():
    divergence = found(made(), made(attempts=[(100, 24)]))
    assert divergence.identical is None
    (said,) = divergence.not_compared
    assert "Steps of A: 0 to 23; of B: 100 to 123." in said
    assert "100 steps on: it began anew" in said


def test_where_in_a_step_an_unknown_cause_lies():
    norm = [2.0 + v for v in LOSS]
    a = made(scalars={"grad_norm": norm})
    backward = made(loss=changed(LOSS, 7), scalars={"grad_norm": changed(norm, 6)})
    update = made(loss=changed(LOSS, 7), scalars={"grad_norm": changed(norm, 7)})
    assert "The loss of step 6 is the same" in only(a, backward).detail
    assert "The gradient norm of step 6 is the same" in only(a, update).detail
    assert "no buffers" in only(a, made(loss=changed(LOSS, 0), scalars={"grad_norm": norm})).detail
