from __future__ import annotations

import attrs
import pytest

from pytscope.analyses.few import MOST_RANKS
from pytscope.builtin.analyzers.timing import timing
from pytscope.model.panels import Text
from pytscope.runs.building import make_run
from pytscope.runs.run import Run


def notes(run: Run) -> str:
    rows = timing(run).panel().rows
    return " ".join(row.text for row in rows if isinstance(row, Text))


def test_nothing_logged_is_null_and_says_nothing():
    made = timing(make_run({"forward": 10}))
    assert (made.throughput, made.tokens_per_s, made.samples_per_s) == ({}, None, None)
    assert "tokens" not in made.panel().headline


def test_the_denominator_is_the_wall_of_the_steps_that_logged():
    tokens = [1000 if i % 4 == 0 else None for i in range(100)]
    forward = [10 if i % 4 == 0 else 90 for i in range(100)]
    run = make_run({"forward": forward, "eval": 10}, scalars={"tokens": tokens})
    made = timing(run)
    assert made.tokens_per_s == made.throughput["tokens"].per_s == pytest.approx(1000 / 0.020)
    assert made.throughput["tokens"].steps == 25
    assert "tokens/s over the 25 steps that logged it, of 100" in notes(run)
    assert "50,000 tokens/s" in made.panel().headline


def test_warm_up_and_what_is_not_finite_do_not_count():
    tokens = [float("nan"), *[10.0] * 9]
    made = timing(make_run({"forward": 10}, steps=10, scalars={"tokens": tokens}, warmup=2))
    assert made.tokens_per_s == pytest.approx(1000)
    assert made.throughput["tokens"].steps == 8


def test_a_measured_zero_is_no_null():
    assert timing(make_run({"forward": 10}, scalars={"tokens": 0})).tokens_per_s == 0.0


def test_ranks_have_their_own_rates_and_a_sum():
    ranks = {rank: {"forward": 10 * (rank + 1)} for rank in range(3)}
    run = make_run({"forward": 10}, ranks=ranks, scalars={"samples": 6})
    throughput = timing(run).throughput["samples"]
    assert throughput.by_rank == pytest.approx({0: 600.0, 1: 300.0, 2: 200.0})
    assert throughput.per_s == pytest.approx(300.0)
    assert throughput.sum_per_s == pytest.approx(1100.0)
    assert "300 samples/s on rank 1, 1,100 samples/s summed over all 3 ranks" in notes(run)


def test_ranks_that_did_not_log_are_told():
    run = make_run({"forward": 10}, ranks=2)
    logged = make_run({"forward": 10}, scalars={"tokens": 5})
    (with_tokens,) = logged.timelines
    mixed = attrs.evolve(run, timelines=(run.timelines[1], with_tokens))
    assert "summed over the 1 of 2 ranks that logged it" in notes(mixed)


def test_of_many_ranks_three_are_kept_and_the_sum_of_all():
    run = make_run({"forward": 10}, steps=3, ranks=MOST_RANKS + 1, scalars={"tokens": 1})
    throughput = timing(run).throughput["tokens"]
    assert list(throughput.by_rank) == [0, MOST_RANKS // 2, MOST_RANKS]
    assert throughput.ranks == MOST_RANKS + 1
    assert throughput.sum_per_s == pytest.approx(100.0 * (MOST_RANKS + 1))
