from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytscope.builtin.reporters.meters import bar, largest_remainder, percentages
from pytscope.model.panels import Meter, Panel, Status, Text
from tests.core.builtin.reporters.drawn import draw
from tests.core.report_samples import report

WEIGHTS = st.lists(st.integers(0, 10**12), min_size=1, max_size=40).filter(any)


def tenths(shown: list[str]) -> int:
    return sum(round(float(p.removesuffix("%")) * 10) for p in shown)


@given(WEIGHTS)
def test_a_group_sums_to_a_hundred(weights):
    shares = [w / sum(weights) for w in weights]
    shown = percentages([Meter("m", s, group="g") for s in shares])
    assert tenths(shown) == 1000
    for share, text in zip(shares, shown, strict=True):
        assert abs(share * 1000 - float(text.removesuffix("%")) * 10) < 1 + 1e-6


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=10), st.integers(0, 5000))
def test_largest_remainders_sum_even_with_negative_shares(shares, total):
    assert sum(largest_remainder(shares, total)) == total


def test_thirds_do_not_lose_a_tenth():
    shown = percentages([Meter("m", 1 / 3, group="g")] * 3)
    assert shown == ["33.4%", "33.3%", "33.3%"]


def test_two_groups_and_loners_keep_apart():
    third, sixth = Meter("a", 1 / 3, group="a"), Meter("b", 1 / 6, group="b")
    meters = [third, sixth, Meter("c", 1 / 3), *[third] * 2, *[sixth] * 5]
    shown = percentages(meters)
    assert tenths([shown[i] for i in (0, 3, 4)]) == 1000
    assert tenths([shown[1], *shown[5:]]) == 1000
    assert shown[2] == "33.3%"


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.5, "50.0%"),
        (-0.0001, "0.0%"),
        (-0.2, "-20.0%"),
        (7e9, "7.0e+11%"),
        (math.nan, "NaN%"),
        (-math.inf, "-Infinity%"),
    ],
)
def test_impossible_shares_are_printed_as_they_are(share, shown):
    assert percentages([Meter("m", share)]) == [shown]


def test_a_group_that_is_no_whole_is_rounded_one_by_one():
    assert percentages([Meter("m", 0.25, group="g"), Meter("n", 0.5, group="g")]) == [
        "25.0%",
        "50.0%",
    ]


@given(st.floats(), st.integers(10, 30), st.booleans())
def test_bars_have_their_length(share, length, ascii_only):
    drawn = "".join(span.text for span in bar(share, length, ascii_only=ascii_only))
    assert len(drawn) == length
    full, empty = ("#", "-") if ascii_only else ("█", "░")
    assert drawn == full * drawn.count(full) + empty * drawn.count(empty)


@pytest.mark.parametrize(
    ("share", "cells"),
    [(0, 0), (1, 30), (0.52, 16), (2, 30), (-1, 0), (math.nan, 0), (1 / 60, 1)],
)
def test_bars_are_lit_by_share(share, cells):
    assert "".join(span.text for span in bar(share, 30)).count("█") == cells


def test_a_group_is_one_across_the_rows_of_a_panel():
    third = Meter("third", 1 / 3, group="g")
    panel = Panel("p", "P", "x", Status.OK, (third, Text("between"), third, third))
    shown = [w for w in draw(report(panels=(panel,))).split() if w.startswith("33.")]
    assert tenths(shown) == 1000
