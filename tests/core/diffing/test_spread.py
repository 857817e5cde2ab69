"""A few runs against the known spread of repeats: a statement with its own uncertainty."""

from __future__ import annotations

import numpy as np
import pytest

from pytscope.diffing.judging import welch
from pytscope.diffing.spread import Spread, against, runs_needed, spread_of_an_arm


def test_a_spread_of_repeats_gives_the_prediction_interval_and_no_probability():
    judged = against([0.0], [3.3], Spread(1.0, 9, 10, "earlier repeats"))
    assert (judged.low, judged.high) == pytest.approx((3.3 - 3.1991, 3.3 + 3.1991), abs=1e-3)
    assert judged.p is None
    assert judged.noise == 1.0
    assert judged.test == "prediction interval of 10 earlier repeats"


def test_repeats_that_do_not_differ_give_no_interval():
    judged = against([0.0], [3.3], Spread(0.0, 9, 10, "earlier repeats"))
    assert (judged.low, judged.p, judged.needed) == (None, None, None)


@pytest.mark.parametrize(
    ("freedom", "low", "high"),
    [  # chi-square tables: 7.3778 and 0.050636, 9.3484 and 0.21580, 26.1189 and 5.6287
        (2, 0.52066, 6.28468),
        (3, 0.56649, 3.72855),
        (14, 0.73212, 1.57711),
        (99, 0.87800, 1.16167),
    ],
)
def test_how_well_a_spread_is_known_is_what_chi_square_tables_say(freedom, low, high):
    assert Spread(1.0, freedom, freedom + 1, "").bounds == pytest.approx((low, high), rel=1e-4)


def test_the_bounds_hold_the_true_spread_nineteen_times_in_twenty():
    rng = np.random.default_rng(1)
    sds = rng.normal(size=(2000, 3)).std(axis=1, ddof=1)
    bounds = np.array([Spread(float(sd), 2, 3, "").bounds for sd in sds])
    held = float(((bounds[:, 0] <= 1.0) & (bounds[:, 1] >= 1.0)).mean())
    assert 0.935 <= held <= 0.965


def test_so_many_runs_as_are_needed_find_the_gap_about_four_times_in_five():
    rng = np.random.default_rng(0)
    for gap in (1.5, 1.0):
        runs = runs_needed(gap, 1.0)
        assert runs is not None
        arms = rng.normal(size=(300, 2, runs))
        arms[:, 1] += gap
        found = [(welch(first, second).p or 0.0) < 0.05 for first, second in arms]
        assert 0.7 <= float(np.mean(found)) <= 0.9, (gap, runs)
    assert runs_needed(1e3, 1.0) == 3
    assert runs_needed(-1.5, 1.0) == runs_needed(1.5, 1.0)
    assert runs_needed(1e-3, 1.0) is None


def test_the_larger_arm_tells_how_much_repeats_differ():
    known = spread_of_an_arm([2.0], [1.0, 2.0, 3.0])
    assert known is not None
    assert (known.sd, known.freedom, known.repeats) == (1.0, 2, 3)
    assert spread_of_an_arm([1.0, 2.0], [1.0]) is None
