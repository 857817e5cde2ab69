"""EFFICIENCY.RECOVERABLE."""

from __future__ import annotations

import pytest

from pytscope.builtin.rules import recoverable
from pytscope.model.errors import NotMeasured
from pytscope.model.findings import Confidence, Severity
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run


def test_lines_are_ranked_by_seconds_and_the_largest_is_the_cost():
    run = make_run({"data": 10, "comm": 30, "checkpoint": 5, "forward": 55})
    (finding,) = assert_fires(recoverable, run)
    assert finding.title == "45.0% of wall is recoverable waiting, most of it communication"
    assert [e.metric for e in finding.evidence] == ["communication", "data_stall", "checkpoint"]
    assert finding.cost_s.value == pytest.approx(3.0)
    assert finding.fix.startswith("Start with communication")
    assert finding.explains == ()


@pytest.mark.parametrize(
    ("comm", "severity"),
    [(21, Severity.INFO), (24, Severity.LOW), (30, Severity.MEDIUM), (45, Severity.HIGH)],
)
def test_severity_follows_the_excess_over_the_allowance(comm, severity):
    (finding,) = assert_fires(recoverable, make_run({"comm": comm, "forward": 100 - comm}))
    assert finding.severity is severity


def test_a_tuned_run_is_quiet():
    run = make_run({"data": 3, "comm": 10, "checkpoint": 3, "log": 1, "forward": 83})
    assert_quiet(recoverable, run)


def test_eval_warm_up_and_set_up_are_not_recoverable():
    run = make_run({"forward": 10, "eval": 30}, warmup=40, startup=[("other", 900)], steps=100)
    assert_quiet(recoverable, run)


def test_compute_overhead_is_left_to_low_mfu():
    run = make_run({"forward": 10}, flops_per_step=1e8, peak_flops=1e12)
    assert_quiet(recoverable, run)


def test_steps_done_again_are_recoverable():
    run = make_run({"forward": 10}, attempts=[(0, 60), (10, 40)])
    (finding,) = assert_fires(recoverable, run)
    assert finding.evidence[0].metric == "redone"


def test_the_allowance_can_be_set():
    run = make_run({"comm": 30, "forward": 70})
    assert_quiet(recoverable, run, allowance=0.3)


def test_one_outlier_is_named_and_nothing_advised():
    run = make_run({"data": [1.0] * 40 + [500.0] + [1.0] * 39, "forward": 10})
    (finding,) = assert_fires(recoverable, run)
    assert finding.severity is Severity.LOW
    assert finding.confidence is Confidence.SUGGESTIVE
    assert finding.title == "Step 40 alone waited 500 ms, mostly in data"
    assert finding.steps == ((40, 40),)
    assert finding.cost_s.value == pytest.approx(0.5)
    assert "num_workers" not in finding.fix


def test_a_step_that_only_tips_the_balance_makes_no_finding():
    run = make_run({"comm": [19.5] * 99 + [120], "forward": 80})
    assert_quiet(recoverable, run)


def test_many_outliers_are_advised_on():
    run = make_run({"data": [300.0 if i % 20 == 0 else 1.0 for i in range(100)], "forward": 10})
    (finding,) = assert_fires(recoverable, run)
    assert finding.fix.startswith("Start with data_stall")


def test_no_wall_is_not_measured():
    assert_abstains(recoverable, make_run({"forward": []}), NotMeasured)


def test_few_steps_make_it_suggestive():
    (finding,) = assert_fires(recoverable, make_run({"comm": 5, "forward": 5}, steps=10))
    assert finding.confidence is Confidence.SUGGESTIVE
