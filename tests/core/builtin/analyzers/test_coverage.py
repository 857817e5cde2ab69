"""The coverage analyzer: what is there, what is missing, where it stopped."""

from __future__ import annotations

import attrs
import pytest

from pytscope.analyses import Coverage
from pytscope.builtin.analyzers import coverage
from pytscope.model.records import Flag
from pytscope.runs.run import OpenState, ReadNote
from pytscope.testing import make_run


def covered(*args, **options) -> Coverage:
    made: Coverage = coverage(make_run(*args, **options))
    return made


def test_a_whole_run_lacks_nothing():
    made = covered({"forward": 10}, steps=50, warmup=5)
    assert (made.steps, made.rated_steps, made.warmup_steps) == (50, 45, 5)
    assert (made.ranks_present, made.ranks_missing, made.ranks_empty) == ((0,), (), ())
    assert made.finished
    assert made.stopped == ()
    assert (made.lost_steps, made.lost_ns, made.damaged_bytes) == (0, 0, 0)


def test_ranks_are_compared_with_the_world():
    made = covered({"forward": 10}, ranks={0: {}, 2: []}, world_size=4)
    assert made.ranks_missing == (1, 3)
    made = coverage(make_run([[("forward", 1)]] * 5, ranks={0: [[("forward", 1)]] * 5}))
    assert made.ranks_missing == ()


def test_an_unknown_world_misses_nobody():
    run = attrs.evolve(make_run({"forward": 10}, ranks=2), world_size=None)
    made = coverage(run)
    assert (made.ranks_expected, made.ranks_missing) == (None, ())


def test_steps_in_common_are_counted_over_ranks():
    run = make_run({"forward": 10}, ranks=2, steps=10)
    first, second = run.timelines
    later = second.select(second.step >= 4, second.attempts)
    made = coverage(attrs.evolve(run, timelines=(first, later)))
    assert made.common_steps == 6
    assert made.steps_by_rank == {0: 10, 1: 6}


def test_a_rank_without_a_step_is_empty():
    run = make_run({"forward": 10}, ranks=2, steps=10)
    first, second = run.timelines
    none = second.select(second.step < 0, second.attempts)
    made = coverage(attrs.evolve(run, timelines=(first, none)))
    assert (made.ranks_empty, made.common_steps) == ((1,), 0)


def test_steps_done_again_are_counted_once():
    made = covered({"forward": 10}, attempts=[(0, 10), (6, 10)])
    assert (made.steps, made.redone_steps, made.attempts) == (16, 4, (0, 1))
    assert made.common_steps == 16


def test_a_killed_run_says_where_it_was():
    state = OpenState(5, 100, ("eval", "mine"), (("data", 4), ("mine", 70_000_000_000)))
    made = covered({"forward": 10}, finished=False, last_attempt={"open_state": state})
    (rank,) = made.stopped
    assert rank.stop is not None
    assert (rank.stop.last_step, rank.stop.open_step, rank.stop.phase) == (99, 100, "mine")
    assert rank.stop.for_ns == 70_000_000_000
    assert str(rank.stop) == "after step 99, in step 100, in eval > mine for 70.00 s"


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (None, "after step 99; what came next was not recorded"),
        (
            OpenState(5, 100, (), (("forward", 5_000_000),)),
            "after step 99, in step 100, in forward for 5.00 ms",
        ),
        (OpenState(5, 100), "after step 99, in step 100, in no phase"),
    ],
)
def test_a_stop_tells_no_more_than_was_recorded(state, text):
    made = covered({"forward": 10}, finished=False, last_attempt={"open_state": state})
    assert str(made.ranks[0].stop) == text


def test_a_run_killed_before_any_step_says_so():
    made = covered({"forward": []}, finished=False)
    assert str(made.ranks[0].stop).startswith("before any step")


def test_a_live_run_has_not_stopped():
    run = attrs.evolve(make_run({"forward": 10}, finished=False), live=True)
    assert coverage(run).stopped == ()


def raised(at_ms: float, **fields: object) -> dict[str, object]:
    event = {"kind": "exception", "t": round(at_ms * 1e6), "type": "ValueError", "message": "x"}
    return {**event, **fields}


def test_an_exception_belongs_to_the_step_it_was_raised_in():
    made = covered({"forward": 10}, steps=10, last_attempt={"events": (raised(35),)})
    (seen,) = made.exceptions
    assert (seen.step, seen.ended, str(seen)) == (3, False, "ValueError: x (step 3)")
    assert made.stopped == ()


def test_an_exception_after_the_last_step_ended_the_run():
    made = covered({"forward": 10}, steps=10, last_attempt={"events": (raised(104),)})
    (rank,) = made.stopped
    assert rank.finished
    assert rank.ended_by is not None
    assert (rank.ended_by.step, rank.ended_by.ended) == (10, True)


def test_a_recorded_step_number_and_the_open_step_come_first():
    events = (raised(104, step=17),)
    made = covered({"forward": 10}, steps=10, last_attempt={"events": events})
    assert made.exceptions[0].step == 17
    state = OpenState(104, 12)
    made = covered(
        {"forward": 10}, steps=10, last_attempt={"events": (raised(104),), "open_state": state}
    )
    assert made.exceptions[0].step == 12


def test_leaving_by_the_exception_already_seen_is_one_exception():
    events = (raised(104), raised(105, kind="exit"), {"kind": "exit", "t": 1})
    made = covered({"forward": 10}, steps=10, last_attempt={"events": events})
    assert len(made.exceptions) == 1


def test_an_earlier_attempts_exception_did_not_end_the_run():
    run = make_run({"forward": 10}, attempts=[(0, 5), (5, 5)])
    timeline = run.shown
    first, second = timeline.attempts
    timeline.attempts = (attrs.evolve(first, events=(raised(60),), finished=False), second)
    made = coverage(run)
    assert made.exceptions[0].ended
    assert made.stopped == ()
    assert made.finished


def test_losses_add_up_over_attempts_and_ranks():
    lost = {"lost_ns": 5, "lost_steps": 2, "dropped_steps": 1, "damaged_bytes": 9}
    made = covered({"forward": 10}, ranks=2, last_attempt=lost)
    assert (made.lost_ns, made.lost_steps) == (10, 4)
    assert (made.dropped_steps, made.damaged_bytes) == (2, 18)


def test_overhead_is_told_a_step_and_as_a_share():
    made = covered({"forward": 10}, steps=100, last_attempt={"overhead_ns": 200_000})
    assert made.overhead_ns_per_step == 2000
    assert made.overhead_share == pytest.approx(200_000 / 1e9)
    assert covered({"forward": 10}).overhead_share is None


def test_what_recording_took_once_is_no_part_of_what_it_takes_a_step():
    last = {"overhead_ns": 90_200_000, "overhead_once_ns": 90_000_000}
    made = covered({"forward": 10}, steps=100, last_attempt=last)
    assert (made.overhead_ns_per_step, made.overhead_once_ns) == (2000, 90_000_000)
    assert made.overhead_share == pytest.approx(90_200_000 / 1e9)
    assert covered({"forward": 10}).overhead_once_ns is None


def test_warnings_are_told_once_with_their_ranks():
    events = (
        {"kind": "warning", "t": 1, "message": "sync needs pytscope-torch"},
        {"kind": "warning", "t": 2, "message": "sync needs pytscope-torch"},
        {"kind": "collector", "t": 3, "name": "gpu", "error": "OSError: gone"},
        {"kind": "provenance", "t": 4},
    )
    one = covered({"forward": 10}, last_attempt={"events": events})
    assert one.warnings == (
        "sync needs pytscope-torch",
        "collector: name gpu, error OSError: gone",
    )
    two = covered({"forward": 10}, ranks=2, last_attempt={"events": events})
    assert two.warnings[0] == "sync needs pytscope-torch (rank 0, 1)"


def test_notes_and_the_window_are_passed_on():
    note = ReadNote("second_file", "rank 0 has a second file", 0)
    run = attrs.evolve(make_run({"forward": 10}, notes=[note]), window=(5, None))
    made = coverage(run)
    assert (made.notes, made.window) == ((note,), (5, None))


def test_warm_up_steps_done_again_are_redone_not_warm_up():
    made = covered({"forward": 10}, steps=10, warmup=4, flags={Flag.REDONE: [0, 1]})
    assert (made.warmup_steps, made.redone_steps, made.rated_steps) == (2, 2, 6)


def test_what_ranks_lack_is_counted_without_what_is_lost():
    run = make_run({"forward": 10}, ranks=3)
    first, second, third = run.timelines
    lost = tuple(attrs.evolve(a, lost_steps=5) for a in third.attempts)
    parts = (first, second.select(second.step >= 40, second.attempts))
    run = attrs.evolve(run, timelines=(*parts, third.select(third.step < 90, lost)))
    made = coverage(run)
    assert [rank.lacking_steps for rank in made.ranks] == [0, 40, 5]
    assert (made.common_steps, made.all_steps) == (50, 100)
    assert (made.ranks[1].first_step, made.ranks[1].last_step) == (40, 99)
    assert [rank.rank for rank in made.short] == [1, 2]


def test_what_restarts_took_is_counted():
    made = covered({"forward": 10}, attempts=[(0, 60), (50, 40)], startup=[("other", 30)])
    assert made.ranks[0].redone_ns == 10 * 10_000_000
    assert made.ranks[0].restart_ns == 30_000_000


def test_what_was_logged_and_skipped_is_told():
    made = covered({"forward": 10}, scalars={"loss": 1.0}, flags={Flag.SKIPPED: [1, 2]})
    assert made.scalars == ("loss",)
    assert made.skipped_steps == 2
