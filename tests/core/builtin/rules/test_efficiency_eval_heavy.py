"""EFFICIENCY.EVAL_HEAVY."""

from __future__ import annotations

import pytest

from pytscope.builtin.rules import eval_heavy
from pytscope.model.errors import NotApplicable
from pytscope.model.findings import Confidence, Severity
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run


def every(nth, ms, steps=100):
    return [ms if i % nth == nth - 1 else 0 for i in range(steps)]


def test_it_costs_what_exceeds_the_allowance():
    (finding,) = assert_fires(eval_heavy, make_run({"forward": 6, "eval": every(10, 40)}))
    assert finding.title == "Evaluation takes 40.0% of wall"
    assert finding.detail == (
        "It takes 400 ms of 1.00 s: 10 evaluations, 40.0 ms each on average, between the steps "
        "rated. The cost is what lies above the 20.0% of wall that the rule allows."
    )
    assert finding.severity is Severity.HIGH
    assert finding.confidence is Confidence.CONFIRMED
    assert finding.cost_s.value == pytest.approx(0.4 - 0.25 * 0.6)
    assert finding.cost_s.low is finding.cost_s.high is None


@pytest.mark.parametrize(
    ("ms", "severity"),
    [(21, Severity.INFO), (24, Severity.LOW), (30, Severity.MEDIUM), (45, Severity.HIGH)],
)
def test_severity_follows_the_excess_over_the_allowance(ms, severity):
    (finding,) = assert_fires(eval_heavy, make_run({"eval": ms, "forward": 100 - ms}))
    assert finding.severity is severity


def test_a_moderate_evaluation_is_quiet():
    assert_quiet(eval_heavy, make_run({"forward": 10, "eval": every(20, 40)}))


def test_the_allowance_can_be_set():
    run = make_run({"forward": 6, "eval": every(10, 40)})
    assert_quiet(eval_heavy, run, allowance=0.4)


def test_before_the_first_step_and_after_the_last_it_counts_too():
    run = make_run({"forward": 10}, startup=[("eval", 300)], shutdown=[("eval", 300)])
    (finding,) = assert_fires(eval_heavy, run)
    assert finding.evidence[0].value == pytest.approx(0.6)
    assert (
        "It takes 600 ms of 1.60 s: 2 evaluations, 300 ms each on average "
        "(1 before the first, 1 after the last)."
    ) in finding.detail


def test_those_after_the_last_step_are_counted_with_those_between():
    evaluated = every(40, 300)
    shutdown = [("eval", 100), ("data", 50), ("eval", 100), ("log", 1), ("eval", 50)]
    run = make_run({"forward": 1, "eval": evaluated}, shutdown=shutdown)
    (finding,) = assert_fires(eval_heavy, run)
    assert (
        "900 ms of 1.00 s: 3 evaluations, 300 ms each on average "
        "(2 between the steps rated, 1 after the last)"
    ) in finding.detail


def test_few_steps_make_it_suggestive():
    (finding,) = assert_fires(eval_heavy, make_run({"forward": 6, "eval": 6}, steps=8))
    assert finding.confidence is Confidence.SUGGESTIVE


def test_one_evaluation_does_not_tell_how_often_one_comes():
    run = make_run({"forward": 10, "eval": [0] * 50 + [900] + [0] * 49})
    (finding,) = assert_fires(eval_heavy, run)
    assert finding.confidence is Confidence.SUGGESTIVE
    run = make_run({"forward": 10, "eval": [0] * 49 + [450, 450] + [0] * 49})
    (finding,) = assert_fires(eval_heavy, run)
    assert finding.confidence is Confidence.CONFIRMED


def test_a_run_without_an_evaluation_is_not_rated():
    assert_abstains(eval_heavy, make_run({"forward": 10}), NotApplicable)
