"""Single steps in which a rank that is not slow holds the others up."""

from __future__ import annotations

import numpy as np
import pytest

from pytscope_rules_distributed import Stragglers
from pytscope_rules_distributed.finding_out import found
from tests.rules_distributed.families import OWN_MS, added, collecting, ranks_of
from tests.rules_distributed.made import analysed, noise, ranks_run


def own(ranks: int = 8, steps: int = 200, **options) -> np.ndarray:
    return noise(ranks, steps, sd=0.02, rho=0.3, **options) * OWN_MS


def test_a_pause_is_no_straggler_and_is_known_with_its_step():
    slow = own()
    slow[3, 77] += 10_000
    stragglers = found(ranks_of(slow))
    assert stragglers.slow == ()
    pauses = stragglers.pauses
    assert (pauses.rank, pauses.ranks, pauses.steps, pauses.every) == (3, 1, (78,), 0)
    assert [(one.rank, one.step) for one in pauses.longest] == [(3, 78)]
    assert pauses.excess_ns == pytest.approx(10e9, rel=0.01)
    assert pauses.saving.value == pytest.approx(10, rel=0.01)


@pytest.mark.parametrize("ranks", [2, 3])
def test_of_a_few_ranks_as_well(ranks):
    slow = own(ranks, 60)
    slow[1, 30] += 1_000
    stragglers = found(ranks_of(slow))
    assert stragglers.slow == ()
    assert (stragglers.pauses.rank, stragglers.pauses.steps) == (1, (31,))


def test_pauses_that_move_from_rank_to_rank_are_nobodys():
    slow = own(steps=160)
    for i in range(0, 160, 5):
        slow[i // 5 % 8, i] *= 3
    stragglers = found(ranks_of(slow))
    assert stragglers.slow == ()
    assert (stragglers.pauses.rank, stragglers.pauses.ranks) == (None, 8)
    assert stragglers.paused_ns > 0.5 * stragglers.held_up_ns
    assert len(stragglers.pauses.steps) == 32


def test_regular_ones_are_told_by_their_distance():
    slow = own()
    slow[0, 9::10] += 40.0
    stragglers = found(ranks_of(slow))
    assert (stragglers.pauses.rank, stragglers.pauses.every) == (0, 10)
    assert stragglers.pauses.saving.value == pytest.approx(20 * 0.040, rel=0.1)


def test_what_saving_costs_is_never_more_than_was_waited():
    slow = own()
    slow[np.arange(200) % 8, np.arange(200)] += np.where(np.arange(200) % 7 == 0, 80.0, 0.0)
    stragglers = found(ranks_of(slow))
    assert 0 < stragglers.pauses.saving.value * 1e9 <= stragglers.held_up_ns


def test_ranks_that_differ_all_the_time_do_not_pause():
    slow = own()
    slow[np.arange(200) % 8, np.arange(200)] *= 1.7
    assert found(ranks_of(slow)).pauses is None
    assert found(ranks_of(np.full((8, 60), 40.0))).pauses is None


def test_slow_ranks_do_not_pause():
    slow = own()
    slow[2] *= 3
    stragglers = found(ranks_of(slow))
    assert [one.rank for one in stragglers.slow] == [2]
    assert stragglers.pauses is None


@pytest.mark.parametrize("phase", ["eval", "checkpoint", "log", "data", "other", "optimizer"])
def test_the_phase_is_known_before_and_after_the_last_collective(phase):
    now = np.where(np.arange(200) % 50 == 49, 500.0, 0.0)
    stragglers = analysed(ranks_run(own(), parts={0: {phase: now}})).analyses["stragglers"]
    assert isinstance(stragglers, Stragglers)
    assert stragglers.slow == ()
    assert (stragglers.pauses.rank, stragglers.pauses.phase) == (0, phase)
    assert stragglers.pauses.every == 50


@pytest.mark.parametrize("seed", range(8))
def test_ranks_that_pause_alike_are_not_told_apart(seed):
    pauses = found(ranks_of(collecting(np.random.default_rng(seed), 2, 400) * OWN_MS)).pauses
    assert (pauses.rank, pauses.ranks) == (None, 2)
    assert len(pauses.steps) > 5


def test_most_of_many_on_one_rank_is_no_luck():
    slow = own()
    slow[3, 5::20] += 200.0
    slow[[0, 5, 7], [33, 99, 154]] += 100.0
    pauses = found(ranks_of(slow)).pauses
    assert (pauses.rank, pauses.ranks, len(pauses.steps), pauses.every) == (3, 4, 10, 20)


def test_one_long_step_among_short_ones_is_told_alone():
    slow = own()
    slow[3, 77] += 10_000
    slow[[0, 3, 5, 7], [33, 34, 99, 154]] += 100.0
    pauses = found(ranks_of(slow)).pauses
    assert (pauses.rank, pauses.steps) == (3, (78,))
    assert pauses.saving.value == pytest.approx(10, rel=0.01)


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_a_tail_of_the_noise_is_no_pause_unless_far_beyond_it(ranks):
    slow = added(3, 0.1)(np.random.default_rng(9), ranks, 200) * OWN_MS
    assert found(ranks_of(slow)).pauses is None
    slow[1, 50] = 40 * OWN_MS
    assert found(ranks_of(slow)).pauses.steps == (51,)


def test_pauses_that_go_round_have_a_phase():
    parts = {r: {"gc": np.where(np.arange(200) % 40 == 5 * r, 500.0, 0.0)} for r in range(8)}
    stragglers = analysed(ranks_run(own(), parts=parts)).analyses["stragglers"]
    assert isinstance(stragglers, Stragglers)
    assert (stragglers.pauses.rank, stragglers.pauses.phase) == (None, "gc")
    assert stragglers.pauses.phase_part > 0.9


def test_so_have_those_of_some_ranks():
    parts = {r: {"log": np.where(np.arange(200) % 40 == 5 * r, 500.0, 0.0)} for r in (1, 4)}
    stragglers = analysed(ranks_run(own(), parts=parts)).analyses["stragglers"]
    assert isinstance(stragglers, Stragglers)
    pauses = stragglers.pauses
    assert (pauses.rank, pauses.ranks, pauses.phase) == (None, 2, "log")
