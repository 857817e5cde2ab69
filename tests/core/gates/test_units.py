from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytscope.gates.units import converted, quantity, told


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("120", 120, ""),
        ("120 ms", 120, "ms"),
        ("120ms", 120, "ms"),
        ("20%", 20, "%"),
        ("1.5 GiB", 1.5, "GiB"),
        ("-0.25", -0.25, ""),
        (".5", 0.5, ""),
        ("1e-3", 0.001, ""),
        ("3_000/s", 3000, "/s"),
        ("7 \u00b5s", 7, "\u00b5s"),
    ],
)
def test_a_number_and_its_unit(text, value, unit):
    assert quantity(text) == (value, unit)


@pytest.mark.parametrize("text", ["", "ms", "1.2.3", "1e999", "nan", "inf", "1 000", "0x10", "1,5"])
def test_what_is_no_number(text):
    with pytest.raises(ValueError, match="is not a number"):
        quantity(text)


@pytest.mark.parametrize(
    ("value", "unit", "into", "worth"),
    [
        (20, "%", "share", 0.2),
        (7, "%", "share", 0.07),
        (1.5, "s", "ms", 1500),
        (90, "us", "ms", 0.09),
        (2, "min", "s", 120),
        (1.5, "GiB", "bytes", 1.5 * 2**30),
        (3, "kB", "bytes", 3000),
        (120, "/min", "1/s", 2),
        (0.2, "", "share", 0.2),
        (150, "%", "share", 1.5),
        (5, "", "", 5),
    ],
)
def test_units_become_the_metrics_own(value, unit, into, worth):
    assert converted(value, unit, into) == worth


@pytest.mark.parametrize(("unit", "into"), [("ms", "share"), ("%", "ms"), ("%", ""), ("MiB", "s")])
def test_a_unit_that_does_not_fit_is_refused(unit, into):
    with pytest.raises(ValueError, match="does not fit"):
        converted(1, unit, into)


def test_what_is_too_large_in_the_metrics_unit_is_refused():
    with pytest.raises(ValueError, match=r"1e\+308 h is too large for a number"):
        converted(1e308, "h", "ms")


@pytest.mark.parametrize("value", [20, -2, 1.01])
def test_a_share_without_its_percent_sign_is_refused(value):
    with pytest.raises(ValueError, match="a share is a fraction"):
        converted(value, "", "share")


def test_units_are_offered_once_each():
    with pytest.raises(ValueError, match=r"units that fit: ns, us, ms, s, min, h$"):
        converted(1, "MS", "ms")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.2, "share", "20%"),
        (0.31415, "share", "31.4%"),
        (120.0, "ms", "120 ms"),
        (12.3456, "ms", "12.35 ms"),
        (3, "count", "3"),
        (2.5, "", "2.5"),
        (1.5 * 2**30, "bytes", "1.50 GiB"),
        (45.678, "1/s", "45.68/s"),
        (12345678.9, "", "12,345,679"),
        (math.nan, "", "nan"),
        (math.inf, "ms", "inf"),
    ],
)
def test_values_are_told_in_few_digits(value, unit, text):
    assert told(value, unit) == text


@given(
    st.floats(-1e12, 1e12, allow_nan=False),
    st.floats(-1e12, 1e12, allow_nan=False),
    st.sampled_from(["share", "ms", "bytes", "", "1/s"]),
)
def test_two_values_never_look_the_same_unless_they_hardly_differ(first, second, unit):
    if abs(first - second) > 1e-9 * max(abs(first), abs(second), 1e-6):
        assert told(first, unit, second) != told(second, unit, first)
