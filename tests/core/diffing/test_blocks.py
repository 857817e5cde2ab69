"""The block bootstrap, on series whose correlation is known."""

from __future__ import annotations

import numpy as np
import pytest

from pytscope.diffing.blocks import interval, mean_of, median_of


def ar1(rng, n, rho):
    values, level = np.empty(n), rng.normal()
    for i, step in enumerate(rng.normal(size=n) * np.sqrt(1 - rho**2)):
        level = rho * level + step
        values[i] = level
    return 10 + values


@pytest.mark.parametrize("centre", [median_of, mean_of])
@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_the_interval_holds_the_truth_as_often_as_it_says(centre, rho):
    rng = np.random.default_rng(5)
    found = [interval(centre(ar1(rng, 400, rho)), centre(ar1(rng, 400, rho))) for _ in range(40)]
    assert sum(low <= 0 <= high for low, high in found) >= 33  # 95 % of 40, and chance


def test_correlated_steps_promise_less_than_independent_ones():
    rng = np.random.default_rng(6)
    alone, together = mean_of(ar1(rng, 2000, 0.0)), mean_of(ar1(rng, 2000, 0.9))
    assert together.error > 3 * alone.error
    assert together.size < alone.size / 8


def test_the_error_of_a_long_series_is_that_of_theory():
    rng = np.random.default_rng(7)
    x = rng.normal(100, 3, 200_000)
    assert median_of(x).error == pytest.approx(1.2533 * 3 / np.sqrt(len(x)), rel=0.15)
    assert mean_of(x).error == pytest.approx(3 / np.sqrt(len(x)), rel=0.15)
    assert median_of(x).value == np.median(x)


def test_a_constant_series_has_no_error():
    assert median_of(np.full(50, 7.0)).error == 0
    assert interval(median_of(np.full(50, 7.0)), median_of(np.full(50, 8.0))) == (1.0, 1.0)


def test_few_steps_have_no_interval():
    assert interval(median_of([1.0, 2.0]), median_of(np.arange(50.0))) is None
    assert interval(mean_of([1.0]), mean_of(np.arange(50.0))) is None


def test_the_same_series_has_the_same_interval():
    x = np.random.default_rng(8).normal(size=300)
    assert median_of(x) is not median_of(x)
    assert median_of(x).error == median_of(x).error


def test_a_long_correlation_in_a_long_series_is_covered():
    rng = np.random.default_rng(9)
    found = [interval(mean_of(ar1(rng, 8000, 0.98)), mean_of(ar1(rng, 8000, 0.98)))
             for _ in range(20)]  # fmt: skip
    assert sum(low <= 0 <= high for low, high in found) >= 16
