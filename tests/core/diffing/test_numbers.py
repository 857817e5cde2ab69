from __future__ import annotations

import math

import attrs
import pytest

from pytscope.diffing import numbers
from pytscope.diffing.numbers import are, recorded_apart
from pytscope.model.comparison import Difference, Kind, Likelihood
from tests.core.diffing.said import SLOWER, WORSE


def test_what_only_arithmetic_makes_of_equal_values_is_no_change():
    tiny = attrs.evolve(WORSE, first=(8.0,), second=(8.0,), difference=-1.776e-15, relative=-2e-16)
    assert numbers.change(tiny) == "none"
    assert numbers.change(WORSE) == "+0.1 (+19.6%)"
    assert numbers.change(SLOWER) == "+1.00 ms (+5.0%)"


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        (0.61, 0.74, ("0.61", "0.74")),
        (0.69314718, 0.69314719, ("0.69314718", "0.69314719")),
        (8.0, math.nextafter(8.0, 9), ("8", "8.000000000000002")),
        (2**62, 2**62 + 1, (str(2**62), str(2**62 + 1))),
        (math.nan, 1.0, ("nan", "1")),
        (0.0, -0.0, ("0", "-0")),
    ],
)
def test_values_have_the_digits_that_tell_them_apart(first, second, shown):
    assert numbers.told_apart(first, second) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        ("", '""'),
        (True, "true"),
        ({"a": [1, math.inf]}, '{"a": [1, "Infinity"]}'),
        ("two\nlines", "two lines"),
        ("x" * 99, "x" * 43 + "…"),
        (object, "builtins.object"),
    ],
)
def test_a_recorded_value_is_one_line(value, shown):
    assert numbers.recorded(value) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.196, "+19.6%"),
        (-0.0015, "-0.15%"),
        (0.0, "+0.00%"),
        (1e-7, "+1.0e-05%"),
        (math.inf, "inf%"),
    ],
)
def test_relative_changes(share, shown):
    assert numbers.relative(share) == shown


def test_an_arm_has_its_spread_and_one_run_has_none():
    assert numbers.centre((0.5,), "") == "0.5"
    assert numbers.centre((0.4, 0.6), "") == "0.5 ±0.14"
    assert numbers.centre((), "") == ""


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        ("", ""),
        ("AB", "A, B"),
        ("ABC", "A-C"),
        ("ABCEFGH", "A-C, E-H"),
        ("ACE", "A, C, E"),
        (("Y", "Z", "AA", "AB", "AC"), "Y, Z, AA, AB, AC"),
    ],
)
def test_labels_in_a_row_are_one(labels, shown):
    assert numbers.together(labels) == shown


def test_an_interval_has_its_unit_once():
    assert numbers.interval(SLOWER) == "+900 µs to +1.10 ms"
    assert numbers.interval(attrs.evolve(SLOWER, low=1.0, high=2.0)) == "+1.00 to +2.00 ms"
    assert numbers.interval(attrs.evolve(SLOWER, low=0.0, high=0.0)) == "0"
    assert numbers.interval(attrs.evolve(SLOWER, low=None)) == ""
    assert numbers.interval(attrs.evolve(SLOWER, unit="steps/s")) == "+0.9 to +1.1"


def test_values_that_differ_look_it():
    assert recorded_apart(["a", "b"]) == ("a", "b")
    assert recorded_apart([4, "4"]) == ("4", '"4"')
    assert recorded_apart([1, 1, "1"]) == ("1", "1", '"1"')
    assert recorded_apart([None, "null"]) == ("null", '"null"')
    long = ["x" * 300 + end for end in "yz"]
    first, second = recorded_apart(long)
    assert first != second
    assert max(map(len, (first, second))) < 50
    assert recorded_apart([long[0], long[0]])[0].startswith("xxx")


def test_what_runs_recorded_is_told_with_few_words():
    one = Difference("config.x", Kind.CONFIG, Likelihood.PERHAPS, (list(range(9999)), 2))
    assert len(are([one])) < 80
    assert are([one] * 9).endswith("and 5 more")
