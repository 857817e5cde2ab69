"""Durations of two arms."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

import pytscope
from pytscope.diffing.noise import NoiseStore
from pytscope.diffing.timings import timings
from pytscope.model.comparison import Verdict
from pytscope.testing import make_run

PHASES = {"data": 5, "forward": 20, "backward": 40, "optimizer": 5}


def run(seed, *, slower=1.0, between=0.01, **more):
    """Steps with noise, and a factor of the run's own."""
    own = 1 + between * np.random.default_rng(seed).normal()
    phases = {name: ms * own * (slower if name == "data" else 1) for name, ms in PHASES.items()}
    return make_run({**phases, **more}, steps=300, noise=0.05, seed=seed, config={"lr": 1})


def report(*arguments, **settings):
    return pytscope.analyze(run(*arguments, **settings))


def compared(first, second):
    found = timings([*first, *second], [0] * len(first) + [1] * len(second))
    return {m.metric: m for m in found}


def test_one_run_an_arm_tells_how_the_two_differ_and_no_more():
    found = compared([report(1, between=0)], [report(2, between=0, slower=3.0)])
    step = found["step time"]
    assert step.verdict is Verdict.UNDECIDED
    assert (step.unit, step.interval_of) == ("ms", "steps")
    assert step.low < 10 < step.high
    assert step.relative == pytest.approx(10 / 70, abs=0.02)
    assert step.detail.startswith("more than the noise of their steps, in these two recordings")
    assert found["data"].difference == pytest.approx(10, abs=0.3)
    assert found["forward"].detail.startswith("no more than the noise")
    assert found["throughput"].difference < 0
    assert not any(m.verdict is Verdict.REGRESSION for m in found.values())


def test_steps_of_one_run_are_not_repeats():
    """Runs of one setup that differ by 3 %: over steps the gap is huge, over runs it is none."""
    many = [report(i, between=0.03) for i in range(6)]
    medians = [one.analyses["timing"].median_ns for one in many]
    fast, slow = many[int(np.argmin(medians))], many[int(np.argmax(medians))]
    pair = compared([fast], [slow])["step time"]
    assert not pair.low <= 0 <= pair.high
    assert pair.relative > 0.02
    assert pair.verdict is Verdict.UNDECIDED
    assert compared(many[:3], many[3:])["step time"].verdict is Verdict.NO_DIFFERENCE


def test_three_runs_an_arm_compare_runs():
    first = [report(i) for i in range(3)]
    second = [report(10 + i, slower=3.0) for i in range(3)]
    found = compared(first, second)
    assert found["step time"].verdict is Verdict.REGRESSION
    assert found["step time"].interval_of == "runs"
    assert found["throughput"].verdict is Verdict.REGRESSION
    assert found["data"].verdict is Verdict.REGRESSION
    assert found["forward"].verdict is Verdict.NO_DIFFERENCE
    assert compared(second, first)["step time"].verdict is Verdict.IMPROVEMENT


def test_a_run_against_itself_is_identical():
    one = report(1)
    assert {m.verdict for m in compared([one], [one]).values()} == {Verdict.IDENTICAL}
    copies = compared([one] * 3, [report(2, slower=3.0)] * 3)["step time"]
    assert copies.verdict is Verdict.UNDECIDED
    assert "copies" in copies.detail


def test_two_runs_an_arm_are_too_few():
    found = compared([report(1), report(2)], [report(3, slower=3.0), report(4, slower=3.0)])
    assert found["step time"].verdict is Verdict.UNDECIDED
    assert "two runs an arm" in found["step time"].detail


def test_a_phase_that_few_steps_have_is_a_mean_and_one_that_an_arm_lacks_is_zero():
    saved = [200 if i % 50 == 49 else 0 for i in range(300)]
    found = compared([report(1)], [report(2, checkpoint=saved)])
    rare = found["checkpoint, mean a step"]
    assert rare.first == (0.0,)
    assert rare.second[0] == pytest.approx(4.0, abs=0.5)
    assert rare.low < 4.0 < rare.high


def test_small_phases_are_left_out():
    found = compared([report(1, log=0.1)], [report(2, log=0.1)])
    assert "log" not in found
    assert list(found) == ["step time", "throughput", "data", "forward", "backward", "optimizer"]


def test_what_counts_as_throughput_is_what_was_logged():
    phases = {"forward": [10 + i % 3 for i in range(100)]}
    tokens = pytscope.analyze(make_run(phases, scalars={"tokens": 512}))
    bare = pytscope.analyze(make_run({"forward": [9 + i % 3 for i in range(100)]}))
    assert compared([tokens], [tokens])["throughput"].unit == "tokens/s"
    mixed = compared([tokens], [bare])["throughput"]
    assert (mixed.unit, mixed.lower_is_better) == ("steps/s", False)


def test_no_timing_is_no_comparison():
    none = pytscope.analyze(make_run({"forward": 1}, steps=2, warmup=2))
    assert timings([none, report(1)], [0, 1]) == ()
    assert timings([none, report(1), report(2)], [0, 0, 1]) != ()


def test_recorded_time_is_not_held_against_wall():
    bare = pytscope.analyze(attrs.evolve(run(1), has_timeline=False))
    found = compared([bare], [report(2)])
    assert found["step time"].verdict is Verdict.UNDECIDED
    assert "not comparable" in found["step time"].detail
    assert found["step time"].p is None


def test_earlier_repeats_say_how_far_apart_the_step_times_of_single_runs_are():
    store = NoiseStore()
    for i in range(6):
        store = store.add(run(i, between=0.02))
    runs = [run(10, between=0.02), run(11, between=0.02, slower=6.0)]
    reports = [pytscope.analyze(r) for r in runs]
    step = timings(reports, [0, 1], store, runs)[0]
    assert step.metric == "step time"
    assert (step.verdict, step.interval_of) == (Verdict.UNDECIDED, "repeats")
    assert step.low > 0
    assert "outside of what two repeats differ by" in step.detail
    assert timings(reports, [0, 1])[0].interval_of == "steps"
