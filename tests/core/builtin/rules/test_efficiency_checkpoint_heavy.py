"""EFFICIENCY.CHECKPOINT_HEAVY."""

from __future__ import annotations

import pytest

from pytscope.builtin.rules import checkpoint_heavy
from pytscope.model.errors import NotApplicable
from pytscope.model.findings import Confidence, Severity
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run


def every(nth, ms, steps=100):
    return [ms if i % nth == nth - 1 else 0 for i in range(steps)]


def test_it_costs_all_that_it_blocks():
    run = make_run({"forward": 6, "checkpoint": every(10, 40)})
    (finding,) = assert_fires(checkpoint_heavy, run)
    assert finding.title == "Saving checkpoints takes 40.0% of wall"
    assert finding.detail == (
        "It takes 400 ms of 1.00 s, in which nothing trains: "
        "10 checkpoints, 40.0 ms each on average, between the steps rated."
    )
    assert finding.severity is Severity.HIGH
    assert finding.confidence is Confidence.CONFIRMED
    assert finding.cost_s.value == pytest.approx(0.4)
    assert finding.explains == ("EFFICIENCY.RECOVERABLE",)
    assert "torch.distributed.checkpoint.async_save" in finding.fix


@pytest.mark.parametrize(
    ("ms", "severity"),
    [(11, Severity.MEDIUM), (19, Severity.MEDIUM), (21, Severity.HIGH)],
)
def test_severity_follows_the_share(ms, severity):
    run = make_run({"checkpoint": ms, "forward": 100 - ms})
    (finding,) = assert_fires(checkpoint_heavy, run)
    assert finding.severity is severity


def test_with_a_lower_allowance_a_little_is_low():
    run = make_run({"checkpoint": 5, "forward": 95})
    (finding,) = assert_fires(checkpoint_heavy, run, allowance=0.04)
    assert finding.severity is Severity.LOW


def test_a_larger_line_is_not_explained():
    run = make_run({"data": 4, "forward": 3, "checkpoint": every(10, 30)})
    (finding,) = assert_fires(checkpoint_heavy, run)
    assert finding.explains == ()


def test_rare_checkpoints_are_quiet():
    assert_quiet(checkpoint_heavy, make_run({"forward": 10, "checkpoint": every(50, 50)}))


def test_the_allowance_can_be_set():
    run = make_run({"forward": 6, "checkpoint": every(10, 40)})
    assert_quiet(checkpoint_heavy, run, allowance=0.4)


def test_the_one_after_the_last_step_counts_too():
    run = make_run({"forward": 10}, shutdown=[("checkpoint", 600)])
    (finding,) = assert_fires(checkpoint_heavy, run)
    assert finding.evidence[0].value == pytest.approx(0.6)
    assert finding.confidence is Confidence.SUGGESTIVE


def test_few_steps_make_it_suggestive():
    run = make_run({"forward": 6, "checkpoint": 6}, steps=8)
    (finding,) = assert_fires(checkpoint_heavy, run)
    assert finding.confidence is Confidence.SUGGESTIVE


@pytest.mark.parametrize(
    ("saves", "confidence"),
    [([900], Confidence.SUGGESTIVE), ([450, 450], Confidence.CONFIRMED)],
)
def test_one_checkpoint_does_not_tell_how_often_one_comes(saves, confidence):
    each = [0] * 50 + saves + [0] * (50 - len(saves))
    (finding,) = assert_fires(checkpoint_heavy, make_run({"forward": 10, "checkpoint": each}))
    assert finding.confidence is confidence


def test_a_run_without_a_checkpoint_is_not_rated():
    assert_abstains(checkpoint_heavy, make_run({"forward": 10}), NotApplicable)
