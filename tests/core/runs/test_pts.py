"""What is written is read: every kind of column, in every mixture of step shapes."""

import math

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.runs.pts_bytes import (
    Step,
    attempt,
    event,
    mixed_steps,
    plain_steps,
    record,
    run_record,
    steps_record,
)
from tests.core.runs.reading import assert_same, attempt_wall_ns, read

names = st.sampled_from(["data", "forward", "gc", "other", "мой этап", 'quo"te', "[5,[["])
durations = st.one_of(st.integers(1, 2**20), st.integers(2**31, 2**40))
values = st.fixed_dictionaries(
    {},
    optional={
        "loss": st.floats(),
        "lr": st.floats(width=32),
        "tokens": st.integers(-(2**63), 2**63 - 1),
    },
)


@st.composite
def any_step(draw) -> Step:
    segments: list[tuple[str, int]] = []
    for name, ns in draw(st.lists(st.tuples(names, durations), min_size=1, max_size=6)):
        if not segments or segments[-1][0] != name:  # neighbours of one phase read as one
            segments.append((name, ns))
    return Step(
        tuple(segments),
        scalars=draw(values),
        memory=draw(st.dictionaries(st.sampled_from(["alloc", "peak"]), st.integers(0, 2**50))),
        device=draw(st.sampled_from([(), (("forward", 3),), (("data", 2), ("forward", 2**33))])),
        extras=draw(st.dictionaries(st.just("launch"), st.integers(0, 2**40))),
        micro=draw(st.integers(1, 4)),
        flags=draw(st.sampled_from([0, 2, 4, 6, 16])),
    )


@given(steps=st.lists(any_step(), min_size=1, max_size=30), block=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_any_steps_in_any_blocks_read_as_written(tmp_path_factory, steps, block):
    run = read(tmp_path_factory.mktemp("run"), attempt(steps, block=block, step=7))
    timeline = run.timelines[0]
    assert_same(timeline, steps, first=7)
    assert run.notes == ()
    assert timeline.wall_ns.tolist() == [step.wall_ns for step in steps]
    for name in timeline.phases:
        expected = [sum(ns for n, ns in step.segments if n == name) for step in steps]
        assert timeline.phase_ns(name).tolist() == expected
    first = timeline.attempts[0]
    assert attempt_wall_ns(timeline, first) == 1000 + sum(s.wall_ns for s in steps) + 500
    assert (first.lost_ns, first.lost_steps, first.finished) == (0, 0, True)


def test_step_starts_follow_one_another(tmp_path):
    steps = mixed_steps(23)
    timeline = read(tmp_path, attempt(steps)).timelines[0]
    at = 1000
    for start, step in zip(timeline.start_ns.tolist(), steps, strict=True):
        assert start == at
        at += step.wall_ns


def test_integers_are_exact_and_nan_is_not_missing(tmp_path):
    big = 2**63 - 25
    steps = [
        Step((("other", 5),), {"tokens": big, "loss": math.nan}),
        Step((("other", 5),), {"tokens": -big}),
    ]
    timeline = read(tmp_path, attempt(steps)).timelines[0]
    rows, values = timeline.column("scalar", "tokens")
    assert rows.tolist() == [0, 1]
    assert values.tolist() == [big, -big]
    rows, values = timeline.column("scalar", "loss")
    assert rows.tolist() == [0]
    assert math.isnan(values[0])


def test_a_name_that_is_now_an_integer_and_now_a_float_is_one_column(tmp_path):
    steps = [Step((("other", 5),), {"x": 3}), Step((("other", 5),), {"x": 0.5})]
    rows, values = read(tmp_path, attempt(steps)).timelines[0].column("scalar", "x")
    assert (rows.tolist(), values.tolist()) == ([0, 1], [3.0, 0.5])


def test_segments_of_length_zero_are_dropped_and_their_neighbours_joined(tmp_path):
    step = Step((("data", 4), ("gc", 0), ("data", 5), ("other", 0)))
    timeline = read(tmp_path, attempt([step])).timelines[0]
    assert timeline.segments(0) == (("data", 9),)
    assert timeline.wall_ns.tolist() == [9]


def test_values_logged_late_go_to_their_step_and_replace_what_it_had(tmp_path):
    records = attempt(plain_steps(12), end=False)
    records.append(event("log", step=3, values={"loss": 9.5, "grad_norm": "NaN", "k": 2}))
    records.append(event("log", step=None, values={"final": 1}))
    records.append(event("log", step=99, values={"loss": -1.0}))
    run = read(tmp_path, records)
    timeline = run.timelines[0]
    rows, values = timeline.column("scalar", "loss")
    assert rows.tolist() == list(range(12))
    assert values[3] == 9.5
    assert values[4] == pytest.approx(1 / 5)
    rows, values = timeline.column("scalar", "grad_norm")
    assert rows.tolist() == [3]
    assert math.isnan(values[0])
    assert timeline.column("scalar", "k")[1].tolist() == [2]
    assert [e["values"] for e in timeline.attempts[0].events] == [{"final": 1}]


def test_counts_logged_late_add_to_what_their_step_had(tmp_path):
    steps = [attrs.evolve(step, scalars={"samples": 8}) for step in plain_steps(6)]
    records = attempt(steps, end=False)
    records.append(event("log", step=3, values={"samples": 4, "tokens": 10}))
    records.append(event("log", step=3, values={"samples": 4, "tokens": 20}))
    timeline = read(tmp_path, records).timelines[0]
    assert timeline.column("scalar", "samples")[1].tolist() == [8, 8, 8, 16, 8, 8]
    rows, values = timeline.column("scalar", "tokens")
    assert (rows.tolist(), values.tolist()) == ([3], [30])


def test_records_columns_and_keys_of_a_later_version_are_passed_over(tmp_path):
    steps = plain_steps(4)
    records = attempt(steps, block=2)
    records.insert(3, record({"b": "samples", "rows": [1, 2], "nested": {"len": 3}}, b'\n{"b":"x'))
    records.insert(1, record({"b": "gpu", "t": 3}))
    records[-2] = steps_record(2, 1000 + sum(s.wall_ns for s in steps[:2]), steps[2:], zip=False)
    run = read(tmp_path, records)
    assert_same(run.timelines[0], steps)
    assert [note.kind for note in run.notes] == ["unknown_record"]
    assert "'gpu', 'samples'" in run.notes[0].message


@pytest.mark.parametrize("place", ["between", "after", "in the column"])
def test_a_block_with_more_in_its_header_is_still_read(tmp_path, place):
    data = b"\x07\x00\x00\x00" + b"\x01\x02"
    columns = [["p", "other", "<i4"], ["q", "unheard of", "<u2"]]
    if place == "in the column":
        columns[0].append({"unit": "ns"})
    header = {"b": "steps", "pats": [[1, columns, {"micro": 3, "new": True}, "more"]]}
    if place == "between":
        header["z"] = 0
    header |= {"step": 0, "n": 1, "t0": 0}
    if place == "after":
        header["new"] = [1]
    run = read(tmp_path, [run_record(), record(header, data)])
    timeline = run.timelines[0]
    assert timeline.wall_ns.tolist() == [7]
    assert timeline.micro_batches.tolist() == [3]
    assert [note.kind for note in run.notes] == ["unknown_column"]


def test_flags_decided_on_read_are_not_taken_from_the_file(tmp_path):
    steps = [Step((("other", 5),), flags=1 | 2 | 8)]
    assert read(tmp_path, attempt(steps)).timelines[0].flags.tolist() == [2]


def test_a_name_beyond_unicode_is_made_encodable(tmp_path):
    steps = [Step((("\ud800x", 5),))]
    timeline = read(tmp_path, attempt(steps)).timelines[0]
    assert timeline.phases == ("?x",)


def test_a_run_line_without_steps_is_a_run_of_no_steps(tmp_path):
    run = read(tmp_path, [run_record(name="idle", config={"lr": 1})])
    assert (run.name, run.config, len(run.timelines[0])) == ("idle", {"lr": 1}, 0)
    assert run.timelines[0].phases == ()
    assert not run.timelines[0].attempts[0].finished


@pytest.mark.parametrize("piece", [1, 7, 100, 1000])
def test_a_file_read_in_pieces_of_any_size_reads_the_same(tmp_path, monkeypatch, piece):
    monkeypatch.setattr("pytscope.runs.scan.PIECE_BYTES", piece)
    steps = mixed_steps(20)
    records = attempt(steps)
    run = read(tmp_path, [*records[:4], b"x" * 50, b'\n{"b":\n', *records[4:]])
    assert_same(run.timelines[0], steps)
    assert run.timelines[0].attempts[0].damaged_bytes == 57


def test_spans_of_other_threads_are_read_as_written(tmp_path):
    records = attempt(plain_steps(4))
    rows = [["writer", "checkpoint", 5, 9], ["Thread-1", "data", 7, 2**40]]
    records.insert(3, record({"b": "spans", "rows": rows}))
    records.insert(5, record({"b": "spans", "rows": [["writer", "log", 10, 11]]}))
    run = read(tmp_path, records)
    spans = run.spans()
    assert [(s.thread, s.phase, s.start_ns, s.end_ns) for s in spans] == [
        ("writer", "checkpoint", 5, 9),
        ("Thread-1", "data", 7, 2**40),
        ("writer", "log", 10, 11),
    ]
    assert {span.attempt for span in spans} == {0}
    assert run.spans(0) == spans
    with pytest.raises(KeyError):
        run.spans(5)


def test_spans_of_wrong_types_are_damage(tmp_path):
    line = record({"b": "spans", "rows": [["writer", "log", "then", 11]]})
    run = read(tmp_path, [*attempt(plain_steps(4)), line])
    assert run.spans() == ()
    assert run.timelines[0].attempts[0].damaged_bytes == len(line)


def test_a_fetch_between_two_stretches_of_another_phase_is_found(tmp_path):
    steps = [
        Step((("data", 5), ("eval", 7), ("data", 3), ("eval", 4), ("other", 1))),
        Step((("data", 5), ("eval", 7), ("data", 3), ("other", 1))),
        Step((("eval", 7), ("data", 3), ("data", 2), ("gc", 0), ("eval", 4), ("data", 9))),
        Step((("eval", 7), ("gc", 1), ("data", 3), ("eval", 4), ("data", 2), ("eval", 1))),
        Step((("eval", 7), ("data", 3), ("eval", 0), ("data", 4), ("eval", 2))),
        Step((("eval", 7), ("data", 3), ("eval", 0), ("gc", 4))),
    ]
    timeline = read(tmp_path, attempt(steps, block=2)).timelines[0]
    rows, sums = timeline.enclosed_ns("data", "eval")
    assert dict(zip(rows.tolist(), sums.tolist(), strict=True)) == {0: 3, 2: 5, 3: 2, 4: 7}
    kept = timeline.select(timeline.step > 1, timeline.attempts)
    rows, sums = kept.enclosed_ns("data", "eval")
    assert dict(zip(rows.tolist(), sums.tolist(), strict=True)) == {0: 5, 1: 2, 2: 7}
    assert [len(found) for found in timeline.enclosed_ns("comm", "eval")] == [0, 0]


def edges(timeline):
    columns = [column.tolist() for column in timeline.last_segment("comm")]
    return list(zip(*columns, strict=True))


def test_the_last_segment_of_a_phase_is_found_with_its_edges(tmp_path):
    steps = [
        Step((("forward", 5), ("comm", 7), ("backward", 3), ("comm", 4), ("optimizer", 1))),
        Step((("forward", 5), ("comm", 7), ("optimizer", 3))),
        Step((("forward", 5), ("comm", 7), ("gc", 0), ("comm", 2), ("optimizer", 3))),
        Step((("forward", 5), ("comm", 0), ("optimizer", 3))),
        Step((("forward", 5), ("optimizer", 3))),
        Step((("comm", 6), ("forward", 5), ("comm", 0))),
    ]
    timeline = read(tmp_path, attempt(steps, block=2)).timelines[0]
    found = [(0, 15, 19), (1, 5, 12), (2, 5, 14), (5, 0, 6)]
    assert edges(timeline) == found
    kept = timeline.select(timeline.step > 1, timeline.attempts)
    found = [(row - 2, begin, end) for row, begin, end in found[2:]]
    assert edges(kept) == found
    assert [len(column) for column in timeline.last_segment("h2d")] == [0, 0, 0]
