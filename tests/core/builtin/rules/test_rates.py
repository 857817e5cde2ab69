"""False-positive rates of the statistical rules: at most 1 % with 95 % confidence.

Small families with fixed seeds; `python bench/rates.py` prints all of them.
"""

from __future__ import annotations

import numpy as np
import pytest

from pytscope.builtin.rules import dataloader_bound, jitter
from pytscope.testing import assert_fires, make_run
from tests.core.builtin.rules.noise import FAMILIES, false_alarms, upper_bound

RUNS = 314
MOST = 0.01


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
    alarms = false_alarms(dataloader_bound, FAMILIES[name], 120, range(RUNS))
    assert upper_bound(alarms, RUNS) <= MOST


def test_jitter_is_found_in_all_that_noise_when_it_is_there():
    found = 0
    for seed in range(40):
        factor = FAMILIES["AR(1) rho 0.9, 10 %"](np.random.default_rng(seed), 300)
        slow = np.where(np.arange(300) % 20 == seed % 20, 3.0, 1.0)
        run = make_run({"forward": (20 * factor * slow).tolist()})
        (finding,) = assert_fires(jitter, run)
        found += "every 20 steps" in finding.title
    assert found >= 38
