"""Amounts as text."""

from __future__ import annotations

import pytest

from pytscope.analyses.units import count, duration, percent, ranks_named, rate


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.00 µs"),
        (12_345, "12.3 µs"),
        (999_600, "1.00 ms"),
        (12_010_000, "12.0 ms"),
        (123_400_000, "123 ms"),
        (999_600_000, "1.00 s"),
        (53_960_000_000, "53.96 s"),
        (142_000_000_000, "142.00 s"),
        (754_000_000_000, "12 m 34 s"),
        (3 * 3600 * 10**9, "3 h 00 m"),
        (-5_000_000, "-5.00 ms"),
        (float("inf"), "inf s"),
    ],
)
def test_a_duration_has_the_unit_that_suits_it(ns, text):
    assert duration(ns) == text


def test_shares_are_percent_and_absurd_ones_are_short():
    assert percent(0.52) == "52.0%"
    assert percent(-0.001) == "-0.1%"
    assert len(percent(7e9)) < 10


def test_rates_take_a_longer_unit_when_the_second_is_too_short():
    assert rate(43.3, "steps") == "43.3 steps/s"
    assert rate(12_345.6, "tokens") == "12,346 tokens/s"
    assert rate(0.2, "steps") == "12.0 steps/min"
    assert rate(0.001, "steps") == "3.60 steps/h"


def test_counts_and_ranks():
    assert (count(1, "step"), count(1200, "step")) == ("1 step", "1,200 steps")
    assert (ranks_named((3,)), ranks_named((1, 2))) == ("rank 3", "ranks 1, 2")
