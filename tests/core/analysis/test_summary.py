from __future__ import annotations

import attrs

from pytscope.analysis.summary import summarise
from pytscope.runs.building import EPOCH_NS
from pytscope.runs.window import windowed
from pytscope.testing import make_run


def test_the_shown_rank_gives_steps_and_wall() -> None:
    run = make_run({"data": 1}, steps=4, ranks={0: {}, 1: {"data": 5}, 3: {"data": 9}})
    summary = summarise(run)
    assert summary.ranks == (0, 1, 3)
    assert summary.world_size == 4
    assert summary.steps == 4
    assert summary.wall_ns == 20_000_000 == run.rank(1).measured_ns
    assert summary.finished
    assert summary.created_epoch_ns == EPOCH_NS


def test_steps_done_again_count_once() -> None:
    summary = summarise(make_run({"data": 1}, attempts=[(0, 6), (4, 6)]))
    assert summary.steps == 10
    assert summary.attempts == (0, 1)


def test_a_rank_that_did_not_finish_is_enough() -> None:
    assert not summarise(make_run({"data": 1}, finished=False)).finished


def test_an_earlier_attempt_that_was_cut_off_is_no_matter() -> None:
    run = make_run({"data": 1}, attempts=[(0, 5), (5, 5)])
    (timeline,) = run.timelines
    timeline.attempts = (attrs.evolve(timeline.attempts[0], finished=False), timeline.attempts[1])
    assert summarise(run).finished


def test_names_and_places_are_the_runs() -> None:
    run = attrs.evolve(
        make_run({"data": 1}, name="n", steps=3),
        path="p",
        source="s",
        window=(1, None),
        other_attempts=(4,),
    )
    summary = summarise(run)
    assert (summary.name, summary.path, summary.source) == ("n", "p", "s")
    assert (summary.window, summary.other_attempts) == ((1, None), (4,))


def test_a_rank_without_a_step_is_not_the_one_shown() -> None:
    run = make_run({"data": 1}, steps=4, ranks={0: {}, 1: {}})
    early = windowed(run, 0, 0).rank(0)
    empty = early.select(early.step < 0, early.attempts)
    run = attrs.evolve(run, timelines=(empty, run.rank(1)))
    assert summarise(run).steps == 4
    assert summarise(attrs.evolve(run, timelines=(empty,))).steps == 0


def test_a_run_that_goes_on_is_live() -> None:
    run = make_run({"data": 1}, finished=False)
    assert not summarise(run).live
    assert summarise(attrs.evolve(run, live=True)).live
