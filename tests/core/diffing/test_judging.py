"""Tests over runs, against tests that anyone can work out."""

from __future__ import annotations

import math

import pytest

from pytscope.diffing.judging import adjusted, by_rank, paired, unpaired, welch


def test_arms_of_unequal_spread_have_fewer_degrees_of_freedom():
    judged = welch([0.0, 10.0, -10.0, 0.0], [20.0, 20.1, 19.9, 20.0])
    # t = 20 / 4.0827, 3.0006 degrees of freedom, against 6 of Student's own test
    assert judged.p == pytest.approx(0.01628, abs=2e-4)


def test_welch_of_three_is_what_a_formula_says():
    judged = welch([1.0, 2.0, 3.0], [5.0, 6.0, 7.0])
    assert judged.p == pytest.approx(0.00805, abs=2e-5)  # t = 4.899, 4 degrees of freedom
    assert (judged.low, judged.high) == pytest.approx((4 - 2.26695, 4 + 2.26695), abs=1e-4)
    assert judged.noise == pytest.approx(1.0)
    assert judged.smallest == pytest.approx(3.088, abs=1e-3)


def test_equal_values_are_no_proof():
    assert unpaired([1.0] * 3, [1.0] * 3).p == 1.0
    assert unpaired([1.0] * 3, [0.9] * 3).p == pytest.approx(0.1)  # 2 of 20 orders
    assert paired([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]).p == pytest.approx(0.25)  # 2 of 8 signs


def test_runs_that_are_all_equal_would_have_shown_no_size():
    judged = paired([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert (judged.p, judged.smallest, judged.low, judged.high) == (1.0, None, 0.0, 0.0)
    assert unpaired([1.0] * 3, [1.0] * 3).smallest is None


def test_pairs_tell_more_when_seeds_matter():
    first, second = [1.0, 5.0, 9.0, 14.0], [1.5, 5.6, 9.4, 14.5]
    assert welch(first, second).p > 0.8
    assert paired(first, second).p < 0.01


def test_runs_that_end_in_nan_are_the_worst():
    nan = math.nan
    assert by_rank([1.0] * 4, [nan] * 4, worst_high=True).p == pytest.approx(2 / 70)
    assert by_rank([1.0] * 3, [nan] * 3, worst_high=True).p == pytest.approx(0.1)
    assert by_rank([nan] * 3, [nan] * 3, worst_high=False).p == 1.0
    many = by_rank([1.0] * 12, [nan] * 12, worst_high=True).p
    assert many is not None
    assert many < 0.001


def test_holm_is_as_strict_as_the_number_of_tests():
    assert adjusted([0.01, None, 0.04, 0.03]) == [pytest.approx(0.03), None, 0.06, 0.06]
    assert adjusted([0.9, 0.8]) == [1.0, 1.0]
    assert adjusted([]) == []
