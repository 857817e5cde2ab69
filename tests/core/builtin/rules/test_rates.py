"""False-positive rates of the statistical rules: at most 1 % with 95 % confidence.

Small families with fixed seeds; `python bench/rates.py` prints all of them.
"""

from __future__ import annotations

import pytest

from pytscope.builtin.rules import (
    backward_heavy,
    dataloader_bound,
    gc_pauses,
    h2d_bound,
    jitter,
    optimizer_heavy,
)
from tests.core.builtin.rules import memory_noise
from tests.core.builtin.rules.noise import (
    FAMILIES,
    RELATIONS,
    alarms,
    false_alarms,
    interrupted_run,
    related_run,
    upper_bound,
)
from tests.core.builtin.rules.power import CLAIMS

RUNS = 314
MOST = 0.01
POWER_RUNS = 20


def test_the_bound_is_that_of_clopper_and_pearson():
    assert upper_bound(0, 300) == pytest.approx(1 - 0.05 ** (1 / 300), rel=1e-6)
    assert upper_bound(1, 473) == pytest.approx(0.01, rel=0.01)
    assert upper_bound(2, 628) == pytest.approx(0.01, rel=0.01)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_jitter_stays_quiet_on_healthy_noise(name):
    assert upper_bound(false_alarms(jitter, FAMILIES[name], 120, range(RUNS)), RUNS) <= MOST


@pytest.mark.parametrize("steps", [20, 50])
def test_jitter_stays_quiet_on_short_runs(steps):
    family = FAMILIES["Student t4, 10 %"]
    assert upper_bound(false_alarms(jitter, family, steps, range(RUNS)), RUNS) <= MOST


@pytest.mark.parametrize("name", ["lognormal 30 %", "AR(1) rho 0.9, 20 %"])
def test_dataloader_bound_stays_quiet_on_healthy_loaders(name):
    alarms_of = false_alarms(dataloader_bound, FAMILIES[name], 120, range(RUNS))
    assert upper_bound(alarms_of, RUNS) <= MOST


@pytest.mark.parametrize("name", sorted(RELATIONS))
def test_relations_of_phases_that_vary_by_themselves_are_healthy(name):
    """Backward at four times forward and an update of a sixth are still healthy."""
    count = 2 * RUNS if "rho 0.9" in name else RUNS
    runs = (
        related_run(RELATIONS[name], 120, seed, ratio=4.0, update=1 / 6) for seed in range(count)
    )
    fired = alarms((backward_heavy, optimizer_heavy), runs)
    assert upper_bound(max(fired.values(), default=0), count) <= MOST


@pytest.mark.parametrize("steps", [20, 50, 200])
def test_interruptions_that_healthy_runs_have_are_healthy(steps):
    """One family, with as many runs as are promised."""
    family = FAMILIES["lognormal 10 %"]
    runs = (interrupted_run(family, steps, seed) for seed in range(2 * RUNS))
    fired = alarms((h2d_bound, gc_pauses), runs)
    assert upper_bound(max(fired.values(), default=0), 2 * RUNS) <= MOST


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.what)
def test_what_is_there_is_found(claim):
    found = sum(claim.found(seed) for seed in range(POWER_RUNS))
    assert found >= claim.least * POWER_RUNS


@pytest.mark.parametrize("name", sorted(memory_noise.FAMILIES))
def test_healthy_memory_does_not_grow(name):
    runs = RUNS * (memory_noise.MORE if name in memory_noise.WALKS else 1)
    fired = memory_noise.memory_alarms(memory_noise.FAMILIES[name], 120, range(runs))
    assert upper_bound(fired, runs) <= MOST


def test_long_random_walks_are_no_leak():
    family, runs = memory_noise.FAMILIES["random walk, 10 MiB a step"], memory_noise.MORE * RUNS
    assert upper_bound(memory_noise.memory_alarms(family, 1_000, range(runs)), runs) <= MOST


@pytest.mark.parametrize("leak", memory_noise.LEAKS, ids=lambda leak: leak.what)
def test_leaks_that_are_there_are_found(leak):
    tries = 3 if leak.steps > 10_000 else POWER_RUNS
    assert sum(leak.found(seed) for seed in range(tries)) >= leak.least * tries
