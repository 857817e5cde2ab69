"""CROSS.CORRELATED_INSTABILITY: moments that chance does not make."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest

import pytscope
from pytscope.builtin.rules import correlated_instability
from pytscope.model.errors import Inconclusive, NotMeasured
from pytscope.model.findings import Confidence, Severity
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run
from tests.core.builtin.rules.noise import upper_bound
from tests.core.builtin.rules.signal_noise import (
    BEYOND_NOISE,
    LENGTHS,
    UNRELATED,
    UPSETS,
    signal_alarms,
    unrelated_run,
)

STEPS = 120
RUNS = 314
POWER_RUNS = 20
IN_CI = ("AR(1) rho 0.9, 20 %", "Student t3, 10 %")
SEEN = range(70, 73)


def noise(level: float, seed: int, steps: int = STEPS) -> np.ndarray:
    return level * np.random.default_rng(seed).lognormal(0.0, 0.03, steps)


def upset(at=SEEN, loss=3.0, grad_norm=30.0, step_time=2.4, steps=STEPS, lead=0, **more):
    """A run whose axes are raised in some steps; the gradient norm `lead` steps before."""
    values = {
        "loss": noise(1.2, 1, steps) * (1 + 1 / (1 + 0.1 * np.arange(steps))),
        "grad_norm": noise(1.5, 2, steps),
        "forward": noise(10, 3, steps),
    }
    there = np.array([s for s in at if s < steps])
    values["loss"][there] *= loss
    values["grad_norm"][there - lead] *= grad_norm
    values["forward"][there] *= step_time
    scalars = {n: values[n].tolist() for n in ("loss", "grad_norm")} | more.pop("scalars", {})
    phases = {"forward": values["forward"].tolist()} | more.pop("phases", {})
    return make_run(phases, scalars=scalars, **more)


def test_three_axes_at_once_are_high():
    (finding,) = assert_fires(correlated_instability, upset())
    assert finding.severity is Severity.HIGH
    assert finding.confidence is Confidence.CONFIRMED
    assert finding.title == "Correlated instability at steps 70\N{EN DASH}72"
    assert finding.steps == ((70, 72),)
    for words in ("loss", "grad norm", "step time", "back after 3 points"):
        assert words in finding.detail


def test_its_cost_is_what_the_steps_take_beyond_the_usual():
    (finding,) = assert_fires(correlated_instability, upset(step_time=3.0))
    assert finding.cost_s is not None
    assert finding.cost_s.value == pytest.approx(3 * 20e-3, rel=0.1)
    (finding,) = assert_fires(correlated_instability, upset(step_time=1.0, steps=300))
    assert finding.cost_s is None


def test_it_takes_jitter_under_it():
    report = pytscope.analyze(upset(step_time=4.0))
    (row,) = report.folded
    assert row.finding.rule == "CROSS.CORRELATED_INSTABILITY"
    assert {f.rule for f in row.also} == {"TIMING.JITTER"}


def test_a_gradient_norm_that_leads_says_so_and_what_to_do():
    (finding,) = assert_fires(correlated_instability, upset(lead=2, steps=400))
    assert "Grad norm comes 2 points before the loss." in finding.detail
    assert "The gradient norm leads" in finding.fix
    assert finding.steps == ((70, 72),)


def test_a_single_bad_step_points_to_its_batch():
    (finding,) = assert_fires(correlated_instability, upset(at=[70]))
    assert "look at the batch of step 70" in finding.fix


def test_two_axes_in_a_run_long_enough():
    run = upset(step_time=1.0, steps=300)
    (finding,) = assert_fires(correlated_instability, run)
    assert finding.severity is Severity.HIGH
    (finding,) = assert_fires(correlated_instability, upset(step_time=1.0, steps=300, loss=1.6))
    assert finding.severity is Severity.MEDIUM


def test_two_axes_in_a_short_run_are_within_chance_and_that_is_no_pass():
    reason = assert_abstains(correlated_instability, upset(step_time=1.0, steps=100), Inconclusive)
    assert "loss + grad norm stand out together at steps 70\N{EN DASH}72" in reason


def test_one_axis_alone_is_quiet():
    for one in ({"loss": 1.0, "step_time": 1.0}, {"grad_norm": 1.0, "step_time": 1.0}):
        assert_quiet(correlated_instability, upset(**one))


def test_axes_at_different_times_are_quiet():
    run = upset(grad_norm=1.0, step_time=1.0, steps=400)
    other = upset(at=range(250, 253), loss=1.0, step_time=1.0, steps=400)
    rows, values = other.timelines[0].column("scalar", "grad_norm")
    scalars = {
        "loss": run.timelines[0].column("scalar", "loss")[1].tolist(),
        "grad_norm": values.tolist(),
    }
    assert len(rows) == 400
    assert_quiet(correlated_instability, make_run({"forward": 10}, scalars=scalars))


def test_many_joint_onsets_are_one_finding():
    at = [60, 61, 133, 190, 191, 192, 287, 402]
    lr = [3e-4 if i < 80 else 1e-4 for i in range(500)]
    run = upset(at=at, step_time=1.0, steps=500, scalars={"lr": lr})
    (finding,) = assert_fires(correlated_instability, run)
    assert "5 times: loss + grad norm" in finding.title
    assert len(finding.steps) == 5
    assert "The learning rate was 0.0003 there" in finding.detail


def test_a_loss_that_does_not_come_back_is_said():
    run = upset(at=range(200, 300), loss=1.6, grad_norm=4, step_time=1.0, steps=300)
    (finding,) = assert_fires(correlated_instability, run)
    assert finding.severity is Severity.HIGH
    assert "not back after 100 points" in finding.detail


@pytest.mark.parametrize(
    "known",
    [
        {"scalars": {"epoch": [i // 70 for i in range(STEPS)]}},
        {"scalars": {"lr": [1e-4 if i < 70 else 1e-3 for i in range(STEPS)]}},
        {"attempts": [(0, 70), (70, 50)]},
        {"warmup": 73},
    ],
    ids=["epoch", "raised rate", "resume", "warm-up"],
)
def test_known_events_are_explained_and_not_correlated(known):
    """The same moment, with an event that accounts for it."""
    run = upset(**known)
    report = pytscope.analyze(run)
    assert "CROSS.CORRELATED_INSTABILITY" not in {f.rule for f in report.findings}
    (panel,) = (panel for panel in report.panels if panel.id == "together")
    assert "at known events" in panel.headline


def test_a_checkpoint_accounts_for_step_time_and_leaves_the_others():
    checkpoint = [30 if i % 70 == 69 else 0 for i in range(400)]
    run = upset(at=[70], steps=400, phases={"checkpoint": checkpoint})
    (finding,) = assert_fires(correlated_instability, run)
    assert finding.title == "Correlated instability at step 70"
    assert finding.cost_s is None


def test_a_period_of_all_axes_is_no_instability():
    run = upset(at=range(20, 400, 40), steps=400)
    assert_quiet(correlated_instability, run)


def test_values_logged_every_ten_steps_meet_step_times_of_every_step():
    run = upset(at=range(604, 612), steps=2_000)
    timeline = run.timelines[0]
    scalars = {}
    for name in ("loss", "grad_norm"):
        values = timeline.column("scalar", name)[1]
        means = values.reshape(-1, 10).mean(axis=1)
        scalars[name] = [means[i // 10] if i % 10 == 9 else None for i in range(2_000)]
    forward = (timeline.phase_ns("forward") / 1e6).tolist()
    (finding,) = assert_fires(
        correlated_instability, make_run({"forward": forward}, scalars=scalars)
    )
    assert finding.severity is Severity.HIGH
    assert finding.steps[0][0] == 609


def test_a_loss_that_ends_in_nan_is_still_read():
    loss = noise(1.2, 1, 300)
    grad_norm = noise(1.5, 2, 300)
    loss[200:203], grad_norm[200:203] = [4, 40, math.inf], [30, 3e3, math.inf]
    loss[203:], grad_norm[203:] = math.nan, math.nan
    scalars = {"loss": loss.tolist(), "grad_norm": grad_norm.tolist()}
    (finding,) = assert_fires(correlated_instability, make_run({"forward": 10}, scalars=scalars))
    assert finding.severity is Severity.HIGH
    assert "loss inf" in finding.detail


def test_step_time_and_memory_alone_are_low():
    forward, held = noise(10, 3, 300), np.full(300, 10**9)
    forward[200:203] *= 4
    held[200:203] *= 2
    run = make_run(
        {"forward": forward.tolist()},
        scalars={"loss": noise(1.0, 1, 300).tolist()},
        memory={"allocated": held.tolist()},
    )
    (finding,) = assert_fires(correlated_instability, run)
    assert finding.severity is Severity.LOW
    assert finding.title.startswith("Step time and memory stand out together")
    assert "allocate" in finding.fix


def test_without_loss_and_gradient_norm_nothing_is_passed():
    reason = assert_abstains(correlated_instability, make_run({"forward": 10}), NotMeasured)
    assert "grad_norm" in reason


def test_too_few_points_are_inconclusive():
    run = make_run({"forward": 10}, steps=60, scalars={"loss": 1.0})
    assert "judged points" in assert_abstains(correlated_instability, run, Inconclusive)
    assert_quiet(
        correlated_instability, make_run({"forward": 10}, scalars={"loss": 1.0}, steps=200)
    )


def test_a_stricter_chance_finds_less():
    assert_fires(correlated_instability, upset(), max_chance=0.005)
    assert_abstains(correlated_instability, upset(), Inconclusive, max_chance=1e-4)


@pytest.mark.parametrize("steps", LENGTHS)
@pytest.mark.parametrize("name", IN_CI)
def test_unrelated_axes_are_not_correlated(name, steps):
    """Two families; `bench/rates_signals.py` has all of them."""
    assert upper_bound(signal_alarms(UNRELATED[name], steps, range(RUNS)), RUNS) <= 0.01


def test_bursts_that_have_nothing_to_do_with_each_other_are_not_correlated():
    family = BEYOND_NOISE["bursts of 1 to 5 steps at 4 times, one in 200 steps"]
    assert signal_alarms(family, 300, range(100)) <= 1
    seen = sum(
        any(len(axis.spikes) for axis in spikes_of(unrelated_run(family, 300, seed)))
        for seed in range(20)
    )
    assert seen >= 15  # there is something to correlate


def spikes_of(run):
    from pytscope.builtin.analyzers import event_mask, spikes

    return spikes(run, event_mask(run)).axes


@pytest.mark.parametrize("one", UPSETS, ids=lambda u: f"{u.what}, {u.steps}")
def test_what_happens_to_several_axes_is_found(one):
    assert sum(one.found(seed) for seed in range(POWER_RUNS)) >= one.least * POWER_RUNS - 1


def test_an_axis_that_always_stands_out_somewhere_is_no_part_of_a_bad_batch():
    """Loss and gradient norm have a cause; a machine that is always busy has another."""
    busy = noise(10, 3, 2_000)
    busy[np.random.default_rng(4).permutation(np.arange(20, 2_000))[:90]] *= 3
    scalars = {}
    for name, seed in (("loss", 1), ("grad_norm", 2)):
        values = noise(1.0, seed, 2_000)
        values[1_000] *= 20
        scalars[name] = values.tolist()
    busy[1_000] = 30
    run = make_run({"forward": busy.tolist()}, scalars=scalars)
    (finding,) = assert_fires(correlated_instability, run)
    assert finding.cost_s is None
    assert finding.severity is Severity.MEDIUM
    busy[1_000] = 300  # taller than ever: that is no coincidence
    run = make_run({"forward": busy.tolist()}, scalars=scalars)
    (finding,) = assert_fires(correlated_instability, run)
    assert finding.cost_s is not None


def test_two_events_are_no_less_than_one():
    for at in (range(200, 203), [100, 101, 102, 300, 301, 302]):
        (finding,) = assert_fires(correlated_instability, upset(at=at, step_time=1.0, steps=400))
        assert "stand out together" in finding.detail


def test_one_step_that_is_back_in_the_next_is_a_batch_and_medium():
    severities = []
    for at in ([300], [300, 301], [300, 500, 700], [999]):
        run = upset(at=at, loss=9.0, step_time=1.0, steps=1_000)
        (finding,) = assert_fires(correlated_instability, run)
        severities.append(finding.severity)
        assert ("gone at once" in finding.fix) is (at[-1] in (300, 700))
    high = Severity.HIGH
    assert severities == [Severity.MEDIUM, high, high, Severity.MEDIUM]


def test_a_loss_that_is_logged_later_is_not_led_by_the_gradient_norm():
    run = upset(at=range(1_000, 1_060), step_time=1.0, steps=2_000)
    timeline = run.timelines[0]
    loss = timeline.column("scalar", "loss")[1].tolist()
    scalars = {
        "loss": [v if i % 10 == 9 else None for i, v in enumerate(loss)],
        "grad_norm": timeline.column("scalar", "grad_norm")[1].tolist(),
    }
    (finding,) = assert_fires(correlated_instability, make_run({"forward": 10}, scalars=scalars))
    assert "before the loss" not in finding.detail
    assert "leads" not in finding.fix


def test_a_burst_of_nan_is_an_instability():
    run = upset(at=range(200, 204), loss=math.nan, grad_norm=math.nan, step_time=1.0, steps=400)
    (finding,) = assert_fires(correlated_instability, run)
    assert finding.steps == ((200, 203),)
    assert "loss nan, usually 1." in finding.detail
    assert "back after 4 points" in finding.detail


def test_what_a_resumed_optimizer_does_in_its_first_steps_is_explained():
    run = upset(at=range(203, 210), step_time=1.0, steps=400, attempts=[(0, 200), (200, 200)])
    assert_quiet(correlated_instability, run)


def test_odd_points_have_a_limit_of_their_own_that_is_said():
    run = upset(at=[200], loss=2.5, step_time=1.0, steps=400)
    reason = assert_abstains(correlated_instability, run, Inconclusive)
    assert "(a finding up to 0.001 for odd points)" in reason


def test_a_constant_rate_is_nowhere_its_highest():
    run = upset(at=range(300, 303), step_time=1.0, steps=400, scalars={"lr": 3e-4})
    (finding,) = assert_fires(correlated_instability, run)
    assert "learning rate was" not in finding.detail


def test_a_rate_near_its_highest_is_not_called_that():
    lr = [1e-3 * min(1.0, i / 320) for i in range(400)]
    run = upset(at=range(300, 303), step_time=1.0, steps=400, scalars={"lr": lr})
    (finding,) = assert_fires(correlated_instability, run)
    assert "94% of its highest" in finding.detail


def test_values_that_are_all_zero_are_not_measured_and_that_is_said():
    run = make_run({"forward": 10}, scalars={"loss": 0.0, "grad_norm": 0.0}, steps=200)
    assert "not 0" in assert_abstains(correlated_instability, run, NotMeasured)


def test_it_names_the_rank_that_logged():
    logs = upset(steps=400, step_time=1.0, ranks=3).timelines[2]
    run = make_run({"forward": 10}, steps=400, ranks=3)
    run = attrs.evolve(run, timelines=(*run.timelines[:2], logs))
    (finding,) = assert_fires(correlated_instability, run)
    assert finding.ranks == (2,)


def test_the_panel_tells_what_a_checkpoint_accounts_for_and_what_not():
    checkpoint = [30 if i % 70 == 69 else 0 for i in range(400)]
    report = pytscope.analyze(upset(at=[69, 70], steps=400, phases={"checkpoint": checkpoint}))
    (panel,) = (panel for panel in report.panels if panel.id == "together")
    texts = [row.text for row in panel.rows if hasattr(row, "text")]
    assert "step 69: a checkpoint accounts for step time; not for loss, grad norm beside" in texts
