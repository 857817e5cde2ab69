from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytscope_rules_distributed.attribution import (
    attributed,
    held_up_ns,
    saved_at_once_ns,
    saving_ns,
)


def exact(own):
    """The airport game's split of one step, in fractions."""
    ranks = len(own)
    ordered = sorted(own)
    base = (ordered[(ranks - 1) // 2] + ordered[ranks // 2]) // 2 if ranks > 2 else ordered[0]
    owed = [Fraction(0)] * ranks
    before = base
    for level in sorted({v for v in own if v > base}):
        reach = [r for r in range(ranks) if own[r] >= level]
        for rank in reach:
            owed[rank] += Fraction(level - before, len(reach))
        before = level
    return owed


matrices = st.integers(2, 9).flatmap(
    lambda ranks: st.lists(
        st.lists(st.integers(0, 50), min_size=ranks, max_size=ranks), min_size=1, max_size=6
    )
)


@given(matrices)
def test_it_is_the_airport_game_and_sums_to_the_nanosecond(steps):
    own = np.array(steps, np.int64).T
    found = attributed(own)
    assert found.sum() == held_up_ns(own).sum()
    wanted = [sum(parts) for parts in zip(*map(exact, steps), strict=True)]
    assert all(abs(f - w) < 1 for f, w in zip(found.tolist(), wanted, strict=True))


def test_it_sums_exactly_for_long_runs_of_many_ranks():
    own = np.random.default_rng(0).integers(10**9, 10**10, (300, 400))
    assert int(attributed(own).sum()) == int(held_up_ns(own).sum())
    long = np.random.default_rng(1).integers(10**15, 10**16, (3, 50))
    assert int(attributed(long).sum()) == int(held_up_ns(long).sum())


def test_equals_share_equally_and_the_others_owe_nothing():
    own = np.tile(np.array([[10], [10], [30], [10], [30]]), 10)
    assert attributed(own).tolist() == [0, 0, 100, 0, 100]


def test_two_equal_stragglers_save_together_what_neither_saves_alone():
    own = np.tile(np.array([[10], [10], [30], [10], [30], [10]]), 8)
    slow = np.zeros(own.shape, bool)
    slow[2] = True
    members = [np.arange(6)]
    assert saving_ns(own, members, slow).sum() == 0
    slow[4] = True
    assert saving_ns(own, members, slow).sum() == 20 * 8


def test_of_two_ranks_the_slower_would_take_what_the_other_takes():
    own = np.array([[10], [20]])
    slow = np.array([[False], [True]])
    assert saving_ns(own, [np.arange(2)], slow).tolist() == [10]


def test_of_two_ranks_what_is_owed_is_what_the_other_waits():
    own = np.array([[10, 30], [20, 10]])
    assert held_up_ns(own).tolist() == [10, 20]
    assert attributed(own).tolist() == [20, 10]


def test_single_values_are_held_against_the_others_of_their_step():
    own = np.array([[10, 10, 90], [10, 50, 10], [20, 10, 80], [12, 10, 10], [10, 10, 10]])
    cells = own >= 50
    assert saved_at_once_ns(own, [np.arange(5)], cells).tolist() == [0, 40, 80]
    assert saved_at_once_ns(own, [np.arange(5)], own > 0).tolist() == [0, 0, 0]
    stages = [np.arange(3), np.arange(3, 5)]
    assert saved_at_once_ns(own, stages, cells).tolist() == [0, 40, 80]


def test_a_rank_with_more_to_do_saves_what_its_load_does_not_account_for():
    own = np.array([[10], [10], [10], [30]])
    slow = np.array([[False], [False], [False], [True]])
    expected = np.array([[1.0], [1.0], [1.0], [2.0]])
    assert saving_ns(own, [np.arange(4)], slow, expected).tolist() == [10]


def test_a_rank_of_a_fast_stage_saves_nothing():
    own = np.array([[10], [15], [10], [40], [40], [40]])
    slow = np.zeros((6, 1), bool)
    slow[1] = True
    assert saving_ns(own, [np.arange(3), np.arange(3, 6)], slow).tolist() == [0]


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_nothing_is_owed_where_all_are_alike(ranks):
    assert attributed(np.full((ranks, 5), 7)).tolist() == [0] * ranks
