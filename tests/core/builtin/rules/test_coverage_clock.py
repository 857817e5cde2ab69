"""COVERAGE.CLOCK."""

from __future__ import annotations

import attrs
import pytest

from pytscope.builtin.rules import clock, impossible
from pytscope.model.findings import Severity
from pytscope.runs.run import Gap, ReadNote
from pytscope.testing import assert_fires, assert_quiet, make_run


def test_durations_below_zero_are_named_with_their_steps():
    run = make_run({"forward": [10] * 50 + [-5] + [10] * 49}, first_step=200)
    (finding,) = assert_fires(clock, run)
    assert finding.title == "Recorded durations contradict each other"
    assert "went back once, by 5.00 ms" in finding.detail
    assert finding.steps == ((250, 250),)
    assert finding.severity is Severity.MEDIUM
    assert finding.cost_s is None


def test_much_time_below_zero_is_high():
    (finding,) = assert_fires(clock, make_run({"forward": [10] * 80 + [-10] * 20}))
    assert finding.severity is Severity.HIGH
    (finding,) = assert_fires(clock, make_run({"forward": -10}))
    assert finding.severity is Severity.HIGH


def test_records_that_overlap_are_told_once_and_here():
    gap = Gap(30, 0, -50_000_000)
    run = make_run({"forward": 10}, last_attempt={"gaps": (gap,), "lost_ns": -50_000_000})
    (finding,) = assert_fires(clock, run)
    assert finding.steps == ((30, 30),)
    assert "50.0 ms" in finding.detail
    assert_quiet(impossible, run)


def test_several_ranks_are_one_finding():
    run = make_run({"forward": [10] * 99 + [-1]}, ranks=5)
    (finding,) = assert_fires(clock, run)
    assert finding.ranks == (0, 1, 2, 3, 4)
    assert "So did those of 2 ranks more." in finding.detail


@pytest.mark.parametrize(("attempts", "severity"), [(1, Severity.INFO), (2, Severity.LOW)])
def test_a_jump_of_the_time_of_day_matters_where_attempts_are_matched(attempts, severity):
    note = ReadNote("clock_step", "the time of day of rank 0 jumped once", 0)
    spans = [(0, 100)] if attempts == 1 else [(0, 50), (50, 50)]
    run = make_run({"forward": 10}, attempts=spans, notes=[note])
    (finding,) = assert_fires(clock, run)
    assert finding.severity is severity
    assert "The time of day of rank 0 jumped once." in finding.detail


def started(*epochs_s):
    run = make_run({"forward": 100}, attempts=[(0, 50), (50, 50)])
    attempts = [
        attrs.evolve(a, start_epoch_ns=round(s * 1e9))
        for a, s in zip(run.shown.attempts, epochs_s, strict=True)
    ]
    return attrs.evolve(run, timelines=(run.shown.select(run.shown.step >= 0, tuple(attempts)),))


def test_an_attempt_that_starts_before_the_one_before_it_ended():
    (finding,) = assert_fires(clock, started(1.7e9, 1.7e9 + 2))
    assert "attempt 1 of rank 0 started 3.00 s before attempt 0 ended" in finding.detail
    assert_quiet(clock, started(1.7e9, 1.7e9 + 4.5))
    assert_quiet(clock, started(0, 1.7e9))


def test_a_clock_that_was_never_set():
    (finding,) = assert_fires(clock, started(40, 60))
    assert "was not set when attempt 0 started" in finding.detail


def test_sound_times_are_quiet():
    assert_quiet(clock, make_run({"forward": 10}))
    assert_quiet(clock, make_run({"forward": 0}))
    assert_quiet(clock, make_run({"forward": 10}, ranks=2, attempts=[(0, 60), (50, 40)]))
