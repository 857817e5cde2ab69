"""Of thousands of ranks three stand in a report."""

from __future__ import annotations

import pytest

from pytscope.analyses.few import MOST_RANKS, few


@pytest.mark.parametrize("ranks", [0, 1, MOST_RANKS])
def test_as_many_as_can_be_listed_are_all_kept_in_their_order(ranks: int) -> None:
    given = [(ranks - i, i) for i in range(ranks)]
    assert few(given, lambda one: one) == tuple(given)


def test_of_more_the_least_the_median_and_the_greatest_are_kept() -> None:
    given = [((7 * i) % (MOST_RANKS + 1), i) for i in range(MOST_RANKS + 1)]
    assert [value for value, _ in few(given, lambda one: one)] == [0, MOST_RANKS // 2, MOST_RANKS]
