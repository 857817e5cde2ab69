"""Resumes at which something was changed, or lost, that batches and settings tell apart."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from pytscope.model.comparison import Cause, CauseKind
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence
from pytscope.runs.run import Run
from tests.core.diffing.parting import BATCHES, LOSS, changed, found, made, resumed

SURE, PERHAPS = Confidence.CONFIRMED, Confidence.SUGGESTIVE


def again(loss: list[float], batches: list[int] | None = BATCHES, **more: Any) -> Run:
    """A run that was resumed at step 12, with facts of that attempt."""
    rate = more.pop("rate", 0.01)
    run = made(loss=loss, batches=batches, rate=rate, attempts=[(0, 12), (12, 12)])
    return resumed(run, **more)


def told(a: Run, b: Run) -> list[tuple[CauseId, Confidence]]:
    causes: tuple[Cause, ...] = found(a, b).causes
    assert {cause.kind for cause in causes} == {CauseKind.RESUME}
    return [(cause.id, cause.confidence) for cause in causes]


def test_a_setting_that_was_changed_at_the_resume_is_the_cause():
    b = again(changed(LOSS, 12, 1e-3), autocast={"cpu": "bfloat16"})
    assert told(made(), b) == [
        (CauseId.RESUME_CHANGED, SURE),
        (CauseId.RESUME_WEIGHTS_OR_RANDOM_STATE, PERHAPS),
    ]
    cause = found(made(), b).causes[0]
    assert cause.keys == ("torch.autocast",)
    assert "was off and is cpu bfloat16" in cause.detail


def test_a_part_of_provenance_that_an_attempt_did_not_live_to_record_has_not_changed():
    b = again(changed(LOSS, 13))
    (line,) = b.timelines
    short = attrs.evolve(line.attempts[0], environment={"python": "3.11.7"})
    b = attrs.evolve(b, timelines=(line.select(line.step >= 0, (short, line.attempts[1])),))
    assert told(made(), b) == [(CauseId.RESUME_OPTIMIZER_STATE, SURE)]


@pytest.mark.parametrize("fed", [BATCHES, [*BATCHES[:12], *BATCHES[:12]]])
def test_weights_that_are_those_of_the_start_were_not_restored(fed: list[int]):
    b = again([*LOSS[:12], *LOSS[:12]], fed, initial_weights={"hash": "w0"})
    assert (CauseId.RESUME_WEIGHTS, SURE) in told(made(), b)


def test_weights_may_be_loaded_after_they_were_hashed():
    b = again(changed(LOSS, 12), [*BATCHES[:12], *BATCHES[:12]], initial_weights={"hash": "w0"})
    assert (CauseId.RESUME_WEIGHTS, PERHAPS) in told(made(), b)
    restored = again(changed(LOSS, 12), [*BATCHES[:12], *BATCHES[:12]])
    assert told(made(), restored) == [(CauseId.RESUME_LOADER, SURE)]


def test_a_rate_that_was_set_anew_is_no_lost_schedule():
    rate = [0.01] * 12 + [0.05] * 12
    b = again(changed(LOSS, 13), rate=rate)
    assert told(made(), b) == [(CauseId.RESUME_LEARNING_RATE, SURE)]


def test_a_rate_that_moves_was_lost_by_its_schedule():
    rate = [0.1 * 0.9**i for i in range(24)]
    b = again(changed(LOSS, 13), rate=[*rate[:12], *rate[:12]])
    assert told(made(rate=rate), b) == [(CauseId.RESUME_SCHEDULE, SURE)]


def test_without_fingerprints_the_loader_may_be_what_was_lost():
    b = again(changed(LOSS, 12), None)
    ((which, confidence),) = told(made(batches=None), b)
    assert which is CauseId.RESUME_WEIGHTS_OR_RANDOM_STATE_OR_LOADER
    assert confidence is PERHAPS


def test_a_series_that_is_logged_now_and_then_hides_no_agreement():
    sparse = [None] * 23 + [0.5]
    a = made(scalars={"accuracy": sparse})
    run = made(attempts=[(0, 12), (12, 12)], scalars={"accuracy": [None] * 23 + [0.6]})
    causes = found(a, resumed(run)).causes
    assert causes
    assert CauseKind.RESUME not in {cause.kind for cause in causes}


def test_a_mean_over_what_one_start_made_is_not_compared():
    a = made(scalars={"train_loss": [None] * 23 + [0.5]})
    b = made(attempts=[(0, 12), (12, 12)], scalars={"train_loss": [None] * 23 + [0.4]})
    told = found(a, resumed(b))
    assert told.identical is True
    assert any("one start made: train_loss" in sentence for sentence in told.not_compared)
    other = made(scalars={"train_loss": [None] * 23 + [0.4]})
    assert found(a, other).identical is False
