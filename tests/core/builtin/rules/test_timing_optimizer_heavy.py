"""TIMING.OPTIMIZER_HEAVY fires on updates that take too much of compute."""

from __future__ import annotations

import pytest

from pytscope.builtin.rules import optimizer_heavy
from pytscope.model.errors import Inconclusive, NotMeasured
from pytscope.model.findings import Confidence, Severity
from pytscope.model.records import Flag
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run

REST = {"data": 0.5, "forward": 10, "backward": 20}


def made(optimizer, **options):
    phases = {**REST, "optimizer": optimizer, **options.pop("phases", {})}
    return make_run(phases, **{"noise": 0.1, **options})


@pytest.mark.parametrize("optimizer", [0.5, 1.5, 3, 6])
def test_ordinary_updates_are_quiet(optimizer):
    assert_quiet(optimizer_heavy, made(optimizer))


@pytest.mark.parametrize(
    ("optimizer", "severity"), [(13, Severity.HIGH), (12, Severity.HIGH), (60, Severity.HIGH)]
)
def test_an_update_that_takes_too_much_is_found(optimizer, severity):
    (finding,) = assert_fires(optimizer_heavy, made(optimizer))
    assert finding.severity is severity
    assert finding.confidence is Confidence.SUGGESTIVE
    assert "fused=True" in finding.fix


def test_the_cost_is_what_exceeds_a_tenth_of_compute():
    (finding,) = assert_fires(optimizer_heavy, made(20, noise=0.0))
    assert finding.title == "The optimizer takes 40.0% of compute"
    assert finding.cost_s.value == pytest.approx(100 * (20 - 30 / 9) / 1e3)
    assert finding.cost_s.low == pytest.approx(100 * (20 - 10) / 1e3)
    assert finding.cost_s.high == pytest.approx(100 * (20 - 30 * 0.05 / 0.95) / 1e3)


def test_severity_follows_the_cost_over_the_wall():
    slow = made(12, phases={"data": 60})
    (finding,) = assert_fires(optimizer_heavy, slow)
    assert finding.severity is Severity.MEDIUM


def test_tiny_steps_are_not_worth_it():
    run = make_run({"forward": 100, "backward": 150, "optimizer": 200}, unit="us")
    assert_quiet(optimizer_heavy, run)
    assert_fires(optimizer_heavy, run, min_excess_ms=0.1)


def test_coarse_compute_beside_the_update_is_enough():
    assert_fires(optimizer_heavy, make_run({"compute": 20, "optimizer": 20}))


def test_one_long_update_is_not_a_heavy_optimizer():
    assert_quiet(optimizer_heavy, made([1.0] * 99 + [4000.0]))


def test_an_update_that_is_heavy_in_every_kth_step_is_told_with_its_period():
    optimizer = [400 if i % 10 == 3 else 1 for i in range(200)]
    (finding,) = assert_fires(optimizer_heavy, made(optimizer))
    assert "one of every 10 steps" in finding.detail
    assert "every 10 steps" in finding.fix
    assert finding.explains == ("TIMING.JITTER",)


@pytest.mark.parametrize("name", ["grad_norm", "grad_scale"])
def test_norms_and_scalers_that_no_phase_keeps_apart_make_it_inconclusive(name):
    run = made(30, scalars={name: 1.0})
    assert f"`{name}` is logged" in assert_abstains(optimizer_heavy, run, Inconclusive)
    apart = made(30, scalars={name: 1.0}, phases={"clip": 2})
    assert_fires(optimizer_heavy, apart)
    assert_quiet(optimizer_heavy, made(1, scalars={name: 1.0}))


def test_skipped_updates_tell_of_a_scaler():
    run = made(30, flags={Flag.SKIPPED: [5]})
    assert "skipped" in assert_abstains(optimizer_heavy, run, Inconclusive)


def test_thresholds_are_honoured():
    assert_quiet(optimizer_heavy, made(20), min_share=0.6)
    assert_quiet(optimizer_heavy, made(20), min_excess=0.5)
    assert_fires(optimizer_heavy, made(7), min_share=0.1)
    (less,) = assert_fires(optimizer_heavy, made(20), healthy_share=0.2)
    (more,) = assert_fires(optimizer_heavy, made(20))
    assert less.cost_s.value < more.cost_s.value


def test_what_is_missing_is_said():
    assert "optimizer" in assert_abstains(optimizer_heavy, make_run(REST), NotMeasured)
    assert_abstains(optimizer_heavy, make_run({"optimizer": 5}), NotMeasured)
    assert_abstains(optimizer_heavy, made(20, steps=19), Inconclusive)


def test_a_misspelt_phase_is_pointed_out():
    reason = assert_abstains(optimizer_heavy, make_run({"forwrd": 9, "optimizer": 2}), NotMeasured)
    assert "`forwrd` was recorded: did you mean `forward`?" in reason
