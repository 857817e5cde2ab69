"""The gate on regressions: failed, passed, and never passed where nobody could tell."""

from __future__ import annotations

import math

import attrs
import pytest

from pytscope.cli.diff_values import regression
from pytscope.diffing.gate import Gated, RegressionGate, evaluated
from pytscope.model.comparison import Measured, Verdict
from tests.core.diffing.said import SLOWER, WORSE


def gated(limit: float, *outcomes: Measured, timings: tuple[Measured, ...] = ()) -> Gated:
    return evaluated(RegressionGate(limit), outcomes, timings)[0]


def of(verdict: Verdict, measured: Measured = WORSE, **more: object) -> Measured:
    return attrs.evolve(measured, verdict=verdict, **more)


@pytest.mark.parametrize(("limit", "outcome"), [(0.0, "FAILED"), (0.19, "FAILED"), (0.2, "PASSED")])
def test_a_regression_fails_from_the_limit_on(limit, outcome):
    assert gated(limit, WORSE) is Gated[outcome]


def test_one_that_is_not_decided_is_not_evaluated_and_says_why():
    outcome, reason = evaluated(RegressionGate(), [of(Verdict.UNDECIDED)], [])
    assert outcome is Gated.NOT_EVALUATED
    assert reason == "final loss: Ten times what repeats differ by"


def test_nothing_that_both_have_is_not_evaluated():
    assert gated(0.05) is Gated.NOT_EVALUATED
    assert gated(0.05, of(Verdict.UNDECIDED, lower_is_better=None)) is Gated.NOT_EVALUATED


def test_an_interval_beyond_the_limit_rules_nothing_out():
    wide = of(Verdict.NO_DIFFERENCE, difference=0.0, relative=0.0, p=1.0, low=-0.2, high=0.2)
    assert gated(0.05, wide) is Gated.NOT_EVALUATED
    assert gated(0.5, wide) is Gated.PASSED
    assert gated(0.0, wide) is Gated.PASSED


def test_which_end_is_worse_depends_on_the_metric():
    up = of(Verdict.NO_DIFFERENCE, difference=0.0, relative=0.0, low=0.0, high=0.2)
    assert gated(0.05, attrs.evolve(up, lower_is_better=False)) is Gated.PASSED
    assert gated(0.05, attrs.evolve(up, low=-0.2, lower_is_better=False)) is Gated.NOT_EVALUATED


@pytest.mark.parametrize("verdict", [Verdict.IDENTICAL, Verdict.IMPROVEMENT])
def test_what_is_no_worse_passes(verdict):
    assert gated(0.05, of(verdict)) is Gated.PASSED


def test_a_step_time_that_nobody_can_judge_does_not_hold_up_a_judged_result():
    outcome, reason = evaluated(RegressionGate(0.05), [of(Verdict.IDENTICAL)], [SLOWER])
    assert outcome is Gated.PASSED
    said = "no regression of 5.0% or more in final loss; not evaluated: step time: One run an arm"
    assert reason == said


def unseen(p: float, **more: object) -> Measured:
    """Worse, and not seen to be: 0.04 of a loss of 0.5 would have been."""
    return of(Verdict.NO_DIFFERENCE, **{"p": p, "smallest": 0.04, "low": -0.1, "high": 0.3, **more})


def test_without_a_limit_a_gate_passes_with_what_would_have_been_seen():
    outcome, reason = evaluated(RegressionGate(), [unseen(0.4, first=(0.5, 0.5, 0.5))], [])
    assert outcome is Gated.PASSED
    assert reason == "final loss: none seen, 8.0% or more would have been seen"


@pytest.mark.parametrize(
    ("measured", "outcome"),
    [
        (unseen(0.062), "NOT_EVALUATED"),
        (unseen(0.199), "NOT_EVALUATED"),
        (unseen(0.2), "PASSED"),
        (unseen(0.062, difference=-0.1), "PASSED"),
        (unseen(0.062, lower_is_better=False), "PASSED"),
        (unseen(0.062, lower_is_better=False, difference=-0.1), "NOT_EVALUATED"),
        (unseen(0.25, smallest=None), "NOT_EVALUATED"),
        (unseen(1.0, smallest=None, difference=0.0), "PASSED"),
        (unseen(0.4, smallest=None, difference=math.nan, second=(math.nan,)), "NOT_EVALUATED"),
        (unseen(0.4, smallest=None, difference=math.nan, first=(math.nan,)), "PASSED"),
    ],
)
def test_without_a_limit_a_worsening_that_may_be_none_is_not_evaluated(measured, outcome):
    found, reason = evaluated(RegressionGate(), [measured], [])
    assert found is Gated[outcome]
    assert ("too few runs to tell" in reason) == (outcome == "NOT_EVALUATED")


def test_a_regression_below_the_limit_is_no_absence_of_one():
    outcome, reason = evaluated(RegressionGate(0.5), [WORSE], [])
    assert (outcome, reason) == (Gated.PASSED, "final loss: worse by 19.6% only")


@pytest.mark.parametrize("text", ["regression:5%", "regression:0.05", "regression"])
def test_a_gate_is_called_as_it_was_typed(text):
    assert str(regression(text)) == text


def test_but_an_undecided_result_does():
    both = (of(Verdict.IDENTICAL), of(Verdict.UNDECIDED, metric="final accuracy"))
    assert gated(0.05, *both) is Gated.NOT_EVALUATED


def test_slower_steps_fail_and_a_slower_phase_alone_does_not():
    slow = of(Verdict.REGRESSION, SLOWER)
    assert gated(0.05, timings=(slow,)) is Gated.FAILED
    fine = of(Verdict.NO_DIFFERENCE, SLOWER, low=-0.1, high=0.1)
    assert gated(0.05, timings=(attrs.evolve(slow, metric="forward"), fine)) is Gated.PASSED


def test_a_failure_counts_before_what_is_not_evaluated():
    assert gated(0.0, of(Verdict.UNDECIDED), of(Verdict.REGRESSION)) is Gated.FAILED


def test_the_pair_is_named():
    _, reason = evaluated(RegressionGate(), [attrs.evolve(WORSE, between="A, C")], [])
    assert reason == "final loss (A, C): worse by 19.6%"
