"""Why resumed runs part from those that ran on."""

from __future__ import annotations

from typing import Any

from pytscope.diffing.divergence import divergence
from pytscope.model.comparison import CauseKind
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence
from tests.core.diffing.parting import (
    BATCHES,
    LOSS,
    changed,
    found,
    made,
    only,
    resumed,
)

SURE, PERHAPS = Confidence.CONFIRMED, Confidence.SUGGESTIVE


def twice(after: list[float], fed: list[int] | None = None, rate: Any = 0.01, **facts: Any) -> Any:
    """A run that was resumed at step 12, after it had reached step 18."""
    run = made(
        loss=[*LOSS[:18], *after],
        batches=[*BATCHES[:18], *(fed or BATCHES[12:])],
        rate=rate,
        attempts=[(0, 18), (12, 12)],
    )
    return resumed(run, **facts)


def test_a_resume_without_the_optimizers_state():
    cause = only(made(), twice(changed(LOSS, 13)[12:]))
    assert (cause.kind, cause.id, cause.confidence) == (
        CauseKind.RESUME,
        CauseId.RESUME_OPTIMIZER_STATE,
        SURE,
    )
    assert "step 12" in cause.detail
    assert "step 13" in cause.detail
    assert "the 6 steps beyond that it made before" in cause.detail


def test_an_optimizer_that_remembers_was_restored():
    optimizer = {"class": "Adam", "groups": [{"lr": 0.01, "weight_decay": 0.0}]}
    known = twice(changed(LOSS, 13)[12:], optimizer={**optimizer, "steps_after_first": 13})
    ids = [cause.id for cause in found(made(), known).causes]
    assert ids == [CauseId.RESUME_UNKNOWN]
    fresh = twice(changed(LOSS, 13)[12:], optimizer={**optimizer, "steps_after_first": 1})
    assert "remembers 1 step" in only(made(), fresh).detail


def test_a_resume_whose_loader_began_again():
    cause = only(made(), twice(changed(LOSS, 12)[12:], BATCHES[:12]))
    assert cause.id is CauseId.RESUME_LOADER
    assert "those of A from step 0 on" in cause.detail
    assert "from the start" in cause.detail


def test_a_resume_whose_schedule_began_again():
    falling = [0.1 / (1 + i) for i in range(24)]
    b = twice(changed(LOSS, 13)[12:], rate=[*falling[:18], *falling[:12]])
    cause = only(made(rate=falling), b)
    assert cause.id is CauseId.RESUME_SCHEDULE


def test_a_resume_with_other_weights():
    cause = only(made(), twice(changed(LOSS, 12)[12:]))
    assert cause.id is CauseId.RESUME_WEIGHTS_OR_RANDOM_STATE


def test_a_good_resume_is_identical():
    fed = [*BATCHES[12:]]
    fed[0] = 5
    told = found(made(), twice(LOSS[12:], fed))
    assert told.identical is True
    assert any("wound forward" in sentence for sentence in told.not_compared)


def test_what_changed_at_the_resume_is_named():
    b = twice(changed(LOSS, 13)[12:], version="2.14.0")
    cause = found(made(), b).causes[0]
    assert cause.kind is CauseKind.RESUME
    assert cause.keys == ("torch.version",)


def test_batches_of_another_size_are_no_lost_place():
    smaller = [{"batch_size": 4, "sampler": "RandomSampler", "generator_seed": 0}]
    b = twice(changed(LOSS, 12)[12:], fed=changed(BATCHES, 12)[12:], loaders=smaller)
    causes = {cause.id: cause.confidence for cause in found(made(), b).causes}
    assert causes[CauseId.RESUME_CHANGED] is SURE
    assert causes[CauseId.RESUME_LOADER] is PERHAPS
    lost = found(made(), twice(changed(LOSS, 12)[12:], fed=BATCHES[:12], loaders=smaller)).causes
    assert {c.id: c.confidence for c in lost}[CauseId.RESUME_LOADER] is SURE


def test_a_run_that_begins_with_the_resume():
    b = made(loss=changed(LOSS, 13)[12:], batches=BATCHES[12:], first_step=12)
    cause = only(made(), b)
    assert cause.id is CauseId.RESUME_OPTIMIZER_STATE
    assert "begins at step 12" in cause.detail


def test_the_first_run_may_be_the_resumed_one():
    cause = only(twice(changed(LOSS, 13)[12:]), made())
    assert cause.kind is CauseKind.RESUME
    assert cause.detail.startswith("A was resumed")


def test_a_resume_long_before_is_no_cause():
    ids = [c.id for c in found(made(), twice(changed(LOSS, 20)[12:])).causes]
    assert ids == [CauseId.UNKNOWN]


def test_a_resume_that_matters_after_rounding():
    small = [v if i < 3 else v * (1 + 1e-8) for i, v in enumerate(LOSS)]
    b = made(
        loss=[*small[:18], small[12], *changed(LOSS, 13)[13:]],
        batches=[*BATCHES[:18], *BATCHES[12:]],
        attempts=[(0, 18), (12, 12)],
    )
    causes = found(made(), b).causes
    assert {cause.kind for cause in causes} == {CauseKind.BACKWARD, CauseKind.RESUME}
    assert divergence(made(), b).material is not None
