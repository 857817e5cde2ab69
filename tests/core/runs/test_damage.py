"""Damaged files: nothing raises, nothing is silently wrong, what is lost is counted."""

import itertools
import json
import os

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytscope.model.errors import RunUnreadable
from pytscope.model.records import Flag
from pytscope.runs.run import Run
from tests.core.runs.diagnosing import diagnose
from tests.core.runs.pts_bytes import (
    EPOCH_NS,
    Step,
    attempt,
    mixed_steps,
    plain_steps,
    record,
    run_record,
)
from tests.core.runs.reading import assert_same, assert_step, attempt_wall_ns, read, write

MORE = int(os.environ.get("PYTSCOPE_FUZZ", "1"))
bits = st.integers(1, 255)
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


def wide_steps(n: int) -> list[Step]:
    """Steps of one shape whose durations and values need 64 bits."""
    return [
        Step((("data", 2**33 + i), ("forward", 2**40)), {"loss": i + 0.1, "tokens": 2**40 + i})
        for i in range(n)
    ]


SHAPES = {
    "one pattern": attempt(plain_steps(12), block=4),
    "several patterns": attempt(mixed_steps(12), block=4),
    "64 bits": attempt(wide_steps(9), block=3),
    "one step a block": attempt(mixed_steps(5), block=1),
    "names beyond ASCII": attempt([Step((("мой этап", 5), ('quo"te', 6)))] * 4, block=2),
}
WRITTEN = {
    "one pattern": plain_steps(12),
    "several patterns": mixed_steps(12),
    "64 bits": wide_steps(9),
    "one step a block": mixed_steps(5),
    "names beyond ASCII": [Step((("мой этап", 5), ('quo"te', 6)))] * 4,
}


def block_steps(line: bytes) -> int:
    header = json.loads(line.partition(b"\n")[0])
    return header["n"] if header["b"] == "steps" else 0


@pytest.mark.parametrize("shape", SHAPES)
def test_cut_at_every_offset(tmp_path, shape):
    records = SHAPES[shape]
    whole = b"".join(records)
    ends = list(itertools.accumulate(map(len, records)))
    steps = [0, *itertools.accumulate(map(block_steps, records))]
    for cut in range(1, len(whole)):
        intact = sum(end <= cut for end in ends)
        if not intact:
            with pytest.raises(RunUnreadable):
                read(tmp_path, whole[:cut])
            continue
        run = read(tmp_path, whole[:cut])
        timeline = run.timelines[0]
        first = timeline.attempts[0]
        assert len(timeline) == steps[intact]
        assert not first.finished
        assert first.damaged_bytes == cut - ends[intact - 1]
        assert (first.lost_ns, first.lost_steps) == (0, 0)
        assert bool(run.notes) == bool(first.damaged_bytes)
        if cut == ends[intact - 1] + 1:
            assert_same(timeline, WRITTEN[shape][: steps[intact]])


@pytest.mark.parametrize("cut", range(-len(RECORDS[-2]) - len(RECORDS[-1]) - 40, 0, 37))
def test_a_report_of_a_cut_file_says_so(tmp_path, cut):
    run, report = diagnose(write(tmp_path, WHOLE[:cut]))
    coverage = report.analyses["coverage"]
    assert not coverage.finished
    assert coverage.damaged_bytes == run.timelines[0].attempts[0].damaged_bytes


def test_what_is_lost_in_the_middle_has_a_line_of_its_own(tmp_path):
    steps = plain_steps(60)
    records = attempt(steps, block=10, warmup=0)
    records[5] = records[5][:-100] + b"\0" * 100
    run, report = diagnose(write(tmp_path, records))
    budget = report.analyses["budget"]
    gone = sum(step.wall_ns for step in steps[20:30])
    assert budget.ns("lost") == gone
    assert budget.wall_ns == 1000 + sum(step.wall_ns for step in steps) + 500
    assert run.timelines[0].attempts[0].lost_steps == 10
    found = {f.finding.rule: f.finding for f in report.folded}
    assert found["COVERAGE.RECORDS_LOST"].cost_s is None or gone
    assert_steps_as_written(run, steps)


def assert_steps_as_written(run: Run, steps: list[Step]) -> None:
    for got in run.timelines[0].records():
        wrote = steps[got.step]
        assert_step(got, attrs.evolve(wrote, flags=wrote.flags | int(got.flags & Flag.REDONE)))


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


def test_every_byte_with_a_bit_flipped(tmp_path):
    for bit in range(0, 8 * len(WHOLE), 23 if MORE == 1 else 1):
        damaged = bytearray(WHOLE)
        damaged[bit // 8] ^= 1 << bit % 8
        run = survives(tmp_path, bytes(damaged))
        assert run is not None
        assert len(run.timelines[0]) >= len(STEPS) - 6
        assert run.timelines[0].attempts[0].damaged_bytes > 0


@given(places=st.lists(st.integers(0, len(WHOLE) - 1), min_size=2, max_size=40), mask=bits)
@settings(max_examples=200 * MORE, deadline=None)
def test_several_bytes_changed(tmp_path_factory, places, mask):
    damaged = bytearray(WHOLE)
    for place in places:
        damaged[place] ^= mask
    survives(tmp_path_factory.getbasetemp() / "changed", bytes(damaged))


KEYS = (b'"n":', b'"len":', b'"step":', b'"t0":', b'"t":', b'"wall_ns":', b'"crc":')


def digits() -> list[tuple[int, int]]:
    """Record, and place of a number in its header."""
    headers = enumerate(line.partition(b"\n")[0] for line in RECORDS)
    places = [(i, line.rfind(key), len(key)) for i, line in headers for key in KEYS]
    return [(i, at + size) for i, at, size in places if at >= 0]


@pytest.mark.parametrize("put", [b"9", b"0", b"-", b"99999999", b"1e9", b" ", b"999999999999999"])
def test_digits_of_a_header_changed_above_a_checksum_that_stays(tmp_path, put):
    for number, at in digits():
        line = RECORDS[number]
        damaged = line[:at] + put + line[at + 1 :]
        if damaged == line:
            continue
        run = survives(tmp_path, b"".join([*RECORDS[:number], damaged, *RECORDS[number + 1 :]]))
        assert run is not None
        assert run.timelines[0].attempts[0].damaged_bytes == len(damaged)


@pytest.mark.parametrize("size", [1, 100, 4096, 5000])
def test_zeroed_pages(tmp_path, size):
    steps = mixed_steps(300)
    records = attempt(steps, block=20)
    whole = b"".join(records)
    assert len(whole) > 3 * 4096
    for at in range(0, len(whole) - size, 4096 if size == 4096 else 1999):
        damaged = whole[:at] + b"\0" * size + whole[at + size :]
        run = read(tmp_path, damaged)
        assert_steps_as_written(run, steps)
        first = run.timelines[0].attempts[0]
        assert len(run.timelines[0]) + first.lost_steps == len(steps) or not first.finished
        assert first.damaged_bytes or damaged == whole


@given(at=st.integers(0, len(WHOLE) - 1), size=st.integers(1, 400), fill=st.sampled_from(b"\0\n{9"))
@settings(max_examples=150 * MORE, deadline=None)
def test_a_hole(tmp_path_factory, at, size, fill):
    size = min(size, len(WHOLE) - at)
    damaged = WHOLE[:at] + bytes([fill]) * size + WHOLE[at + size :]
    survives(tmp_path_factory.getbasetemp() / "holes", damaged)


@given(at=st.integers(0, len(WHOLE)), size=st.integers(1, 400))
@settings(max_examples=150 * MORE, deadline=None)
def test_bytes_that_are_missing_in_the_middle(tmp_path_factory, at, size):
    survives(tmp_path_factory.getbasetemp() / "short", WHOLE[:at] + WHOLE[at + size :])


@given(noise=st.binary(max_size=200), at=st.integers(0, len(WHOLE)))
@settings(max_examples=150 * MORE, deadline=None)
def test_bytes_that_came_in_between(tmp_path_factory, noise, at):
    survives(tmp_path_factory.getbasetemp() / "long", WHOLE[:at] + noise + WHOLE[at:])


@given(data=st.one_of(st.binary(max_size=300), st.binary(max_size=300).map(b'{"b":'.__add__)))
@settings(max_examples=150 * MORE, deadline=None)
def test_bytes_that_are_no_recording(tmp_path_factory, data):
    with pytest.raises(RunUnreadable):
        read(tmp_path_factory.getbasetemp() / "foreign", data)


def test_a_lost_first_line_costs_what_it_said_and_no_step(tmp_path):
    run = read(tmp_path / "lost", b"x" + WHOLE[1:])
    timeline = run.timelines[0]
    assert (run.name, timeline.rank, run.config) == ("lost", 0, {})
    assert len(timeline) == len(STEPS)
    assert timeline.attempts[0].start_epoch_ns == EPOCH_NS
    assert attempt_wall_ns(timeline, timeline.attempts[0]) == WALL_NS


@pytest.mark.parametrize(
    "junk", [b"x", b"\0" * 100, b'{"b":', b'{"b":"', b'{"b":"steps",', b"\n\n"]
)
def test_bytes_before_a_record_do_not_cost_the_record(tmp_path, junk):
    for i in range(len(RECORDS)):
        data = b"".join([*RECORDS[:i], junk, *RECORDS[i:]])
        timeline = read(tmp_path, data).timelines[0]
        assert_same(timeline, STEPS)
        assert timeline.attempts[0].damaged_bytes == len(junk)


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
