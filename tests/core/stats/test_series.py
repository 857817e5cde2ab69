"""Statistics of step series, against series whose truth is known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytscope.stats import (
    autocovariance,
    effective_size,
    high_outliers,
    holm,
    mad_scale,
    period,
    quantile_interval,
    ranges,
    robust_spread,
    running_median,
)


def ar1(rng, n, rho, sd=1.0):
    steps = rng.normal(size=n) * sd * math.sqrt(1 - rho**2)
    values, level = np.empty(n), rng.normal() * sd
    for i, step in enumerate(steps):
        level = rho * level + step
        values[i] = level
    return values


def test_mad_scale_is_the_standard_deviation_of_normal_noise():
    rng = np.random.default_rng(1)
    assert mad_scale(rng.normal(5, 2, 20_000)) == pytest.approx(2, rel=0.03)


def test_robust_spread_does_not_see_one_outlier_in_a_thousand():
    rng = np.random.default_rng(2)
    values = rng.normal(20, 1, 1000)
    values[500] = 2000
    assert values.std() / values.mean() > 1.5
    assert robust_spread(values) == pytest.approx(0.05, rel=0.15)


def test_robust_spread_of_nothing_is_zero():
    assert robust_spread([]) == 0.0
    assert robust_spread([0, 0]) == 0.0


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_effective_size_is_what_theory_says_of_autoregressive_noise(rho):
    rng = np.random.default_rng(3)
    sizes = [effective_size(ar1(rng, 4000, rho)) for _ in range(20)]
    assert np.median(sizes) == pytest.approx(4000 * (1 - rho) / (1 + rho), rel=0.15)


def test_effective_size_of_a_constant_or_tiny_series_is_its_length():
    assert effective_size(np.ones(50)) == 50
    assert effective_size([1.0, 2.0]) == 2
    assert effective_size([]) == 0


def test_effective_size_stays_within_the_series():
    alternating = np.tile([1.0, -1.0], 100)
    assert 1 <= effective_size(alternating) <= 200
    assert 1 <= effective_size(np.arange(100.0)) <= 100


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_quantile_interval_covers_the_truth_about_as_often_as_it_says(rho):
    rng = np.random.default_rng(4)
    inside = 0
    for _ in range(200):
        _, low, high = quantile_interval(ar1(rng, 400, rho), 0.5)
        inside += low <= 0.0 <= high
    assert 0.87 <= inside / 200 <= 1.0


def test_quantile_interval_brackets_its_estimate():
    estimate, low, high = quantile_interval([3.0, 1.0, 2.0, 5.0, 4.0], 0.5)
    assert low <= estimate == 3.0 <= high
    assert quantile_interval([7.0], 0.95) == (7.0, 7.0, 7.0)


def test_running_median_keeps_an_edge_sharp():
    values = np.repeat([1.0, 5.0], 100)
    assert (running_median(values, 51) == values).all()


@given(st.lists(st.floats(0, 1e6), max_size=200), st.sampled_from([3, 11, 51]))
@settings(max_examples=60, deadline=None)
def test_running_median_stays_among_the_values(values, width):
    medians = running_median(values, width)
    assert len(medians) == len(values)
    if values:
        assert min(values) <= medians.min() <= medians.max() <= max(values)


def test_running_median_of_a_series_longer_than_a_chunk_is_the_plain_one():
    rng = np.random.default_rng(5)
    values = rng.normal(size=40_000)
    medians = running_median(values, 5)
    for i in (2, 32_767, 32_768, 39_997):
        assert medians[i] == np.median(values[i - 2 : i + 3])


def test_running_median_of_a_very_long_series_is_shared_by_neighbours():
    values = np.random.default_rng(5).normal(size=70_003)
    medians = running_median(values, 5)
    assert len(medians) == len(values)
    assert (medians[8_000:8_008] == np.median(values[7_998:8_003])).all()


def test_outliers_are_found_on_a_drifting_noisy_level():
    rng = np.random.default_rng(6)
    values = np.linspace(10, 40, 600) * rng.lognormal(0, 0.05, 600)
    values[[100, 300, 500]] *= 2
    found = high_outliers(values, ratio=1.5)
    assert np.flatnonzero(found.mask).tolist() == [100, 300, 500]
    assert found.scale == pytest.approx(0.05, rel=0.2)


def test_low_values_and_zeros_never_stand_out():
    values = np.full(100, 10.0)
    values[[3, 50]] = [0.0, 1.0]
    assert not high_outliers(values, ratio=1.5).mask.any()


def test_the_noise_limit_grows_with_the_length():
    short = high_outliers(np.ones(50), ratio=1.5)
    long = high_outliers(np.ones(50_000), ratio=1.5)
    assert short.limit < long.limit < 2 * short.limit


@pytest.mark.parametrize("length", [2, 7, 25, 50, 400])
def test_an_exact_period_is_found(length):
    assert period(np.arange(12) * length + 3) == length


def test_a_period_survives_missing_events_and_neighbours():
    events = sorted({10 * i for i in range(20)} - {30, 100} | {41, 42})
    assert period(events) == 10


def test_a_period_that_wavers_a_little_is_found():
    rng = np.random.default_rng(7)
    events = np.cumsum(rng.integers(48, 53, 30))
    assert period(events) == pytest.approx(50, abs=1)


def test_few_events_have_no_period():
    assert period([]) is None
    assert period([5]) is None
    assert period([0, 50, 100]) is None


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.3])
def test_random_events_seldom_have_a_period(rate):
    rng = np.random.default_rng(8)
    claimed = sum(period(np.flatnonzero(rng.random(500) < rate)) is not None for _ in range(400))
    assert claimed <= 8


@given(st.lists(st.integers(-50, 50)))
def test_ranges_hold_exactly_the_numbers(numbers):
    joined = ranges(numbers)
    assert sorted(set(numbers)) == [n for a, b in joined for n in range(a, b + 1)]
    assert all(b + 1 < c for (_, b), (c, _) in itertools.pairwise(joined))


@pytest.mark.parametrize("n", [5, 100, 4_096, 4_097, 20_001])
def test_sums_of_shifted_products_are_those_of_the_definition(n):
    x = np.random.default_rng(n).normal(size=n)
    lags = min(n, 50)
    plain = [float(x[: n - k] @ x[k:]) for k in range(lags)]
    assert autocovariance(x, lags) == pytest.approx(plain, abs=1e-8)


def test_effective_size_of_a_long_series_looks_at_more_lags_only_where_it_must():
    slow = np.repeat(np.random.default_rng(0).normal(size=4), 5_000)
    assert effective_size(slow) < 10
    quick = np.random.default_rng(0).normal(size=20_000)
    assert effective_size(quick) > 15_000


def test_holm_goes_from_the_smallest():
    assert holm([0.5, 0.01, 0.02]) == pytest.approx([0.5, 0.03, 0.04])
    assert holm([0.9, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
