from __future__ import annotations

import math

import numpy as np

from pytscope_rules_distributed.links import slow_groups
from tests.rules_distributed.families import exchange_of
from tests.rules_distributed.made import noise

FLOOR = math.log(1.5)


def test_a_group_slower_than_its_like_is_named():
    transfer = noise(8, 60, sd=0.1) * 5
    transfer[3] *= 2.5
    (found,) = slow_groups(exchange_of(transfer), FLOOR)
    assert found.group.ranks == (6, 7)
    assert not found.before
    assert 2.2 < found.times < 2.8
    assert (found.first_step, found.last_step) == (1, 60)


def test_a_group_by_itself_is_held_against_its_other_steps():
    transfer = noise(1, 300, sd=0.1) * 5
    transfer[0, 200:] *= 2.5
    (found,) = slow_groups(exchange_of(transfer), FLOOR)
    assert found.before
    assert abs(found.first_step - 201) <= 2
    assert found.last_step == 300
    assert found.excess_ns > 100 * 5e6


def test_of_two_nothing_tells_which_is_odd():
    transfer = noise(2, 60, sd=0.1) * 5
    transfer[1] *= 3
    assert list(slow_groups(exchange_of(transfer), FLOOR)) == []


def test_nothing_transferred_is_nothing_slow():
    assert list(slow_groups(exchange_of(np.zeros((4, 60))), FLOOR)) == []
    assert list(slow_groups(exchange_of(np.zeros((1, 60))), FLOOR)) == []


def test_what_all_groups_do_at_once_is_nobodys_fault():
    transfer = noise(6, 60, sd=0.05) * 5
    transfer[:, 30:] *= 3
    assert list(slow_groups(exchange_of(transfer), FLOOR)) == []
