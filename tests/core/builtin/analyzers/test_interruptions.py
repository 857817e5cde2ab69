"""What interrupts training, and what tells that it did not from what nobody looked for."""

from __future__ import annotations

import pytest

from pytscope.builtin.analyzers import interruptions
from pytscope.model.jsonable import jsonable
from pytscope.testing import make_run
from tests.core.builtin.rules.interrupted import instrumented, sparse, watched_run


def told(*events, **options):
    return interruptions(make_run({"forward": 5}, last_attempt={"events": list(events)}, **options))


def test_a_recorder_that_says_nothing_watches_nothing():
    made = told()
    assert (made.watched, made.accelerator, made.sync) == (None, None, None)
    assert not made.watches("gc")


def test_events_of_one_attempt_add_up():
    made = told({"kind": "instrumentation", "sync": True}, instrumented(seams=["gc", "compile"]))
    assert made.watched == ("compile", "gc")
    assert made.watches("gc")
    assert not made.watches("h2d")
    assert made.sync is True
    without = {"kind": "instrumentation", "without": ["compile"]}
    assert told(instrumented(seams=["gc", "compile"]), without).watched == ("gc",)


def test_an_attempt_that_says_nothing_watched_nothing():
    made = told(instrumented(sync=True), attempts=[(0, 50), (50, 50)])
    assert made.watched == ()
    assert made.sync is False


@pytest.mark.parametrize("odd", [None, 5, "gc", [1, None], {"gc": 1}])
def test_values_of_other_kinds_are_passed_over(odd):
    made = told({"kind": "instrumentation", "seams": odd, "without": odd, "accelerator": 7})
    assert made.watched == ()
    assert made.accelerator is None


def test_compilations_are_placed_in_their_attempt():
    run = watched_run(
        {"compile": sparse(60, [0, 5, 30, 39], 50), "eval": sparse(60, [5, 39, 45], 10)},
        attempts=[(0, 30), (30, 30)],
        warmup=2,
        startup=[("compile", 400), ("other", 5)],
    )
    made = interruptions(run).compile
    assert made.step.values.tolist() == [5, 39]
    assert made.place.values.tolist() == [5, 9]
    assert made.evaluation.values.tolist() == [1, 1]
    assert made.total_ns == 100_000_000
    assert made.before_ns == (2 * 400 + 2 * 50) * 1_000_000


def test_the_longest_segment_is_found_in_steps_of_several():
    steps = [[("gc", 3), ("forward", 5), ("gc", 4)] if i % 2 else [("gc", 6)] for i in range(50)]
    (made,) = interruptions(make_run(steps)).gc
    assert made.longest_ns == 6_000_000
    assert made.total_ns == 25 * 13_000_000


def test_steps_done_again_are_left_out():
    run = make_run({"gc": 1}, attempts=[(0, 50), (30, 50)], world_size=4)
    made = interruptions(run)
    assert made.world == 4
    assert made.gc[0].steps == 80
    assert made.gc[0].before_ns == 0


def test_sizes_that_had_not_come_before_are_counted():
    tokens = [64] * 20 + [128] * 20 + [64] * 20 + [256] * 20
    run = watched_run({"compile": sparse(80, [20, 60], 50)}, scalars={"tokens": tokens})
    sizes = interruptions(run).new_sizes
    assert (sizes.name, sizes.compiling) == ("tokens", 1.0)
    assert sizes.others == pytest.approx(1 / 78)
    assert interruptions(watched_run({"compile": sparse(80, [20], 5)})).new_sizes is None


def test_json_keeps_three_of_many_ranks():
    ranks = {rank: {"gc": 1 + rank} for rank in range(65)}
    made = interruptions(make_run({"forward": 9}, ranks=ranks, steps=5))
    assert len(made.gc) == 65
    document = jsonable(made)
    assert [one["rank"] for one in document["gc"]] == [0, 32, 64]
    assert "each" not in document["compile"]
