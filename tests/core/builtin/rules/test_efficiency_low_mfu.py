"""EFFICIENCY.LOW_MFU."""

from __future__ import annotations

import pytest

from pytscope.builtin.rules import low_mfu
from pytscope.model.errors import Inconclusive, NotMeasured
from pytscope.model.findings import Confidence, Severity
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run

PEAK = 1e12


def run(mfu=0.38, phases=None, wall_ms=100, **options):
    figures = {"flops_per_step": mfu * wall_ms * 1e-3 * PEAK, "peak_flops": PEAK}
    return make_run(phases or {"data": 27, "forward": 54, "comm": 19}, **{**figures, **options})


def test_it_fires_below_the_target_and_names_the_largest_line():
    (finding,) = assert_fires(low_mfu, run())
    assert finding.severity is Severity.HIGH
    assert finding.title == "MFU is 38.0%; 62.0% of wall is recoverable"
    assert "data_stall, 27.0% of wall" in finding.detail
    assert finding.fix.startswith("Start with data_stall: more num_workers")
    assert finding.explains == ("EFFICIENCY.RECOVERABLE",)
    assert finding.cost_s.value == pytest.approx(2.7)


def test_cost_and_fix_speak_of_one_line():
    (finding,) = assert_fires(low_mfu, run(mfu=0.2, phases={"data": 5, "forward": 90, "comm": 5}))
    assert "compute_overhead, 70.0% of wall" in finding.detail
    assert finding.fix.startswith("Start with compute_overhead")
    assert finding.cost_s.value == pytest.approx(7.0)


def test_one_hiccup_sets_no_course():
    data = [1] * 79 + [2000]
    short = run(mfu=0.3, phases={"data": data, "forward": 80, "comm": 19})
    (finding,) = assert_fires(low_mfu, short)
    assert finding.fix.startswith("Start with compute_overhead")


def test_a_tuned_run_is_quiet():
    assert_quiet(low_mfu, run(mfu=0.45, phases={"data": 2, "forward": 90, "comm": 8}))


def test_warm_up_and_set_up_of_a_short_run_do_not_count():
    short = run(mfu=0.45, phases={"forward": 100}, steps=40, warmup=15, startup=[("other", 9000)])
    assert_quiet(low_mfu, short)


def test_the_target_can_be_set():
    assert_fires(low_mfu, run(mfu=0.45, phases={"forward": 100}), target=0.5)


def test_without_figures_it_says_what_it_needs():
    reason = assert_abstains(low_mfu, make_run({"forward": 10}), NotMeasured)
    assert "FLOPs per step" in reason
    assert "peak" in reason
    half = make_run({"forward": 10}, peak_flops=PEAK)
    reason = assert_abstains(low_mfu, half, NotMeasured)
    assert "FLOPs per step" in reason
    assert "peak" not in reason


def test_impossible_figures_are_not_judged():
    assert_abstains(low_mfu, run(mfu=3.0), Inconclusive)
    assert_abstains(low_mfu, run(mfu=0.38, phases={"data": 90, "forward": 10}), Inconclusive)


def test_a_run_without_a_compute_line_is_judged_by_the_ratio():
    (finding,) = assert_fires(low_mfu, run(mfu=0.2, phases={"other": 100}))
    assert finding.severity is Severity.HIGH
    assert finding.cost_s.value == pytest.approx(5.0)
    assert 'mark("forward")' in finding.fix


def test_severity_is_low_where_little_can_be_won():
    phases = {"forward": 10, "eval": 90}
    (finding,) = assert_fires(low_mfu, run(mfu=0.0996, phases=phases), target=0.1)
    assert finding.severity is Severity.INFO


def test_few_steps_make_it_suggestive():
    (finding,) = assert_fires(low_mfu, run(steps=10))
    assert finding.confidence is Confidence.SUGGESTIVE


def test_tensor_cores_are_for_accelerators():
    for device, told in (("", False), ("cuda", True)):
        said = {"kind": "instrumentation", "seams": ["gc"], "accelerator": device}
        slow = run(mfu=0.1, phases={"forward": 100}, last_attempt={"events": [said]})
        (finding,) = assert_fires(low_mfu, slow)
        assert ("tensor cores" in finding.fix) is told


def test_a_line_that_holds_next_to_nothing_is_not_named_as_the_cause():
    (finding,) = assert_fires(low_mfu, run(mfu=0.1, phases={"my own": 100, "gc": 0.001}))
    assert finding.fix.startswith("Name what the step does")
    assert finding.cost_s.value > 1
