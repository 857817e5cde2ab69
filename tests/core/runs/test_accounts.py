"""Per attempt: wall = startup + steps + lost + shutdown, to the nanosecond."""

import pytest

from pytscope.runs.run import Gap
from tests.core.runs.pts_bytes import (
    anchor,
    attempt,
    end_record,
    event,
    open_record,
    plain_steps,
    run_record,
    steps_record,
)
from tests.core.runs.reading import attempt_wall_ns, read

STEPS = plain_steps(20)
WALL_NS = 1000 + sum(step.wall_ns for step in STEPS) + 500


@pytest.mark.parametrize("missing", [3, 4, 5, 6])
def test_a_missing_block_is_lost_time_and_lost_steps(tmp_path, missing):
    records = attempt(STEPS)
    del records[missing]
    timeline = read(tmp_path, records).timelines[0]
    first = timeline.attempts[0]
    gone = STEPS[5 * (missing - 3) :][:5]
    assert first.lost_steps == 5
    assert first.lost_ns == sum(step.wall_ns for step in gone)
    assert first.gaps == (Gap(5 * (missing - 3), 5, first.lost_ns),)
    assert attempt_wall_ns(timeline, first) == WALL_NS == timeline.measured_ns


def test_several_places_are_lost(tmp_path):
    records = attempt(STEPS, block=2)
    del records[10], records[4]
    timeline = read(tmp_path, records).timelines[0]
    assert [(gap.step, gap.steps) for gap in timeline.attempts[0].gaps] == [(2, 2), (14, 2)]
    assert attempt_wall_ns(timeline, timeline.attempts[0]) == WALL_NS


def test_a_missing_startup_is_lost_time(tmp_path):
    records = attempt(STEPS)
    del records[2]
    timeline = read(tmp_path, records).timelines[0]
    first = timeline.attempts[0]
    assert (first.startup, first.lost_ns, first.lost_steps) == ((), 1000, 0)
    assert attempt_wall_ns(timeline, first) == WALL_NS


def test_everything_but_the_end_is_missing(tmp_path):
    records = attempt(STEPS)
    timeline = read(tmp_path, [records[0], records[-1]]).timelines[0]
    first = timeline.attempts[0]
    assert (first.lost_ns, first.lost_steps) == (WALL_NS - 500, 20)
    assert attempt_wall_ns(timeline, first) == WALL_NS


def test_dropped_steps_are_lost_steps_that_the_writer_owns_up_to(tmp_path):
    records = attempt(STEPS)
    del records[4]
    records.insert(4, event("dropped", step=5, steps=5))
    records[-1] = end_record(WALL_NS, 15, [("other", 500)], dropped=5)
    first = read(tmp_path, records).timelines[0].attempts[0]
    assert (first.lost_steps, first.dropped_steps, first.damaged_bytes) == (5, 5, 0)
    assert [e["kind"] for e in first.events] == ["dropped"]


def test_dropped_steps_at_the_very_end(tmp_path):
    records = attempt(STEPS)
    del records[6]
    records[-1] = end_record(WALL_NS, 15, [("other", 500)], dropped=5)
    timeline = read(tmp_path, records).timelines[0]
    assert (timeline.attempts[0].lost_steps, timeline.attempts[0].dropped_steps) == (5, 5)
    assert attempt_wall_ns(timeline, timeline.attempts[0]) == WALL_NS


def test_a_killed_attempt_ends_at_its_last_step(tmp_path):
    timeline = read(tmp_path, attempt(STEPS, end=False)).timelines[0]
    first = timeline.attempts[0]
    assert (first.finished, first.shutdown, first.open_state) == (False, (), None)
    assert attempt_wall_ns(timeline, first) == WALL_NS - 500


def test_a_killed_attempt_in_a_long_step_ends_at_its_open_line(tmp_path):
    at = WALL_NS - 500
    records = attempt(STEPS, end=False)
    records.append(open_record(at + 40, 20, ["eval"], [["data", 10], ["eval", 30]]))
    records.append(open_record(at + 90, 20, ["eval", "data"], [["data", 10], ["eval", 80]]))
    timeline = read(tmp_path, records).timelines[0]
    first = timeline.attempts[0]
    assert first.shutdown == (("data", 10), ("eval", 80))
    assert first.open_state is not None
    assert first.open_state.blocks == ("eval", "data")
    assert (first.open_state.step, first.open_state.at_ns) == (20, at + 90)
    assert first.lost_ns == 0
    assert attempt_wall_ns(timeline, first) == at + 90


def test_an_open_line_tells_how_many_steps_before_it_are_lost(tmp_path):
    at = WALL_NS - 500
    records = attempt(STEPS, end=False)
    del records[-1]
    records.append(open_record(at + 40, 20, [], [["other", 40]]))
    timeline = read(tmp_path, records).timelines[0]
    assert timeline.attempts[0].lost_steps == 5
    assert attempt_wall_ns(timeline, timeline.attempts[0]) == at + 40


def test_an_open_line_before_the_last_block_says_nothing(tmp_path):
    records = attempt(STEPS, end=False)
    records.insert(-1, open_record(2000, 15, ["eval"], [["eval", 40]]))
    first = read(tmp_path, records).timelines[0].attempts[0]
    assert (first.open_state, first.shutdown, first.lost_ns) == (None, (), 0)


def test_killed_in_startup_its_open_line_is_the_startup(tmp_path):
    lines = [run_record(), anchor(0), open_record(700, 0, ["compile"], [["compile", 700]])]
    timeline = read(tmp_path, lines).timelines[0]
    first = timeline.attempts[0]
    assert (first.startup, first.shutdown, first.lost_ns) == ((("compile", 700),), (), 0)
    assert first.open_state is not None


def test_killed_in_the_first_step(tmp_path):
    lines = [run_record(), open_record(70, 0, [], [["other", 70]])]
    lines.append(event("startup", 100, segments=[["other", 100]]))
    lines.append(open_record(900, 0, ["data"], [["data", 800]]))
    timeline = read(tmp_path, lines).timelines[0]
    first = timeline.attempts[0]
    assert (first.startup, first.shutdown) == ((("other", 100),), (("data", 800),))
    assert (first.lost_ns, attempt_wall_ns(timeline, first)) == (0, 900)


def test_an_attempt_that_never_trained(tmp_path):
    lines = [run_record(), event("startup", 100, segments=[["other", 100]]), end_record(100, 0)]
    first = read(tmp_path, lines).timelines[0].attempts[0]
    assert (first.startup, first.shutdown, first.lost_ns) == ((("other", 100),), (), 0)
    assert first.finished


def test_a_clock_that_goes_back_is_kept_and_noted(tmp_path):
    from tests.core.runs.pts_bytes import Step

    steps = [Step((("data", 50), ("forward", -20), ("other", 7))), *plain_steps(4)]
    run = read(tmp_path, attempt(steps))
    timeline = run.timelines[0]
    assert timeline.segments(0) == (("data", 50), ("forward", -20), ("other", 7))
    assert timeline.wall_ns[0] == 37
    assert timeline.attempts[0].lost_ns == 0
    assert [note.kind for note in run.notes] == ["clock_back"]


def test_blocks_that_overlap_keep_the_identity(tmp_path):
    records = attempt(STEPS)
    records[4] = steps_record(5, 900, STEPS[5:10])
    run = read(tmp_path, records)
    timeline = run.timelines[0]
    assert attempt_wall_ns(timeline, timeline.attempts[0]) == WALL_NS
    assert [note.kind for note in run.notes] == ["clock_back"]


@pytest.mark.parametrize(("jump_ns", "noted"), [(999_000_000, False), (-1_500_000_000, True)])
def test_a_jump_of_the_time_of_day_is_noted(tmp_path, jump_ns, noted):
    from tests.core.runs.pts_bytes import EPOCH_NS

    records = attempt(STEPS)
    records.insert(5, anchor(60, EPOCH_NS + 60))
    records.insert(6, anchor(90, EPOCH_NS + 90 + jump_ns))
    run = read(tmp_path, records)
    assert [note.kind for note in run.notes] == ["clock_step"] * noted
    if noted:
        assert "-1.5 s" in run.notes[0].message


def test_overhead_and_events_of_the_recorder_are_kept(tmp_path):
    records = attempt(STEPS)
    records.insert(4, event("exception", 9, step=3, type="ValueError", message="x"))
    first = read(tmp_path, records).timelines[0].attempts[0]
    assert (first.overhead_ns, first.overhead_once_ns, first.writer_ns) == (5, 0, 6)
    expected = {"kind": "exception", "t": 9, "step": 3, "type": "ValueError", "message": "x"}
    assert first.events == (expected,)
