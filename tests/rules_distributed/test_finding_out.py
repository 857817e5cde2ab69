from __future__ import annotations

import numpy as np
import pytest

from pytscope.model.errors import Inconclusive, NotApplicable
from pytscope_rules_distributed.attribution import held_up_ns
from pytscope_rules_distributed.finding_out import found
from tests.rules_distributed.families import OWN_MS, ranks_of
from tests.rules_distributed.made import noise


def own(ranks: int = 8, steps: int = 200, **options) -> np.ndarray:
    return noise(ranks, steps, sd=0.02, rho=0.3, **options) * OWN_MS


def test_an_effect_is_told_with_its_interval():
    slow = own(steps=300)
    slow[2] *= 1.1
    effects = found(ranks_of(slow)).effects
    assert effects[2].low < 0.1 < effects[2].high
    assert effects[2].slowdown == pytest.approx(0.1, abs=0.01)
    assert all(e.low < 0.02 and e.high > -0.02 for e in effects if e.rank != 2)


def test_what_all_wait_for_the_slowest_is_owed_by_somebody_to_the_nanosecond():
    ranks = ranks_of(own(), cohorts=[range(4), range(4, 8)])
    stragglers = found(ranks)
    held = [int(held_up_ns(ranks.own[rows]).sum()) for rows in (slice(0, 4), slice(4, 8))]
    assert int(stragglers.owed_ns.values.sum()) == sum(held)
    assert sum(e.owed_ns for e in stragglers.effects) == sum(held)
    assert stragglers.held_up_ns == max(held)


def test_what_slows_all_ranks_of_a_step_slows_none():
    slow = own(common=0.5)
    assert found(ranks_of(slow)).slow == ()


def test_stages_are_not_held_against_each_other():
    slow = own()
    slow[4:] *= 1.6
    assert found(ranks_of(slow, cohorts=[range(4), range(4, 8)])).slow == ()
    slow[5] *= 1.2
    stragglers = found(ranks_of(slow, cohorts=[range(4), range(4, 8)]))
    assert [one.rank for one in stragglers.slow] == [5]


def test_a_rank_without_peers_is_not_compared():
    slow = own(3)
    slow[2] *= 3
    stragglers = found(ranks_of(slow, cohorts=[range(2), range(2, 3)]))
    assert stragglers.slow == ()
    assert [effect.rank for effect in stragglers.effects] == [0, 1]
    with pytest.raises(NotApplicable, match="same work"):
        found(ranks_of(slow, cohorts=[range(1), range(1, 2), range(2, 3)]))


@pytest.mark.parametrize(
    ("first", "last", "onset", "recovery"),
    [(0, 200, None, None), (120, 200, 121, None), (60, 120, 61, 120), (0, 90, None, 90)],
)
def test_onset_and_recovery(first, last, onset, recovery):
    slow = own()
    slow[6, first:last] *= 1.3
    (one,) = found(ranks_of(slow)).slow
    assert one.rank == 6
    assert one.persistent == (first == 0 and last == 200)
    for told, true in ((one.onset_step, onset), (one.last_step, recovery)):
        assert (told is None) == (true is None)
        assert true is None or abs(told - true) <= 2


def test_a_slow_node_is_one_culprit():
    slow = own(64, 100)
    slow[8:16] *= 1.1
    (node,) = found(ranks_of(slow, hosts=8)).nodes
    assert (node.host, node.ranks) == ("node1", tuple(range(8, 16)))
    assert node.slowdown == pytest.approx(0.1, abs=0.02)


def test_one_slow_rank_does_not_make_its_node_slow():
    slow = own(64, 100)
    slow[11] *= 1.3
    stragglers = found(ranks_of(slow, hosts=8))
    assert stragglers.nodes == ()
    assert [one.rank for one in stragglers.slow] == [11]


def test_a_node_whose_ranks_are_slow_alike_is_seen_where_none_of_them_is_by_itself():
    rng = np.random.default_rng(8)
    slow = np.exp(rng.normal(size=(64, 60)) * 0.12) * OWN_MS
    slow[8:16] *= 1.10
    stragglers = found(ranks_of(slow, hosts=8))
    assert [node.host for node in stragglers.nodes] == ["node1"]


def test_tokens_tell_more_work_from_a_slow_device():
    tokens = np.full((8, 200), 4096.0)
    tokens[2] *= 1.3
    slow = own()
    slow[2] *= 1.3
    (one,) = found(ranks_of(slow, load=tokens)).slow
    assert one.loaded
    slow[5] *= 1.3
    stragglers = found(ranks_of(slow, load=tokens))
    assert {s.rank: s.loaded for s in stragglers.slow} == {2: True, 5: False}
    assert [s.rank for s in stragglers.culprits] == [5]


def test_the_power_of_the_load_comes_from_the_ranks_own_steps():
    rng = np.random.default_rng(1)
    tokens = rng.integers(1000, 3000, (8, 200)).astype(float)
    times = own() * (tokens / 2000) ** 1.5
    stragglers = found(ranks_of(times, load=tokens))
    assert stragglers.load_power == pytest.approx(1.5, abs=0.05)
    assert stragglers.load_explains > 0.8
    assert stragglers.slow == ()


def test_tokens_that_vary_do_not_hide_a_slow_device():
    rng = np.random.default_rng(1)
    tokens = rng.integers(1000, 3000, (8, 300)).astype(float)
    times = own(steps=300) * tokens / 2000
    times[4] *= 1.25
    stragglers = found(ranks_of(times, load=tokens))
    assert [(s.rank, s.loaded) for s in stragglers.slow] == [(4, False)]


def test_equal_tokens_explain_nothing():
    slow = own()
    slow[1] *= 1.2
    stragglers = found(ranks_of(slow, load=np.full((8, 200), 512.0)))
    assert stragglers.load_power == 0
    assert not stragglers.slow[0].loaded


def test_two_ranks_are_compared_with_each_other_and_never_surely():
    slow = own(2)
    slow[1] *= 1.3
    stragglers = found(ranks_of(slow))
    assert stragglers.two
    assert [(one.rank, one.confirmed) for one in stragglers.slow] == [(1, False)]
    assert stragglers.panel().headline.endswith("% longer than 0")


def test_few_steps_are_too_few():
    with pytest.raises(Inconclusive, match="20 steps"):
        found(ranks_of(own(steps=19)))


def test_the_whole_flagged_set_is_what_a_saving_is_told_of():
    slow = np.full((8, 100), 10.0)
    slow[2] = slow[5] = 12.0
    stragglers = found(ranks_of(slow))
    assert stragglers.saving.value == pytest.approx(0.2)
    assert stragglers.saving.low is None  # each step saves the same: a plain sum
    assert [e.owed_ns for e in stragglers.effects if e.owed_ns] == [100_000_000] * 2


def test_of_pairs_in_stages_a_rank_is_held_against_its_own_peer():
    slow = own(4)
    slow[3] *= 1.5
    stragglers = found(ranks_of(slow, cohorts=[range(2), range(2, 4)]))
    assert stragglers.peers(3) == (2,)
    assert stragglers.panel().headline.startswith("rank 3 takes ")
    assert stragglers.panel().headline.endswith(" longer than 2")


def test_the_interval_of_an_episode_is_that_of_its_steps():
    slow = own()
    slow[6, 150:] *= 1.3
    part = found(ranks_of(slow)).effects[6]
    whole = found(ranks_of(slow[:, 150:])).effects[6]
    assert part.slowdown == pytest.approx(whole.slowdown, rel=0.1)
    assert part.high - part.low == pytest.approx(whole.high - whole.low, rel=0.5)
