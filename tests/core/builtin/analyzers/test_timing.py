"""The timing analyzer, against what records say one by one."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from pytscope.builtin.analyzers import timing
from pytscope.model.errors import NotMeasured
from pytscope.model.records import Flag
from pytscope.runs.run import ColumnStore, Run, Timeline
from pytscope.testing import make_run


def test_mean_and_rate_come_from_wall_and_the_rest_from_training_time():
    run = make_run({"forward": [10] * 9 + [20], "eval": [0] * 9 + [100], "log": 1})
    made = timing(run)
    assert made.mean_ns == 22_000_000
    assert made.steps_per_s == pytest.approx(1 / 0.022)
    assert made.median_ns == 10_000_000
    assert made.p95_ns == round(np.quantile([10e6] * 9 + [20e6], 0.95))
    assert made.training.values.max() == 20_000_000


def test_only_rated_steps_count():
    run = make_run({"forward": [500] * 5 + [10] * 20}, warmup=5, flags={Flag.REDONE: [7, 8]})
    made = timing(run)
    assert (made.steps, made.warmup_steps, made.redone_steps) == (18, 5, 2)
    assert made.mean_ns == 10_000_000
    assert made.step_ranges == ((5, 6), (9, 24))


def test_no_rated_step_is_not_measured_and_says_what_to_do():
    with pytest.raises(NotMeasured, match="--warmup"):
        timing(make_run({"forward": 10}, steps=5, warmup=5))


def test_phases_are_exact_sums_and_shares_close():
    run = make_run({"data": 3, "forward": 7, "mine": 2, "other": 1}, noise=0.3, seed=4)
    made = timing(run)
    records = list(run.shown.records())
    for name, phase in made.phases.items():
        each = [r.phases_ns.get(name, 0) for r in records]
        assert phase.total_ns == sum(each)
        assert phase.median_ns == round(np.median(each))
        assert phase.each.values.tolist() == each
    assert sum(p.total_ns for p in made.phases.values()) == made.wall_ns
    assert sum(p.share for p in made.phases.values()) == pytest.approx(1, abs=1e-12)
    assert list(made.phases) == ["data", "forward", "other", "mine"]


def test_median_and_percentile_of_a_phase_are_over_the_steps_that_have_it():
    made = timing(make_run({"forward": 10, "eval": [0, 0, 0, 40, 0, 0, 0, 60]}))
    assert (made.phases["eval"].steps, made.phases["eval"].median_ns) == (2, 50_000_000)
    assert made.phases["eval"].share == pytest.approx(100 / 180)


def test_samples_a_second_use_the_wall_of_the_steps_that_logged_them():
    samples = [64 if i % 10 == 0 else None for i in range(100)]
    made = timing(make_run({"forward": 10}, scalars={"samples": samples}))
    assert made.samples_per_s == pytest.approx(6400)
    assert made.tokens_per_s is None


def test_logged_values_that_are_no_numbers_do_not_spoil_the_rate():
    tokens = [float("nan")] * 50 + [100.0] * 50
    made = timing(make_run({"forward": 10}, scalars={"tokens": tokens}))
    assert made.tokens_per_s == pytest.approx(10_000)
    none = timing(make_run({"forward": 10}, scalars={"tokens": [float("nan")] * 100}))
    assert none.tokens_per_s is None


def test_the_rank_of_median_wall_is_shown():
    run = make_run({"forward": 10}, ranks={0: {"forward": 30}, 1: {}, 2: {"forward": 20}})
    made = timing(run)
    assert (made.rank, made.ranks, made.mean_ns) == (2, 3, 20_000_000)


def loose(phases: dict[str, list[int]], wall: list[int]) -> Run:
    """A run of a source whose phases do not sum to its walls."""
    rows = np.arange(len(wall))
    columns = ColumnStore(
        {"phase": tuple(phases)},
        lambda _kind, name: (rows, np.array(phases[name])),
        lambda row: tuple((name, values[row]) for name, values in phases.items()),
    )
    zeros = np.zeros(len(wall), np.int64)
    timeline = Timeline(
        0,
        (),
        step=rows,
        attempt=zeros,
        start_ns=zeros,
        wall_ns=np.array(wall),
        flags=zeros,
        micro_batches=zeros + 1,
        columns=columns,
    )
    return attrs.evolve(make_run({"forward": 1}), timelines=(timeline,), has_timeline=False)


def test_time_without_a_phase_is_other():
    made = timing(loose({"forward": [6, 7]}, [10, 10]))
    assert made.phases["other"].each.values.tolist() == [4, 3]
    assert made.has_timeline is False


def test_phases_beyond_the_wall_show_as_other_below_zero():
    made = timing(loose({"forward": [16, 17]}, [10, 10]))
    assert made.phases["other"].total_ns == -13
