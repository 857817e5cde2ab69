"""Warm-up: asked for, recorded, or found; never much of a healthy run."""

import numpy as np
import pytest

from pytscope.model.records import Flag
from pytscope.runs.building import make_run
from pytscope.runs.warmup import settling_steps, with_warmup


def spiky(n: int, *leading: float) -> list[float]:
    return [*leading, *[10.0] * (n - len(leading))]


def test_a_plain_run_has_none():
    assert settling_steps(np.full(1000, 10)) == 0


def test_slow_leading_steps_are_found():
    assert settling_steps(np.array(spiky(200, 900, 40, 15, 13))) == 4


def test_a_quick_step_among_slow_ones_does_not_end_it():
    assert settling_steps(np.array(spiky(200, 900, 10, 40, 10, 10, 30))) == 6


def test_slightly_slower_leading_steps_are_not_warmup():
    assert settling_steps(np.array(spiky(200, 11.9, 11.5))) == 0


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("spread", [0.02, 0.3, 1.0])
def test_noise_alone_costs_a_healthy_run_next_to_nothing(seed, spread):
    wall = np.random.default_rng(seed).lognormal(0, spread, 1000)
    assert settling_steps(wall) <= 10


@pytest.mark.parametrize("seed", range(20))
def test_a_spike_is_found_in_noise(seed):
    wall = np.random.default_rng(seed).lognormal(0, 0.1, 500)
    wall[:5] += 20
    assert 5 <= settling_steps(wall) <= 6


@pytest.mark.parametrize("period", [2, 3, 4, 10])
def test_periodic_slow_steps_are_no_warmup(period):
    wall = np.where(np.arange(300) % period == 0, 50.0, 10.0)
    assert settling_steps(wall) <= 1


@pytest.mark.parametrize("slope", [-0.5, 0.5, 2.0])
def test_a_trend_is_no_warmup(slope):
    wall = 10 * (1 + slope * np.arange(400) / 400)
    assert settling_steps(wall) <= 40


def test_steps_that_settle_late_are_cut_at_a_tenth():
    assert settling_steps(np.array(spiky(100, *[50] * 30))) == 10
    assert settling_steps(np.array(spiky(5000, *[50] * 300))) == 100


def test_steps_that_do_not_settle_in_the_first_half_are_the_way_the_run_is():
    assert settling_steps(np.array(spiky(100, *[50] * 60))) == 0


@pytest.mark.parametrize("n", [0, 1, 5, 19])
def test_a_short_run_has_none(n):
    assert settling_steps(np.array(spiky(n, 900)[:n])) == 0


def test_the_shortest_run_that_has_one():
    assert settling_steps(np.array(spiky(20, 900))) == 1


def warm(run) -> list[list[int]]:
    return [t.step[t.has(Flag.WARMUP)].tolist() for t in run.timelines]


def test_every_rank_and_attempt_has_its_own():
    slow = [*spiky(50, 500, 90), *spiky(50, 500)]
    own = [*spiky(50), *spiky(50, 500, 80, 70)]
    run = make_run(
        {"forward": slow},
        ranks={0: {}, 1: {"forward": own}},
        attempts=[(0, 50), (50, 50)],
        warmup=None,
    )
    assert warm(run) == [[0, 1, 50], [50, 51, 52]]


def test_recorded_beats_found_and_asked_for_beats_recorded():
    run = make_run({"forward": spiky(100, 500, 90)}, warmup=5)
    assert warm(run) == [[0, 1, 2, 3, 4]]
    assert warm(with_warmup(run, 1)) == [[0]]
    assert warm(with_warmup(run, 0)) == [[]]
    assert warm(with_warmup(run, 1000)) == [list(range(100))]
    assert warm(with_warmup(with_warmup(run, 9), 2)) == [[0, 1]]


def test_other_flags_stay():
    run = make_run({"forward": 10}, flags={Flag.SKIPPED: [0, 3]})
    flags = with_warmup(run, 1).timelines[0].flags
    assert flags[:4].tolist() == [Flag.SKIPPED | Flag.WARMUP, 0, 0, Flag.SKIPPED]


def test_compiling_is_warmup_but_a_first_evaluation_is_not():
    compiling = {"forward": 10, "compile": spiky(100, 500)[:1] + [0] * 99}
    assert warm(make_run(compiling, warmup=None)) == [[0]]
    evaluating = {"forward": 10, "eval": [500] + [0] * 99}
    assert warm(make_run(evaluating, warmup=None)) == [[]]
