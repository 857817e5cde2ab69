"""Onsets that keep a period."""

from __future__ import annotations

import numpy as np
import pytest

from pytscope.signals.rhythm import in_rhythm, on_grid


def at(*steps):
    return np.array(steps, np.int64)


def test_what_has_another_a_few_periods_away_is_in_rhythm():
    starts = at(20, 70, 121, 133, 220, 270)
    assert in_rhythm(starts, 50).tolist() == [True, True, True, False, True, True]
    assert in_rhythm(at(), 50).tolist() == []


@pytest.mark.parametrize(
    ("starts", "regular"),
    [
        (range(50, 400, 50), range(50, 400, 50)),
        ([50, 100, 150, 200, 217, 250, 300, 350], range(50, 400, 50)),
        ([100, 200, 301], [100, 200, 301]),  # the first multiples of their distance
        ([120, 220, 320], []),  # three at equal distances from anywhere are not many
        ([120, 220, 320, 420], [120, 220, 320, 420]),
        ([120, 200, 300], []),
        ([70, 72, 74], []),
        ([10, 20], []),
        ([], []),
        (range(0, 6500, 100), range(0, 6500, 100)),
    ],
)
def test_a_grid_of_which_hardly_a_point_is_missing_is_regular(starts, regular):
    known = at(*starts)
    assert known[on_grid(known)].tolist() == [*regular]
