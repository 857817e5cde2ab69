"""Known events: what happened, when, and for what it accounts."""

from __future__ import annotations

import numpy as np
import pytest

from pytscope.builtin.analyzers import event_mask
from pytscope.model.records import Flag
from pytscope.testing import make_run

STEPS = 200


def every(n: int, ms: float, at: int = 0) -> list[float]:
    return [ms if i % n == at else 0 for i in range(STEPS)]


def events(run):
    return {event.kind: event for event in event_mask(run).events}


def test_nothing_happened_in_a_plain_run():
    mask = event_mask(make_run({"forward": 10}, steps=STEPS))
    assert mask.events == ()
    assert mask.panel() is None


def test_evaluations_and_checkpoints_are_told_with_their_period():
    phases = {"forward": 10, "eval": every(50, 300, 49), "checkpoint": every(40, 80, 20)}
    found = events(make_run(phases))
    assert found["eval"].step.values.tolist() == [49, 99, 149, 199]
    assert found["eval"].every == 50
    assert found["checkpoint"].count == 5
    assert found["eval"].explains == ("step_time", "memory")


def test_those_before_the_first_step_and_after_the_last_are_counted_and_placed():
    shutdown = [("eval", 100), ("log", 1), ("eval", 100), ("checkpoint", 5)]
    run = make_run({"forward": 10, "eval": every(100, 300, 50)}, shutdown=shutdown)
    mask = event_mask(run)
    assert mask.panel().headline == (
        "eval 3 (2 between steps, 1 after the last) · "
        "checkpoint 1 (1 after the last)   (known causes)"
    )
    evaluation, saved = mask.panel().rows[0].rows
    assert evaluation[:4] == ("eval", "3", "-", "50, 150, 1 after the last")
    assert saved[:4] == ("checkpoint", "1", "-", "1 after the last")
    assert mask.event("eval").count == 2


def test_an_evaluation_accounts_for_its_step_and_the_next():
    mask = event_mask(make_run({"forward": 10, "eval": every(50, 300, 49)}))
    steps = np.array([48, 49, 50, 51])
    assert mask.explained("step_time", steps) == ["", "eval", "eval", ""]
    assert mask.explained("loss", steps) == ["", "", "", ""]
    assert mask.masked("step_time", steps).tolist() == [False, True, True, False]


def test_a_value_that_stands_for_ten_steps_is_accounted_for_by_an_event_in_them():
    scalars = {"epoch": [i / 95 for i in range(STEPS)]}
    mask = event_mask(make_run({"forward": 10}, scalars=scalars))
    steps = np.array([90, 100, 110])
    assert mask.explained("loss", steps, 10) == ["", "epoch", ""]
    assert mask.explained("loss", steps, 1) == ["", "", ""]


def test_warm_up_is_an_event_of_all_axes():
    found = events(make_run({"forward": 10}, steps=STEPS, warmup=7))
    assert found["warm-up"].count == 7
    assert set(found["warm-up"].explains) == {"loss", "grad_norm", "step_time", "memory"}


def test_a_resume_is_where_a_later_attempt_begins():
    run = make_run({"forward": 10}, attempts=[(0, 120), (100, 100)], warmup=0)
    mask = event_mask(run)
    assert mask.steps == STEPS
    assert events(run)["resume"].step.values.tolist() == [100]
    assert mask.explained("loss", np.array([99, 100, 105, 106])) == ["", "resume", "resume", ""]


def test_epochs_come_from_the_logged_number_whole_or_not():
    whole = {"epoch": [i // 80 for i in range(STEPS)]}
    parts = {"epoch": [(i + 1) / 80 for i in range(STEPS)]}
    found = events(make_run({"forward": 10}, scalars=whole))
    assert found["epoch"].step.values.tolist() == [80, 160]
    found = events(make_run({"forward": 10}, scalars=parts))
    assert found["epoch"].step.values.tolist() == [79, 159]


def test_a_raised_rate_is_an_event_and_a_schedule_is_none():
    jump = {"lr": [1e-3 if i < 90 else 4e-3 for i in range(STEPS)]}
    assert events(make_run({"forward": 10}, scalars=jump))["lr"].step.values.tolist() == [90]
    warming = {"lr": [1e-5 * (i + 1) for i in range(STEPS)]}
    assert "lr" not in events(make_run({"forward": 10}, scalars=warming))
    doubling = {"lr": [1e-9 * 2 ** min(i, 20) for i in range(STEPS)]}
    assert "lr" not in events(make_run({"forward": 10}, scalars=doubling))
    again = {"lr": [1e-3 * (1.01 - i % 60 / 60) for i in range(STEPS)]}
    found = events(make_run({"forward": 10}, scalars=again))
    assert found["lr"].step.values.tolist() == [60, 120, 180]
    falling = {"lr": [1e-3 if i < 90 else 1e-4 for i in range(STEPS)]}
    assert "lr" not in events(make_run({"forward": 10}, scalars=falling))


def test_a_restart_in_the_log_is_an_event():
    course = [2 + 9 * np.exp(-i / 5) for i in range(100)]
    found = events(make_run({"forward": 10}, scalars={"loss": [*course, *course]}))
    assert found["restart"].step.values.tolist() == [100]


def test_skipped_updates_account_for_gradients_without_bound():
    run = make_run({"forward": 10}, steps=STEPS, flags={Flag.SKIPPED: [30]})
    assert event_mask(run).explained("grad_norm", np.array([29, 30])) == ["", "skipped"]


def test_what_most_steps_hold_accounts_for_nothing():
    mask = event_mask(make_run({"forward": 10, "eval": every(1, 5)}))
    (event,) = mask.events
    assert (event.count, event.explains) == (STEPS, ())
    assert not mask.masked("step_time", np.arange(STEPS)).any()


def test_what_is_not_known_is_said():
    assert event_mask(make_run({"forward": 10})).unknown == ()  # nothing logged, nothing to explain
    assert len(event_mask(make_run({"forward": 10}, scalars={"loss": 1.0})).unknown) == 3
    told = {"epoch": 1.0, "lr": 1e-3, "loss": 1.0}
    phases = {"forward": 10, "eval": every(50, 1), "checkpoint": every(50, 1)}
    assert event_mask(make_run(phases, scalars=told)).unknown == ()


def test_the_panel_names_events_periods_and_axes():
    panel = event_mask(make_run({"forward": 10, "eval": every(50, 300, 49)})).panel()
    assert panel is not None
    assert panel.headline.startswith("eval 4")
    assert panel.rows[0].rows[0] == ("eval", "4", "50", "49, 99, 149, 199", "step time, memory")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 0.0])
def test_odd_rates_and_epochs_are_passed_over(value):
    odd = [value if i % 7 == 3 else 1.0 for i in range(STEPS)]
    run = make_run({"forward": 10}, scalars={"lr": odd, "epoch": [value] * STEPS, "loss": odd})
    assert all(len(event.step) == event.count for event in event_mask(run).events)


def test_warm_up_alone_is_no_panel_where_nothing_is_logged():
    assert event_mask(make_run({"forward": 10}, warmup=5)).panel() is None
    assert event_mask(make_run({"forward": 10}, warmup=5, scalars={"loss": 1.0})).panel()


def test_huge_rates_and_epochs_do_not_overflow():
    huge = [1e308 * (-1) ** i for i in range(STEPS)]
    event_mask(make_run({"forward": 10}, scalars={"epoch": huge, "lr": [1e308] * STEPS}))
