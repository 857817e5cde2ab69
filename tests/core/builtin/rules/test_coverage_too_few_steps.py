"""COVERAGE.TOO_FEW_STEPS."""

from __future__ import annotations

import attrs
import pytest

from pytscope.builtin.rules import too_few_steps
from pytscope.model.findings import Severity
from pytscope.recording.writer import NO_STEP
from pytscope.testing import assert_fires, assert_quiet, make_run


@pytest.mark.parametrize("steps", [1, 19])
def test_few_rated_steps_are_low(steps):
    (finding,) = assert_fires(too_few_steps, make_run({"forward": 10}, steps=steps))
    assert finding.severity is Severity.LOW
    assert str(steps) in finding.title
    assert finding.cost_s is None


def test_a_warm_up_longer_than_the_run_is_medium_and_says_what_to_do():
    (finding,) = assert_fires(too_few_steps, make_run({"forward": 10}, steps=50, warmup=1000))
    assert finding.severity is Severity.MEDIUM
    assert finding.title == "No step counts in rates"
    assert "--warmup" in finding.fix


def test_an_empty_run_is_medium():
    (finding,) = assert_fires(too_few_steps, make_run({"forward": []}))
    assert finding.severity is Severity.MEDIUM
    assert "prof.step()" in finding.fix
    assert "--steps" not in finding.fix


def test_marks_that_nothing_ended_are_named_as_the_cause():
    event = {"kind": "warning", "t": 5, "message": NO_STEP}
    run = make_run({"forward": []}, last_attempt={"events": (event,)})
    (finding,) = assert_fires(too_few_steps, run)
    assert finding.title == "Nothing ended a step"
    assert finding.fix.startswith("Wrap each iteration in `with prof.step():`")


def test_a_window_is_mentioned():
    run = attrs.evolve(make_run({"forward": 10}, steps=5), window=(0, 4))
    (finding,) = assert_fires(too_few_steps, run)
    assert "in the window asked for" in finding.detail
    assert finding.fix == "Widen --steps, or record more steps."


def test_enough_steps_are_quiet_and_the_number_can_be_set():
    assert_quiet(too_few_steps, make_run({"forward": 10}, steps=20))
    assert_quiet(too_few_steps, make_run({"forward": 10}, steps=5), min_steps=5)
    assert_fires(too_few_steps, make_run({"forward": 10}, steps=20), min_steps=21)
