"""Learning rates that explain a difference, and such that do not."""

from __future__ import annotations

from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence
from tests.core.diffing.parting import BATCHES, LOSS, changed, environment, found, made, only

SURE, PERHAPS = Confidence.CONFIRMED, Confidence.SUGGESTIVE


def test_a_rate_that_is_rounded_otherwise_explains_rounding_and_no_more():
    near = 0.01 * (1 + 1e-9)
    cause = only(made(), made(rate=near, loss=changed(LOSS, 1, 1e-8)))
    assert (cause.id, cause.confidence) == (CauseId.LEARNING_RATE, SURE)
    assert "by no more than rounding" in cause.detail
    causes = found(
        made(), made(rate=near, loss=changed(LOSS, 3), batches=changed(BATCHES, 3))
    ).causes
    assert [(c.id, c.confidence) for c in causes] == [
        (CauseId.DATA_ORDER_OR_DATA, SURE),
        (CauseId.LEARNING_RATE, PERHAPS),
    ]
    ids = [c.id for c in found(made(), made(rate=near, loss=changed(LOSS, 3))).causes]
    assert ids == [CauseId.UNKNOWN, CauseId.LEARNING_RATE]


def test_a_schedule_is_named_where_it_matters_not_where_it_was_rounded():
    rate = [0.01 * (1 + 1e-9)] * 9 + [0.02] * 15
    cause = only(made(), made(rate=rate, loss=changed(LOSS, 10)))
    assert cause.id is CauseId.SCHEDULE
    assert "at step 9" in cause.detail


def test_the_rate_of_another_group_of_parameters():
    def groups(second):
        rows = [{"lr": 0.01, "weight_decay": 0.0}, {"lr": second, "weight_decay": 0.0}]
        return environment(optimizer={"class": "Adam", "groups": rows})

    a = made(provenance=groups(0.01))
    cause = only(a, made(loss=changed(LOSS, 1), provenance=groups(0.1)))
    assert (cause.id, cause.confidence) == (CauseId.LEARNING_RATE, SURE)
    assert "of the first group of parameters alone" in cause.detail
    assert cause.keys == ("torch.optimizer.groups[1].lr",)


def test_settings_that_numbers_speak_against_do_not_stand_alone():
    a, b = made(config={"lr": 0.1}), made(config={"lr": 0.2}, loss=changed(LOSS, 5))
    ids = [cause.id for cause in found(a, b).causes]
    assert ids == [CauseId.UNKNOWN, CauseId.LEARNING_RATE_SETTINGS]
