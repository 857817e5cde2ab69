"""False alarms and power in a hurry; `python bench/rates_distributed.py` prints all of it."""

from __future__ import annotations

import numpy as np
import pytest

from pytscope.model.findings import Confidence
from tests.rules_distributed.families import (
    CLAIMS,
    FAMILIES,
    NOBODYS,
    OWN_MS,
    PAUSING,
    QUIET,
    TRANSFERS,
    healthy,
    linked,
    ranks_of,
    said_of,
    tick_of,
)

HARD = ("lognormal 30 %", "AR(1) rho 0.9, 10 %", "AR(1) rho 0.9, 30 %", "Student t3, 10 %")
SIZES = ((2, 60, 40), (4, 60, 40), (8, 60, 40), (8, 1000, 5), (64, 60, 15), (64, 300, 4))


@pytest.mark.parametrize("name", FAMILIES)
def test_no_healthy_rank_is_named(name):
    for ranks, steps, runs in SIZES:
        times = runs if name in HARD else max(runs // 4, 1)
        for seed in range(times):
            said = said_of(healthy(FAMILIES[name], ranks, steps, seed))
            assert said["DIST.STRAGGLER"] == [], (ranks, steps, seed)
            pauses = said["DIST.PAUSE"]
            if name in PAUSING:
                assert all(f.confidence is Confidence.SUGGESTIVE for f in pauses)
            else:
                assert pauses == [], (ranks, steps, seed)


@pytest.mark.parametrize("name", NOBODYS)
def test_no_rank_is_blamed_for_what_all_do_at_random(name):
    for ranks, steps, runs in ((2, 300, 20), (4, 300, 10), (8, 1000, 3), (64, 300, 3)):
        for seed in range(runs):
            (one,) = said_of(healthy(FAMILIES[name], ranks, steps, seed))["DIST.PAUSE"]
            assert one.ranks == (), (ranks, steps, seed)


@pytest.mark.parametrize("name", HARD)
def test_nor_one_of_a_thousand(name):
    assert said_of(healthy(FAMILIES[name], 1024, 60, 1))["DIST.STRAGGLER"] == []


@pytest.mark.parametrize("name", QUIET)
def test_no_work_is_called_uneven_that_is_not(name):
    for ranks, steps in ((2, 60), (8, 60), (64, 300)):
        for seed in range(5):
            assert said_of(healthy(QUIET[name], ranks, steps, seed))["DIST.LOAD_IMBALANCE"] == []


@pytest.mark.parametrize("name", TRANSFERS)
def test_no_healthy_link_is_called_slow(name):
    for groups, steps, runs in ((1, 60, 40), (4, 60, 40), (8, 300, 10), (64, 60, 5)):
        for seed in range(runs):
            assert linked(TRANSFERS[name], groups, steps, seed) == [], (groups, steps, seed)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.what)
def test_exactly_the_slow_ranks_are_named(claim):
    runs = 2 if claim.ranks > 100 else 10
    found = sum(claim.found((seed, 3)) for seed in range(runs))
    assert found >= runs - 1


@pytest.mark.parametrize("ranks", [2, 4, 8, 64])
@pytest.mark.parametrize("ms", [1.0, 5.0, 100.0])
def test_ties_name_nobody(ranks, ms):
    from pytscope_rules_distributed.finding_out import found

    own = np.full((ranks, 60), ms)
    stragglers = found(ranks_of(own, tick_ns=tick_of(own)))
    assert stragglers.slow == ()
    assert stragglers.held_up_ns == 0
    assert not any(said_of(stragglers).values())


@pytest.mark.parametrize("ms", [3.5, 4.49, OWN_MS])
def test_a_clock_of_whole_milliseconds_names_nobody(ms):
    from pytscope_rules_distributed.finding_out import found

    rng = np.random.default_rng(4)
    ranks = np.array([[ms], [ms], [ms + 0.02], [ms], [ms], [ms], [ms], [ms]])
    own = np.rint(ranks * rng.lognormal(0, 0.01, (8, 200)))
    assert found(ranks_of(own, tick_ns=tick_of(own))).slow == ()
