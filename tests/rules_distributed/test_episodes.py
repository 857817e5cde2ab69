"""Stretches of steps in which a rank is slow, with their begins and ends."""

from __future__ import annotations

import numpy as np
import pytest

from pytscope_rules_distributed.episodes import MOST, episodes, inside
from pytscope_rules_distributed.finding_out import found
from tests.rules_distributed.families import OWN_MS, ranks_of
from tests.rules_distributed.made import noise


def own(ranks: int = 8, steps: int = 300, **options) -> np.ndarray:
    return noise(ranks, steps, sd=0.02, rho=0.3, **options) * OWN_MS


def slow_in(*stretches: tuple[int, int], steps: int = 300, factor: float = 1.3):
    slow = own(steps=steps)
    for first, last in stretches:
        slow[1, first:last] *= factor
    return found(ranks_of(slow))


@pytest.mark.parametrize(
    "stretches",
    [
        ((100, 200),),
        ((40, 80), (200, 240)),
        ((100, 140), (152, 200)),
        ((0, 40), (100, 140)),
        ((40, 60), (200, 260)),
        ((20, 50), (90, 120), (180, 200), (270, 300)),
    ],
)
def test_episodes_are_told_with_begin_and_end(stretches):
    (one,) = slow_in(*stretches).slow
    assert (one.rank, one.persistent, one.confirmed) == (1, False, True)
    true = [(first + 1, last) for first, last in stretches]
    assert len(one.episodes) == len(true)
    assert np.abs(np.array(one.episodes) - true).max() <= 1
    assert one.likely == pytest.approx(sum(b - a for a, b in stretches) / 300, abs=0.01)
    assert one.effect.slowdown == pytest.approx(0.3, abs=0.03)


def test_an_episode_of_a_few_steps_at_the_begin_is_a_suspicion_at_most():
    (one,) = slow_in((0, 20), factor=3).slow
    assert (one.episodes, one.confirmed, one.onset_step, one.last_step) == (
        ((1, 20),),
        False,
        None,
        20,
    )


def test_a_straggler_that_moves_is_two_with_their_times():
    slow = own()
    slow[1, :150] *= 1.3
    slow[3, 150:] *= 1.3
    stragglers = found(ranks_of(slow))
    ends = {one.rank: (one.onset_step, one.last_step) for one in stragglers.slow}
    assert set(ends) == {1, 3}
    assert ends[1] == (None, pytest.approx(150, abs=2))
    assert ends[3] == (pytest.approx(151, abs=2), None)


@pytest.mark.parametrize("end", [1.2, 1.5, 3.0])
def test_a_rank_that_becomes_slow_little_by_little_is_a_suspicion(end):
    slow = own()
    slow[2] *= np.linspace(1, end, 300)
    (one,) = found(ranks_of(slow)).slow
    assert (one.rank, one.confirmed) == (2, False)


def test_in_turn_each_is_slow_by_the_mean_of_its_steps():
    slow = own()
    slow[1, ::2] *= 1.3
    slow[3, 1::2] *= 1.3
    stragglers = found(ranks_of(slow))
    assert {one.rank for one in stragglers.slow} == {1, 3}
    for one in stragglers.slow:
        assert one.persistent
        assert one.excess_ns == pytest.approx(0.15 * OWN_MS * 1e6, rel=0.1)


def test_no_more_are_told_than_there_is_room_for_and_they_are_the_heaviest():
    high = np.zeros((1, 100 * (MOST + 1)))
    for place in range(MOST + 1):
        high[0, place * 100 : place * 100 + 12 + 3 * place] = 0.5
    high += np.random.default_rng(0).normal(size=high.shape) * 0.01
    found = episodes(high, 0.03)
    assert found.p[0] < 1e-9
    assert found.bounds[0, :, 0].tolist() == [100 * place for place in range(1, MOST + 1)]
    assert inside(found.bounds, high.shape[1]).sum() == sum(15 + 3 * p for p in range(MOST))


def test_a_constant_series_has_none():
    flat = episodes(np.zeros((2, 60)), 0.03)
    assert (flat.p == 1).all()
    assert not flat.bounds.any()
