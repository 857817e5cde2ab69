"""TIMING.BACKWARD_HEAVY fires on levels and rises out of proportion, and abstains on waits."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from pytscope.analyses import BudgetPart
from pytscope.builtin.rules import backward_heavy
from pytscope.model.errors import Inconclusive, NotApplicable, NotMeasured
from pytscope.model.findings import Confidence, Severity
from pytscope.plugins.declare import analyzer
from pytscope.runs.run import Run
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run

REST = {"data": 0.5, "forward": 10, "optimizer": 2}


def made(backward, **options):
    options = {"noise": 0.1, **options}
    return make_run({**REST, "backward": backward}, **options)


def rising(before, after, at=120, steps=200):
    return [before] * at + [after] * (steps - at)


@pytest.mark.parametrize("ratio", [0.5, 1, 2, 3.1, 3.6, 4.2])
def test_relations_that_healthy_models_show_are_quiet(ratio):
    assert_quiet(backward_heavy, made(10 * ratio))
    assert_quiet(backward_heavy, made(10 * ratio, noise=0.3))


def test_a_backward_pass_far_out_of_proportion_is_suggested():
    (finding,) = assert_fires(backward_heavy, made(80, steps=200))
    assert finding.title == "Backward takes 8.0 times as long as forward"
    assert finding.confidence is Confidence.SUGGESTIVE
    assert finding.severity is Severity.MEDIUM
    assert finding.fix.startswith("Possible causes")
    assert "set_detect_anomaly" in finding.fix
    cost = finding.cost_s
    assert cost.value == pytest.approx(200 * 0.050, rel=0.05)
    assert (cost.low, cost.high) == pytest.approx((200 * 0.040, 200 * 0.060), rel=0.05)
    (ratio, *_) = finding.evidence
    assert ratio.low < ratio.value < ratio.high


def test_loss_counts_as_forward():
    assert_quiet(backward_heavy, make_run({"forward": 4, "loss": 16, "backward": 40}))
    assert_fires(backward_heavy, make_run({"forward": 4, "loss": 1, "backward": 40}))


def test_collectives_and_collections_inside_backward_are_no_part_of_it():
    step = [("forward", 10), ("backward", 10), ("comm", 60), ("backward", 12), ("gc", 5)]
    assert_quiet(backward_heavy, make_run([step] * 50))


def test_recomputation_that_the_budget_knows_is_no_part_of_it():
    @attrs.frozen(eq=False, kw_only=True)
    class Recompute(BudgetPart):
        """What a plugin found out."""

    @analyzer("recompute")
    def found(run: Run) -> Recompute:
        """Half of backward."""
        half = int(run.shown.phase_ns("backward").sum()) // 2
        return Recompute(take_from="compute", give_to="recompute", ns=half, why="checkpointing")

    run = made(60, noise=0.02)
    assert_fires(backward_heavy, run)
    assert_quiet(backward_heavy, run, analyzers=[found])


@pytest.mark.parametrize("at", [40, 120, 160])
def test_a_rise_inside_the_run_is_named_with_its_step(at):
    (finding,) = assert_fires(backward_heavy, made(rising(20, 45, at), first_step=1000))
    first = finding.steps[0][0]
    assert abs(first - (1000 + at)) <= 2
    assert finding.title == f"Backward went from 2.0 to 4.5 times forward at step {first}"
    assert "went up" in finding.detail
    assert finding.cost_s.value == pytest.approx((200 - at) * 0.025, rel=0.1)
    assert finding.cost_s.low < finding.cost_s.value < finding.cost_s.high


def test_steady_growth_is_told_as_growth():
    (finding,) = assert_fires(backward_heavy, made(np.geomspace(20, 80, 300).tolist()))
    assert "grew over the run" in finding.detail
    assert "detach()" in finding.fix


def test_a_forward_pass_that_became_faster_is_no_rise():
    forward = rising(20, 8)
    run = make_run({"forward": forward, "backward": 24}, noise=0.05)
    assert_quiet(backward_heavy, run)


def test_a_rise_that_is_over_again_is_found_where_it_begins():
    backward = [20] * 60 + [60] * 130 + [20] * 10
    (finding,) = assert_fires(backward_heavy, made(backward))
    assert abs(finding.steps[0][0] - 60) <= 3


def test_steps_that_do_more_now_and_then_are_no_rise():
    backward = [120 if i % 16 == 0 else 20 for i in range(200)]
    assert_quiet(backward_heavy, made(backward))


@pytest.mark.parametrize("backward", [80, rising(20, 45)])
def test_ranks_without_recorded_exchange_make_it_inconclusive(backward):
    for run in (made(backward, ranks=2), made(backward, world_size=4)):
        assert "slower ranks" in assert_abstains(backward_heavy, run, Inconclusive)
    with_comm = make_run({**REST, "backward": backward, "comm": 5}, ranks=2, noise=0.1)
    assert_fires(backward_heavy, with_comm)


def test_ranks_whose_backward_is_healthy_all_the_same_pass():
    assert_quiet(backward_heavy, made(25, ranks=4))


def test_what_costs_little_is_quiet():
    slow = make_run({**REST, "backward": 80, "my phase": 5000})
    assert_quiet(backward_heavy, slow)
    assert_fires(backward_heavy, slow, min_share=0.001)


def test_thresholds_are_honoured():
    assert_quiet(backward_heavy, made(80), max_ratio=10.0)
    assert_fires(backward_heavy, made(45), max_ratio=4.0)
    assert_quiet(backward_heavy, made(rising(20, 45)), min_rise=3.0)
    assert_fires(backward_heavy, made(rising(20, 28)), min_rise=1.2)


def test_what_is_missing_is_said():
    coarse = make_run({"data": 1, "compute": 10})
    assert "as a whole" in assert_abstains(backward_heavy, coarse, NotApplicable)
    only = make_run({"forward": 10})
    assert 'mark("backward")' in assert_abstains(backward_heavy, only, NotMeasured)
    short = made(80, steps=19)
    assert "20 steps" in assert_abstains(backward_heavy, short, Inconclusive)


def test_steps_without_one_of_the_two_do_not_count():
    backward = [0 if i % 2 else 80 for i in range(100)]
    (finding,) = assert_fires(backward_heavy, made(backward))
    assert any((e.metric, e.value) == ("steps with both", 50) for e in finding.evidence)


def test_equal_durations_to_the_nanosecond_are_decided():
    assert_quiet(backward_heavy, made(20, noise=0.0))
    assert_fires(backward_heavy, made(80, noise=0.0))
    (finding,) = assert_fires(backward_heavy, made(rising(20, 45), noise=0.0))
    assert finding.steps == ((120, 199),)
