"""COVERAGE.ATTEMPTS."""

from __future__ import annotations

import attrs
import pytest

from pytscope.builtin.rules import attempts
from pytscope.model.findings import Severity
from pytscope.runs.run import ReadNote
from pytscope.testing import assert_fires, assert_quiet, make_run


def test_earlier_runs_in_the_directory_are_said_to_be_left_out():
    run = attrs.evolve(make_run({"forward": 10}, attempts=[(0, 50)]), other_attempts=(0, 1))
    latest = tuple(attrs.evolve(a, number=2) for a in run.shown.attempts)
    run = attrs.evolve(run, timelines=(run.shown.select(run.shown.step >= 0, latest),))
    (finding,) = assert_fires(attempts, run)
    assert finding.severity is Severity.LOW
    assert finding.title == "2 attempts in this directory are not in this report"
    assert "Analysed: 2; left out: 0, 1." in finding.detail
    assert finding.cost_s is None


def test_an_earlier_attempt_that_was_asked_for_is_only_mentioned():
    run = attrs.evolve(make_run({"forward": 10}), other_attempts=(1,))
    (finding,) = assert_fires(attempts, run)
    assert finding.severity is Severity.INFO


def test_a_resume_costs_the_steps_done_again_and_setting_up_again():
    run = make_run({"forward": 10}, attempts=[(0, 60), (50, 40)], startup=[("other", 30)])
    (finding,) = assert_fires(attempts, run)
    assert finding.title == "The run was resumed 1 time; 10 steps done again"
    assert finding.cost_s.value == pytest.approx(10 * 0.010 + 0.030)
    assert finding.severity is Severity.MEDIUM
    assert "Checkpoint more often" in finding.fix


def test_time_between_attempts_is_told_and_not_counted():
    run = make_run({"forward": 10}, attempts=[(0, 60), (60, 40)])
    late = (run.shown.attempts[0], attrs.evolve(run.shown.attempts[1], downtime_ns=10**12))
    run = attrs.evolve(run, timelines=(run.shown.select(run.shown.step >= 0, late),))
    (finding,) = assert_fires(attempts, run)
    assert finding.severity is Severity.INFO
    assert "16 m 40 s lay between attempts" in finding.detail
    assert finding.cost_s.value == 0.0


def test_it_accounts_for_recoverable_where_redone_steps_are_the_largest_stall():
    again = [(0, 80), (20, 80)]
    (finding,) = assert_fires(attempts, make_run({"forward": 10}, attempts=again))
    assert finding.explains == ("EFFICIENCY.RECOVERABLE",)
    (finding,) = assert_fires(attempts, make_run({"forward": 1, "comm": 50}, attempts=again))
    assert finding.explains == ()


@pytest.mark.parametrize(
    ("kind", "severity"),
    [
        ("second_file", Severity.LOW),
        ("foreign_file", Severity.LOW),
        ("two_writers", Severity.MEDIUM),
        ("repeated", Severity.LOW),
    ],
)
def test_what_lies_beside_the_run_is_told(kind, severity):
    notes = [ReadNote(kind, "steps.jsonl is left out", None)]
    (finding,) = assert_fires(attempts, make_run({"forward": 10}, notes=notes))
    assert finding.severity is severity
    assert finding.detail == "Steps.jsonl is left out."


def test_files_of_ranks_that_are_missing_are_another_rules():
    notes = [ReadNote("foreign_file", "rank00003.pts is no recording", 3)]
    assert_quiet(attempts, make_run({"forward": 10}, notes=notes))


def test_one_run_in_its_directory_is_quiet():
    assert_quiet(attempts, make_run({"forward": 10}))
    assert_quiet(attempts, make_run({"forward": 10}, ranks=4))
