from __future__ import annotations

import numpy as np
import pytest

from pytscope.stats import effective_size
from pytscope_rules_distributed.series import (
    against_the_others,
    effective_sizes,
    false_discovery,
    heaviest_stretch,
    winsorised,
)
from tests.rules_distributed.made import noise


@pytest.mark.parametrize("ranks", range(2, 10))
def test_each_rank_is_compared_with_the_upper_median_of_the_others(ranks):
    values = np.random.default_rng(ranks).integers(0, 6, (ranks, 40)).astype(float)  # with ties
    found = against_the_others(values)
    for rank in range(ranks):
        others = np.sort(np.delete(values, rank, axis=0), axis=0)
        assert (found[rank] == values[rank] - others[len(others) // 2]).all()


def test_one_fast_rank_of_three_makes_nobody_slow():
    found = against_the_others(np.array([[5.0], [10.0], [10.0]]))
    assert (found[1:] <= 0).all()


def test_winsorising_moves_the_outer_twentieths_alone():
    values = np.arange(100.0)[None]
    found = winsorised(values)[0]
    assert found.min() == 5
    assert found.max() == 94
    assert (found[5:95] == values[0, 5:95]).all()
    assert (winsorised(values[:, :10]) == values[:, :10]).all()


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_effective_sizes_are_those_of_theory_and_never_above_cores(rho):
    series = np.log(noise(200, 1000, sd=0.1, rho=rho, common=0.0))
    sizes = effective_sizes(series)
    theory = 1000 * (1 - rho) / (1 + rho)
    assert theory / 1.6 < np.median(sizes) < theory * 1.1
    assert all(size <= effective_size(row) * 1.001 for size, row in zip(sizes, series, strict=True))


def test_short_series_that_remember_are_not_taken_for_many_values():
    sizes = effective_sizes(np.log(noise(400, 60, sd=0.1, rho=0.9, common=0.0)))
    assert np.median(sizes) < 4  # theory: 3.2
    assert np.quantile(sizes, 0.99) < 15


def test_a_constant_series_has_its_length():
    assert effective_sizes(np.full((2, 50), 3.3)).tolist() == [50.0, 50.0]
    assert effective_sizes(np.zeros((3, 2))).tolist() == [2.0, 2.0, 2.0]
    assert len(effective_sizes(np.zeros((0, 10)))) == 0


def test_discoveries_are_adjusted_as_benjamini_and_hochberg_say():
    found = false_discovery(np.array([0.04, 0.01, 0.03, 0.5]))
    assert found == pytest.approx([0.16 / 3, 0.04, 0.16 / 3, 0.5])


def test_the_heaviest_stretch_is_that_of_every_stretch_tried():
    values = np.random.default_rng(3).normal(size=(50, 17))
    start, stop = heaviest_stretch(values)
    for row, first, last in zip(values, start, stop, strict=True):
        sums = [row[i:j].sum() for i in range(17) for j in range(i, 18)]
        assert row[first:last].sum() == pytest.approx(max(sums))


def test_no_stretch_is_above_zero_where_no_value_is():
    start, stop = heaviest_stretch(-np.ones((1, 5)))
    assert (start[0], stop[0]) == (0, 0)
