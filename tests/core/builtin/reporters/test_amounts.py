from __future__ import annotations

import math

import pytest

from pytscope.builtin.reporters.amounts import number, ranges, seconds


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 ns"),
        (0.0123, "12.3 ms"),
        (1.141, "1.14 s"),
        (90_061, "25 h 01 m"),
        (math.inf, "inf s"),
    ],
)
def test_seconds(value, shown):
    assert seconds(value) == shown


def test_numbers():
    assert number(95) == "95"
    assert number(12.34567) == "12.35"
    assert number("as is") == "as is"


def test_ranges():
    assert ranges(((5, 5), (7, 9))) == "5, 7-9"
    assert ranges(tuple((i, i) for i in range(8))) == "0, 1, 2, 3, 4, 5 and 2 more"
