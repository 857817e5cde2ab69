"""Damaged files: nothing raises, nothing is silently wrong, what is lost is counted."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytscope.model.errors import RunUnreadable
from pytscope.runs.run import Run
from tests.core.runs.pts_bytes import EPOCH_NS, attempt, mixed_steps, record, run_record
from tests.core.runs.reading import assert_step, attempt_wall_ns, read

STEPS = mixed_steps(12)
RECORDS = attempt(STEPS, block=3)
WHOLE = b"".join(RECORDS)
WALL_NS = 1000 + sum(step.wall_ns for step in STEPS) + 500


def assert_honest(run: Run, damaged: bytes) -> None:
    """What survived is as written, and what did not is accounted for."""
    timeline = run.timelines[0]
    records = list(timeline.records())
    assert [r.step for r in records] == sorted({r.step for r in records})
    for got in records:
        assert_step(got, STEPS[got.step])
        assert got.start_ns == 1000 + sum(step.wall_ns for step in STEPS[: got.step])
    first = timeline.attempts[0]
    if first.finished:
        assert attempt_wall_ns(timeline, first) == WALL_NS
        assert first.lost_steps + len(records) + first.first_step == len(STEPS)
    if damaged != WHOLE:
        assert first.damaged_bytes or not first.finished or len(damaged) < len(WHOLE)
    if first.damaged_bytes:
        assert any(note.kind == "damaged" and note.rank == 0 for note in run.notes)


def survives(folder, damaged: bytes) -> Run | None:
    """Open the damaged bytes; None when nothing at all was left."""
    try:
        run = read(folder, damaged)
    except RunUnreadable:
        return None
    assert_honest(run, damaged)
    return run


def test_cut_at_every_offset(tmp_path):
    ends = [len(b"".join(RECORDS[: i + 1])) for i in range(len(RECORDS))]
    for cut in range(1, len(WHOLE)):
        run = survives(tmp_path, WHOLE[:cut])
        whole = sum(end <= cut for end in ends)
        if not whole:
            assert run is None
            continue
        assert run is not None
        blocks = min(max(0, whole - 3), 4)
        assert len(run.timelines[0]) == 3 * blocks
        first = run.timelines[0].attempts[0]
        assert not first.finished
        assert first.damaged_bytes == cut - ends[whole - 1]
        assert (first.lost_ns, first.lost_steps) == (0, 0)


@pytest.mark.parametrize("resumed_at", [0, 8])
def test_a_restart_after_a_cut_at_every_offset(tmp_path, resumed_at):
    later = mixed_steps(resumed_at + 3)[resumed_at:]
    restart = b"".join(attempt(later, step=resumed_at, epoch_ns=EPOCH_NS + 10**15))
    for cut in range(len(WHOLE) - len(b"".join(RECORDS[-3:])), len(WHOLE)):
        torn = WHOLE[:cut]
        data = torn + b"\n" * (not torn.endswith(b"\n")) + restart
        run = read(tmp_path, data)
        last = run.timelines[0].attempts[-1]
        assert (last.number, last.finished, last.damaged_bytes, last.lost_ns) == (1, True, 0, 0)
        new = [r for r in run.timelines[0].records() if r.attempt == 1]
        assert [r.step for r in new] == [resumed_at + i for i in range(3)]
        for got, wrote in zip(new, later, strict=True):
            assert_step(got, wrote)
        if cut % 50 == 0:
            survived = read(tmp_path, data, attempt=0).timelines[0]
            for got in survived.records():
                assert_step(got, STEPS[got.step])


@given(bit=st.integers(0, 8 * len(WHOLE) - 1))
@settings(max_examples=400, deadline=None)
def test_a_flipped_bit(tmp_path_factory, bit):
    damaged = bytearray(WHOLE)
    damaged[bit // 8] ^= 1 << bit % 8
    run = survives(tmp_path_factory.getbasetemp() / "flipped", bytes(damaged))
    assert run is not None
    assert len(run.timelines[0]) >= len(STEPS) - 6
    assert run.timelines[0].attempts[0].damaged_bytes > 0


@given(at=st.integers(0, len(WHOLE) - 1), size=st.integers(1, 400), fill=st.sampled_from(b"\0\n{9"))
@settings(max_examples=200, deadline=None)
def test_a_hole(tmp_path_factory, at, size, fill):
    size = min(size, len(WHOLE) - at)
    damaged = WHOLE[:at] + bytes([fill]) * size + WHOLE[at + size :]
    survives(tmp_path_factory.getbasetemp() / "holes", damaged)


@given(at=st.integers(0, len(WHOLE)), size=st.integers(1, 400))
@settings(max_examples=200, deadline=None)
def test_bytes_that_are_missing_in_the_middle(tmp_path_factory, at, size):
    survives(tmp_path_factory.getbasetemp() / "short", WHOLE[:at] + WHOLE[at + size :])


@given(noise=st.binary(max_size=200), at=st.integers(0, len(WHOLE)))
@settings(max_examples=200, deadline=None)
def test_bytes_that_came_in_between(tmp_path_factory, noise, at):
    survives(tmp_path_factory.getbasetemp() / "long", WHOLE[:at] + noise + WHOLE[at:])


@given(data=st.one_of(st.binary(max_size=300), st.binary(max_size=300).map(b'{"b":'.__add__)))
@settings(max_examples=200, deadline=None)
def test_bytes_that_are_no_recording(tmp_path_factory, data):
    with pytest.raises(RunUnreadable):
        read(tmp_path_factory.getbasetemp() / "foreign", data)


def test_a_lost_first_line_costs_what_it_said_and_no_step(tmp_path):
    run = read(tmp_path / "lost", b"x" + WHOLE)
    timeline = run.timelines[0]
    assert (run.name, timeline.rank, run.config) == ("lost", 0, {})
    assert len(timeline) == len(STEPS)
    assert timeline.attempts[0].start_epoch_ns == EPOCH_NS
    assert attempt_wall_ns(timeline, timeline.attempts[0]) == WALL_NS


@pytest.mark.parametrize("step", [0, 6, 12])
def test_a_lost_first_line_of_a_restart_does_not_join_two_attempts(tmp_path, step):
    later = attempt(mixed_steps(18)[step : step + 6], step=step)
    run = read(tmp_path, WHOLE + later[0][:50] + b"\n" + b"".join(later[1:]))
    timeline = run.timelines[0]
    assert timeline.attempts[-1].number == 1
    assert [r.step for r in timeline.records() if r.attempt == 1] == [step + i for i in range(6)]
    assert all(attempt.lost_ns == 0 for attempt in timeline.attempts)


def test_the_same_after_an_attempt_that_was_killed(tmp_path):
    killed = b"".join(RECORDS[:-1])
    later = attempt(mixed_steps(10), step=0)
    run = read(tmp_path, killed + later[0][:50] + b"\n" + b"".join(later[1:]))
    assert run.other_attempts == (0,)
    assert run.timelines[0].step.tolist() == list(range(10))


COLUMNS = [["p", "data", "<i4"], ["s", "loss", "<f4"]]


@pytest.mark.parametrize(
    ("header", "size"),
    [
        ({"pats": [[2, COLUMNS]], "step": 0, "n": 2, "t0": 0}, 15),
        ({"pats": [[2, COLUMNS]], "step": 0, "n": 3, "t0": 0}, 16),
        ({"pats": [[2, COLUMNS]], "step": -1, "n": 2, "t0": 0}, 16),
        ({"pats": [[2, COLUMNS]], "step": 0, "n": 2, "t0": 2**63}, 16),
        ({"pats": [[2, COLUMNS]], "step": 0, "n": 2, "t0": 0.5}, 16),
        ({"pats": [[2, COLUMNS]], "step": True, "n": 2, "t0": 0}, 16),
        ({"pats": [[10**17, COLUMNS]], "step": 0, "n": 10**17, "t0": 0}, 16),
        ({"pats": [[0, COLUMNS]], "step": 0, "n": 0, "t0": 0}, 0),
        ({"pats": [[10**8, []]], "step": 0, "n": 10**8, "t0": 0}, 0),
        ({"pats": [], "step": 0, "n": 0, "t0": 0}, 0),
        ({"pats": [[1, []]] * 257, "step": 0, "n": 257, "t0": 0}, 257),
        ({"pats": [[1, COLUMNS], [1, COLUMNS]], "step": 0, "n": 2, "t0": 0}, 18),
        ({"pats": [[-1, COLUMNS], [3, COLUMNS]], "step": 0, "n": 2, "t0": 0}, 18),
        ({"pats": [[2, [["p", "data", "<f4"]]]], "step": 0, "n": 2, "t0": 0}, 8),
        ({"pats": [[2, [["p", "data", "O"]]]], "step": 0, "n": 2, "t0": 0}, 16),
        ({"pats": [[2, [["?", "data", "<c16"]]]], "step": 0, "n": 2, "t0": 0}, 32),
        ({"pats": [[2, [["p", "x" * 257, "<i4"]]]], "step": 0, "n": 2, "t0": 0}, 8),
        ({"pats": [[2, [["p", ["x"], "<i4"]]]], "step": 0, "n": 2, "t0": 0}, 8),
        ({"pats": [[2, [["p", "data"]]]], "step": 0, "n": 2, "t0": 0}, 8),
        ({"pats": [[2, [5]]], "step": 0, "n": 2, "t0": 0}, 8),
        ({"pats": [[2, COLUMNS, {"micro": "many"}]], "step": 0, "n": 2, "t0": 0}, 16),
        ({"pats": [[2, COLUMNS, [1]]], "step": 0, "n": 2, "t0": 0}, 16),
        ({"pats": {"a": 1}, "step": 0, "n": 2, "t0": 0}, 16),
        ({"pats": [7], "step": 0, "n": 2, "t0": 0}, 16),
        ({"step": 0, "n": 2, "t0": 0}, 16),
    ],
)
def test_a_block_that_contradicts_itself_is_damage(tmp_path, header, size):
    block = record({"b": "steps", **header}, b"\0" * size)
    run = read(tmp_path, [run_record(), block, *attempt(STEPS)[2:]])
    timeline = run.timelines[0]
    assert len(timeline) == len(STEPS)
    assert timeline.attempts[0].damaged_bytes == len(block)
    assert [note.kind for note in run.notes] == ["damaged"]


@pytest.mark.parametrize("size", [-1, 2**62, 1.5, "4", True])
def test_a_length_that_cannot_be_is_damage(tmp_path, size):
    lines = [*RECORDS[:4], record({"b": "later", "len": size}), *RECORDS[4:]]
    timeline = read(tmp_path, lines).timelines[0]
    assert len(timeline) == len(STEPS)
    assert timeline.attempts[0].damaged_bytes == len(lines[4])


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ({"b": "end", "wall_ns": "1"}, "expected an integer of 64 bits, got '1' @ $.wall_ns"),
        ({"b": "end", "wall_ns": 2**63}, "@ $.wall_ns"),
        ({"b": "anchor", "t": 1}, "required field missing @ $.epoch_ns"),
        ({"b": "open", "t": 1, "step": 1, "segments": [["a"]]}, "@ $.segments[0]"),
        ({"b": "open", "t": 1, "step": 1, "blocks": 7}, "@ $.blocks"),
        ({"b": "event", "kind": "startup", "segments": [["a", 1.5]]}, "@ $.segments[0][1]"),
        ({"b": "event", "kind": "log", "step": 1, "values": {"x": "y"}}, "expected a number"),
        ({"b": "event", "kind": "dropped"}, "required field missing @ $.steps"),
    ],
)
def test_a_record_of_wrong_types_is_damage_that_names_the_place(tmp_path, line, sentence):
    lines = [*RECORDS[:4], record(line), *RECORDS[4:]]
    run = read(tmp_path, lines)
    timeline = run.timelines[0]
    assert len(timeline) == len(STEPS)
    assert timeline.attempts[0].damaged_bytes == len(lines[4])
    assert sentence in run.notes[0].message


def test_a_first_line_of_wrong_types_loses_what_it_said_only(tmp_path):
    run = read(tmp_path, [run_record(rank="zero"), *RECORDS[1:]])
    assert len(run.timelines[0]) == len(STEPS)
    assert "expected an integer of 64 bits, got 'zero' @ $.rank" in run.notes[0].message


@pytest.mark.parametrize("depth", [100_000])
def test_json_without_end_is_damage(tmp_path, depth):
    deep = b'{"b":' + b"[" * depth + b',"crc":1}\n'
    assert len(read(tmp_path, WHOLE[: len(RECORDS[0])] + deep + WHOLE).timelines[0]) == len(STEPS)
