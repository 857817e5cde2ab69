"""Onsets of several series, and how often chance brings them together."""

from __future__ import annotations

import numpy as np
import pytest

from pytscope.signals.coincidence import chance_of_many, chance_of_one, joint_onsets


def at(*places: int) -> np.ndarray:
    return np.array(places, np.int64)


def test_joint_onsets_are_within_reach_and_the_closest():
    joints = joint_onsets([at(10, 50, 90), at(12, 52, 53, 70)], 5)
    assert [(j.picks, j.spread) for j in joints] == [((0, 0), 2), ((1, 1), 2)]


def test_an_onset_takes_part_once():
    joints = joint_onsets([at(10, 12), at(11)], 5)
    assert len(joints) == 1


def test_all_series_have_to_take_part():
    assert joint_onsets([at(10), at(11), at(40)], 5) == ()
    (joint,) = joint_onsets([at(10), at(11), at(13)], 5)
    assert joint.spread == 3


def test_three_series_are_within_reach_of_each_other_not_of_the_rarest_alone():
    assert joint_onsets([at(10), at(6), at(14)], 5) == ()


@pytest.mark.parametrize("counts", [(1, 1), (2, 3), (1, 1, 1), (2, 2, 3)])
@pytest.mark.parametrize("spread", [0, 1, 3])
def test_the_chance_of_one_bounds_what_random_places_do(counts, spread):
    rng = np.random.default_rng(0)
    size, tries = 60, 3_000
    bound = chance_of_one(counts, size, spread)
    seen = 0
    for _ in range(tries):
        places = [np.sort(rng.choice(size, n, replace=False)) for n in counts]
        seen += any(j.spread <= spread for j in joint_onsets(places, spread))
    rate = seen / tries
    assert rate <= bound + 3 * (bound / tries) ** 0.5 + 1e-3
    if bound < 0.1:  # where it is rare the bound is near
        assert rate >= 0.6 * bound - 3 * (bound / tries) ** 0.5


def test_the_chance_of_one_bounds_clustered_onsets_too():
    rng = np.random.default_rng(1)
    size, tries, seen = 200, 2_000, 0
    burst = np.arange(6)
    for _ in range(tries):
        places = [np.sort((burst + rng.integers(size)) % size) for _ in range(2)]
        seen += any(j.spread == 0 for j in joint_onsets(places, 0))
    assert seen / tries <= chance_of_one((6, 6), size, 0)


def test_no_points_are_chance():
    assert chance_of_one((1, 1), 0, 0) == 1.0


def test_the_shift_null_finds_what_keeps_company():
    rng = np.random.default_rng(2)
    first = np.sort(rng.choice(1000, 12, replace=False))
    second = np.sort(np.concatenate([first[:9] + 1, rng.choice(1000, 6, replace=False)]))
    assert chance_of_many([first, np.unique(second)], 1001, 5) <= 0.005


def test_the_shift_null_is_a_chance():
    """Of unrelated series, bursty ones too, one in twenty is below 0.05."""
    rng = np.random.default_rng(3)
    below = 0
    for _ in range(200):
        places = []
        for _ in range(2):
            starts = rng.choice(400, 4, replace=False)
            places.append(np.unique((starts[:, None] + np.arange(3)).ravel() % 400))
        below += chance_of_many(places, 400, 5) <= 0.05
    assert below <= 20


def test_the_shift_null_of_three_series_draws_shifts():
    first = at(10, 200, 377, 512, 800)
    assert chance_of_many([first, first, first], 1000, 5) <= 0.001
    assert chance_of_many([first, first, first], 1000, 5) == chance_of_many([first] * 3, 1000, 5)
