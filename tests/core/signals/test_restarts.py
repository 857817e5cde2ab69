"""Training that begins anew in one log, and blow-ups that do not."""

from __future__ import annotations

import numpy as np

from pytscope.signals.restarts import find_restarts


def falling(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (2.0 + 9.0 * np.exp(-np.arange(n) / 5.0)) * rng.lognormal(0.0, 0.02, n)


def test_a_course_that_comes_again_is_a_restart():
    values = np.concatenate([falling(100), falling(80, 1)])
    assert find_restarts(np.arange(180), values) == (100,)


def test_a_log_that_is_dense_at_first_is_compared_at_equal_distances():
    steps = np.concatenate(
        [np.arange(100), np.arange(100, 8_000, 100), np.arange(8_000, 12_000, 100)]
    )
    course = lambda step: 1.0 + 30.0 * np.exp(-step / 150.0)  # noqa: E731  # a formula
    values = np.where(steps < 8_000, course(steps), course(steps - 8_000))
    assert find_restarts(steps, values) == (8_000,)


def test_a_spike_that_returns_is_none():
    values = falling(180)
    values[100] = values[0]
    assert find_restarts(np.arange(180), values) == ()


def test_a_collapse_to_chance_is_none():
    values = falling(180)
    values[100:] = values[0]
    assert find_restarts(np.arange(180), values) == ()


def test_a_blow_up_that_climbs_is_none():
    values = np.concatenate([falling(100), [4.0, 7.0], falling(80, 1)])
    assert find_restarts(np.arange(182), values) == ()


def test_odd_values_are_no_restart():
    assert find_restarts([], []) == ()
    assert find_restarts(np.arange(40), np.full(40, np.nan)) == ()
    assert find_restarts(np.arange(40), np.full(40, -1.0)) == ()
    assert find_restarts(np.arange(40), np.full(40, 2.0)) == ()
