"""TIMING.H2D_BOUND fires on copies that block, where they are known to be copies."""

from __future__ import annotations

import pytest

from pytscope.builtin.rules.timing_h2d_bound import h2d_bound
from pytscope.model.errors import Inconclusive, NotApplicable, NotMeasured
from pytscope.model.findings import Confidence, Severity
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run
from tests.core.builtin.rules.interrupted import instrumented, sparse, watched_run


@pytest.mark.parametrize("h2d", [0, 0.05, 0.3, 1.0])
def test_copies_of_ordinary_length_are_quiet(h2d):
    assert_quiet(h2d_bound, watched_run({"h2d": h2d}, noise=0.2))


@pytest.mark.parametrize(
    ("h2d", "severity"), [(1.6, Severity.LOW), (4, Severity.MEDIUM), (9, Severity.HIGH)]
)
def test_copies_that_block_are_found(h2d, severity):
    (finding,) = assert_fires(h2d_bound, watched_run({"h2d": h2d}, noise=0.1))
    assert finding.severity is severity
    assert finding.confidence is Confidence.CONFIRMED
    assert "Nearly every step" in finding.detail
    for part in ("pin_memory=True", "non_blocking=True", "next batch", "on the device"):
        assert part in finding.fix


def test_the_cost_is_what_exceeds_asking_for_the_copies():
    (finding,) = assert_fires(h2d_bound, watched_run({"h2d": 4}, micro_batches=2))
    assert finding.cost_s.value == pytest.approx(100 * (4 - 2 * 0.1) / 1e3)
    (all_of_it,) = assert_fires(h2d_bound, watched_run({"h2d": 4}), healthy_ms=0.0)
    assert all_of_it.cost_s.value == pytest.approx(0.4)


def test_one_long_copy_is_none():
    assert_quiet(h2d_bound, watched_run({"h2d": sparse(100, [50], 4000)}))


def test_long_copies_in_some_steps_are_told_as_such():
    run = watched_run({"h2d": sparse(100, range(0, 100, 9), 60)})
    (finding,) = assert_fires(h2d_bound, run)
    assert finding.detail.endswith(
        "look for larger batches, or memory that is not pinned, in those."
    )
    assert "12 of 100 steps hold 100.0% of it" in finding.detail
    assert finding.explains == ("EFFICIENCY.LOW_MFU", "EFFICIENCY.RECOVERABLE", "TIMING.JITTER")


def test_tiny_copies_of_tiny_steps_are_not_worth_it():
    run = watched_run({"forward": 0.5, "backward": 0.5, "h2d": 0.25})
    assert_quiet(h2d_bound, run)
    assert_fires(h2d_bound, run, min_stall_ms=0.1)


@pytest.mark.parametrize("sync", [False, None])
def test_without_waiting_for_the_device_a_copy_may_be_compute(sync):
    said = instrumented() if sync is None else instrumented(sync=sync)
    reason = assert_abstains(h2d_bound, watched_run({"h2d": 9}, said), Inconclusive)
    assert "sync=True" in reason
    assert "`h2d` is 28" in reason
    assert_quiet(h2d_bound, watched_run({"h2d": 0.5}, said))


def test_a_loop_that_names_its_copies_needs_no_instrumentation():
    phases = {"h2d": 9, "forward": 20}
    waiting = {"events": [{"kind": "instrumentation", "sync": True}]}
    assert_fires(h2d_bound, make_run(phases, last_attempt=waiting))
    assert_abstains(h2d_bound, make_run(phases), Inconclusive)
    assert_quiet(h2d_bound, make_run({"h2d": 0.3, "forward": 20}))


def test_an_attempt_that_did_not_wait_makes_all_of_them_unsure():
    attempts = [(0, 50), (50, 50)]
    run = watched_run({"h2d": 9}, instrumented(sync=True), attempts=attempts)
    assert_abstains(h2d_bound, run, Inconclusive)


def test_what_is_missing_is_said():
    unseen = make_run({"forward": 10})
    assert "AutoProfiler" in assert_abstains(h2d_bound, unseen, NotMeasured)
    on_cpu = watched_run({}, instrumented(seams=["gc"], accelerator=""))
    assert "no accelerator" in assert_abstains(h2d_bound, on_cpu, NotApplicable)
    blind = watched_run({}, instrumented(seams=["gc"]))
    assert_abstains(h2d_bound, blind, NotMeasured)
    assert_abstains(h2d_bound, watched_run({"h2d": 9}, steps=4), Inconclusive)
    (finding,) = assert_fires(h2d_bound, watched_run({"h2d": 9}, steps=10))
    assert finding.confidence is Confidence.SUGGESTIVE


def test_thresholds_are_honoured():
    assert_quiet(h2d_bound, watched_run({"h2d": 4}), min_share=0.3)
    assert_quiet(h2d_bound, watched_run({"h2d": 4}), min_stall_ms=5)
    assert_quiet(h2d_bound, watched_run({"h2d": 4}), healthy_ms=3.5)
    assert_fires(h2d_bound, watched_run({"h2d": 0.8}), min_share=0.02)
