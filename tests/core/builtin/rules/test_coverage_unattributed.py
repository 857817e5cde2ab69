"""COVERAGE.UNATTRIBUTED."""

from __future__ import annotations

import attrs
import pytest

from pytscope.builtin.rules import unattributed
from pytscope.model.errors import Inconclusive
from pytscope.model.findings import Severity
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run


@pytest.mark.parametrize(("other", "severity"), [(5, Severity.LOW), (20, Severity.MEDIUM)])
def test_a_loop_of_unnamed_time_is_told(other, severity):
    (finding,) = assert_fires(unattributed, make_run({"forward": 10, "other": other}))
    assert finding.severity is severity
    assert finding.cost_s is None
    assert 'mark("...")' in finding.fix


def test_unnamed_time_in_every_kth_step_points_to_what_is_beside_the_step():
    other = [300 if i % 20 == 7 else 0.1 for i in range(200)]
    (finding,) = assert_fires(unattributed, make_run({"forward": 10, "other": other}))
    assert "one of every 20 steps" in finding.detail
    assert "evaluation" in finding.fix


def test_named_time_and_one_odd_step_are_quiet():
    assert_quiet(unattributed, make_run({"forward": 10, "other": 3}))
    assert_quiet(unattributed, make_run({"forward": 10, "other": [0.1] * 99 + [9000]}))
    assert_quiet(unattributed, make_run({"my own phase": 10}))


def test_wall_that_no_step_holds_counts_where_only_durations_are_known():
    run = make_run({"forward": 10}, last_attempt={"unplaced_ns": 9 * 10**9})
    assert_quiet(unattributed, run)
    (finding,) = assert_fires(unattributed, attrs.evolve(run, has_timeline=False))
    assert finding.title == "90.0% of the wall has no name"
    assert finding.severity is Severity.MEDIUM


def test_limits_can_be_set():
    run = make_run({"forward": 10, "other": 5})
    assert_quiet(unattributed, run, min_share=0.5)
    (finding,) = assert_fires(unattributed, run, most_share=0.3)
    assert finding.severity is Severity.MEDIUM


def test_few_steps_are_inconclusive():
    assert_abstains(unattributed, make_run({"other": 10}, steps=4), Inconclusive)


def test_without_data_the_loader_is_the_first_thing_to_name():
    (finding,) = assert_fires(unattributed, make_run({"forward": 10, "other": 20}))
    assert finding.fix.startswith("No `data` was recorded: wrap the loader with iter_data(), or")
    (finding,) = assert_fires(unattributed, make_run({"data": 1, "forward": 10, "other": 20}))
    assert finding.fix.startswith("Close each part")


def test_a_recorder_that_names_phases_itself_is_not_told_to_mark():
    event = {"kind": "instrumentation", "seams": ["gc", "data"]}
    made = make_run({"forward": 10, "other": 20}, last_attempt={"events": [event]})
    (finding,) = assert_fires(unattributed, made)
    assert "mark(" not in finding.fix
    assert "iter_data()" in finding.fix
