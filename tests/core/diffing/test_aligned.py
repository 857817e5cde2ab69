"""Series side by side: by global step, to the last bit, and by what matters."""

from __future__ import annotations

import numpy as np
import pytest

from pytscope.diffing.aligned import AlignedSeries, aligned_series, mattering, unequal
from pytscope.diffing.precision import FULL
from pytscope.runs.run import Run
from pytscope.testing import make_run


def runs_of(first: list[float | None], second: list[float | None], **more: int) -> tuple[Run, Run]:
    a, b = (make_run({"forward": 1}, scalars={"loss": v}) for v in (first, second))
    return a, make_run({"forward": 1}, scalars={"loss": second}, **more) if more else b  # type: ignore[arg-type]  # numbers alone


def series(a: Run, b: Run, name: str = "loss") -> AlignedSeries:
    return next(one for one in aligned_series(a, b, FULL, "float32") if one.name == name)


def test_bits_count():
    nan, odd = np.array([np.nan]), np.array([0x7FF8000000000001], np.int64).view(np.float64)
    assert not unequal(nan, odd).any()
    assert unequal(np.array([0.0]), np.array([-0.0])).all()
    assert unequal(np.array([1.0]), np.array([1.0 + 2**-52])).all()
    big = np.array([2**62 + 1]), np.array([2**62])
    assert unequal(*big).all()
    assert not unequal(np.array([3]), np.array([3.0])).any()


def test_steps_are_global_and_no_places():
    first: list[float | None] = [1.0] * 10
    a = make_run({"forward": 1}, scalars={"loss": first}, first_step=100)
    second = [1.0] * 3 + [2.0] * 7
    b = make_run({"forward": 1}, scalars={"loss": second}, first_step=105)
    told = series(a, b).told
    assert (told.compared, told.only_first, told.only_second) == (5, 5, 5)
    assert told.bitwise is not None
    assert told.bitwise.step == 108


def test_sparse_series_meet_where_both_have_values():
    told = series(*runs_of([1.0, None, 1.0, None, 1.0], [1.0, 5.0, None, None, 2.0])).told
    assert told.compared == 2
    assert told.bitwise is not None
    assert (told.bitwise.step, told.bitwise.first, told.bitwise.second) == (4, 1.0, 2.0)


def test_the_last_attempts_values_count():
    loss = [1.0] * 6 + [2.0] * 6
    a = make_run({"forward": 1}, scalars={"loss": loss}, attempts=[(0, 6), (3, 6)])
    b = make_run({"forward": 1}, scalars={"loss": [1.0] * 3 + [2.0] * 6})
    assert series(a, b).told.bitwise is None


def test_a_small_difference_does_not_matter_and_a_large_one_does():
    first = [1.0] * 20
    told = series(*runs_of(first, [1.0] * 5 + [1.0 + 1e-7] * 5 + [1.5] * 10)).told
    assert told.bitwise is not None
    assert told.material is not None
    assert (told.bitwise.step, told.material.step) == (5, 10)
    assert told.largest == pytest.approx(0.5)
    assert "1e-05" in told.tolerance


def test_gaps_no_larger_than_the_earlier_ones_do_not_matter():
    rng = np.random.default_rng(0)
    wobble = 1 + 1e-4 * rng.standard_normal(400)
    wobble[:5] = 1 + 1e-9
    pair = next(iter(series(*runs_of([1.0] * 400, wobble.tolist())).pairs))
    matter = np.flatnonzero(mattering(pair, 1e-3))
    assert not len(matter)


def test_a_gap_that_creeps_up_matters_at_last():
    second = [1.0 + 1e-6 * 1.02**i for i in range(600)]
    told = series(*runs_of([1.0] * 600, second)).told
    assert told.material is not None


@pytest.mark.parametrize(("first", "second"), [(np.nan, 1.0), (np.inf, 1.0), (np.inf, -np.inf)])
def test_values_that_are_no_numbers_matter(first: float, second: float):
    told = series(*runs_of([1.0, first], [1.0, second])).told
    assert told.bitwise is not None
    assert told.material is not None
    assert told.material.step == 1
    assert told.largest == 0.0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_equal_values_that_are_no_numbers_are_equal(value: float):
    assert series(*runs_of([1.0, value], [1.0, value])).told.bitwise is None


def test_huge_values_do_not_overflow():
    told = series(*runs_of([1e308] * 9, [-1e308] * 9)).told
    assert told.material is not None


def test_times_are_not_compared():
    scalars = {"loss": 1.0, "step_time": 2.0}
    run = make_run({"forward": 1}, scalars=scalars)
    assert [one.name for one in aligned_series(run, run, FULL, "")] == ["loss"]


def test_ranks_are_compared_with_themselves():
    a, b = (make_run({"forward": 1}, steps=5, scalars={"loss": 1.0}, ranks=r) for r in (2, 3))
    assert [pair.rank for pair in series(a, b).pairs] == [0, 1]


def test_fingerprints_of_a_loader_that_was_wound_forward_are_left_out():
    fed = [10, 11, 12, 13, 14, 15]
    a = make_run({"forward": 1}, scalars={"batch_fingerprint": fed})
    b = make_run({"forward": 1}, scalars={"batch_fingerprint": [10, 11, 12, 99, 14, 15]})
    told = next(aligned_series(a, b, FULL, "", [3]))
    assert told.told.bitwise is None
    assert told.wound == (3,)
    assert next(aligned_series(a, b, FULL, "", [2])).told.bitwise is not None
    c = make_run({"forward": 1}, scalars={"batch_fingerprint": [10, 11, 12, 99, 98, 15]})
    assert next(aligned_series(a, c, FULL, "", [3])).told.bitwise is not None
