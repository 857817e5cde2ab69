"""Series of runs, by global step."""

from __future__ import annotations

import math

import numpy as np

from pytscope.diffing.logged import Series, integers, names, series
from pytscope.testing import make_run


def test_a_step_done_again_counts_as_it_was_done_last():
    again = make_run(
        {"forward": 1}, attempts=[(0, 5), (3, 3)], scalars={"loss": [0, 1, 2, 3, 4, 30, 40, 50]}
    )
    found = series(again, "loss")
    assert found is not None
    assert dict(zip(found.steps.tolist(), found.values.tolist(), strict=True)) == {
        0: 0, 1: 1, 2: 2, 3: 30, 4: 40, 5: 50,
    }  # fmt: skip


def test_whole_numbers_stay_whole_and_other_ranks_log_too():
    big = 2**60 + 1
    run = make_run({"forward": 1}, steps=3, scalars={"batch_fingerprint": [big, big + 1, big + 2]})
    found = integers(run, "batch_fingerprint")
    assert found is not None
    assert found[1].tolist() == [big, big + 1, big + 2]
    assert integers(run, "loss") is None
    assert series(run, "loss") is None
    assert names(run) == ("batch_fingerprint",)


def test_equality_is_of_bits_at_common_steps():
    one = Series(np.array([0, 1, 2, 5]), np.array([1.0, math.nan, -0.0, 4.0]))
    assert one.equals(Series(np.array([1, 2, 9]), np.array([math.nan, -0.0, 7.0]))) == 2
    assert one.equals(Series(np.array([2]), np.array([0.0]))) is None
    assert len(one.until(2)) == 3
