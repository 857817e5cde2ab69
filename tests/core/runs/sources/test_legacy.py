"""The source of 0.2.x runs: exact numbers, attempts, walls, layouts and broken records."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytscope.builtin.analyzers.ledger import ledger
from pytscope.model.errors import RunUnreadable, UsageError
from pytscope.model.records import Flag
from pytscope.runs.sources import legacy_lines
from pytscope.runs.sources.legacy import legacy, open_legacy
from pytscope.runs.sources.legacy_lines import LONGEST, lines
from pytscope.runs.sources.legacy_record import Unusable, parse
from pytscope.runs.sources.legacy_steps import StepFile
from pytscope.runs.window import windowed
from tests.core.acceptance import made
from tests.core.acceptance.made import even, ranks, record, write

MS = 1_000_000


def test_durations_are_the_nanoseconds_that_were_measured(tmp_path):
    random = np.random.default_rng(5)
    measured = random.integers(1, 10**10, (200, 3))
    names = ("data", "forward", "own")
    steps = [
        record(i, {name: int(ns) / 1e9 for name, ns in zip(names, row, strict=True)})
        for i, row in enumerate(measured)
    ]
    timeline = open_legacy(write(tmp_path / "run", steps)).shown
    for i, name in enumerate(names):
        assert timeline.phase_ns(name).tolist() == measured[:, i].tolist()
    assert timeline.wall_ns.tolist() == measured.sum(axis=1).tolist()
    assert timeline.segments(7) == tuple(zip(names, measured[7].tolist(), strict=True))


def test_records_of_different_shapes(tmp_path):
    steps = [
        record(0, {"forward": 0.001}, scalars={"loss": 1.0}),
        record(1, {"data": 0.002, "forward": 0.001}, memory={"alloc": 5.0, "peak_alloc": 7.0}),
        record(2, {}, scalars={"lr": 2, "loss": 3.0}),
        {"step": 3},
    ]
    timeline = open_legacy(write(tmp_path / "run", steps)).shown
    assert timeline.phase_ns("data").tolist() == [0, 2 * MS, 0, 0]
    assert timeline.wall_ns.tolist() == [MS, 3 * MS, 0, 0]
    rows, values = timeline.column("scalar", "loss")
    assert (rows.tolist(), values.tolist()) == ([0, 2], [1.0, 3.0])
    assert timeline.memory == ("allocated", "peak")
    assert timeline.column("memory", "peak")[1].tolist() == [7]
    written = list(timeline.records())
    assert [dict(r.scalars) for r in written] == [{"loss": 1.0}, {}, {"lr": 2.0, "loss": 3.0}, {}]
    assert written[1].segments == (("data", 2 * MS), ("forward", MS))


def test_the_wall_of_a_run_is_accounted_for_to_the_nanosecond(tmp_path):
    run = open_legacy(write(tmp_path / "run", wall_time=3.000000001, n_steps=40))
    assert (run.has_timeline, run.has_wall) == (False, True)
    assert run.shown.measured_ns == 3_000_000_001
    assert ledger(run.shown) == {
        "other": 3_000_000_001 - 40 * 35 * MS,
        "data_stall": 40 * 2 * MS,
        "compute": 40 * 33 * MS,
    }
    cut = windowed(run, 5, 9)
    assert (cut.has_wall, cut.shown.measured_ns) == (False, 5 * 35 * MS)


def test_time_stamps_are_no_durations(tmp_path):
    plain = [{**r, "timestamp": 1.6e9} for r in even()]
    wild = [{**r, "timestamp": 1e6 * i * i} for i, r in enumerate(even())]
    for steps in (plain, wild):
        run = open_legacy(write(tmp_path / "run", steps))
        assert run.shown.measured_ns == 40 * 35 * MS
        assert not run.notes


def test_step_numbers_that_start_again_begin_a_fresh_run(tmp_path):
    run = open_legacy(write(tmp_path / "run", [*even(30), *even(20), *even(10)], wall_time=1.0))
    assert [a.number for a in run.shown.attempts] == [2]
    assert (run.other_attempts, len(run.shown), run.has_wall) == ((0, 1), 10, True)
    first = open_legacy(tmp_path / "run", attempt=0)
    assert (first.other_attempts, len(first.shown), first.has_wall) == ((1, 2), 30, False)
    with pytest.raises(UsageError, match="no attempt 3; its attempts are: 0, 1, 2"):
        open_legacy(tmp_path / "run", attempt=3)


def test_step_numbers_that_go_back_a_little_resume(tmp_path):
    run = open_legacy(write(tmp_path / "run", [*even(30), *even(20, first=25)]))
    timeline = run.shown
    assert [(a.number, a.first_step) for a in timeline.attempts] == [(0, 0), (1, 25)]
    assert timeline.step[timeline.has(Flag.REDONE)].tolist() == [25, 26, 27, 28, 29]
    assert timeline.attempt.tolist() == [0] * 30 + [1] * 20
    assert timeline.start_ns[30] == 0


def test_a_fresh_run_whose_first_record_is_damaged_is_no_resume(tmp_path):
    both = [*made.lines(even(30)), b"{\n", *made.lines(even(20, first=1))]
    run = open_legacy(write(tmp_path / "run", b"".join(both)))
    assert [(a.number, a.first_step) for a in run.shown.attempts] == [(1, 0)]
    assert run.shown.attempts[0].lost_steps == 1


@pytest.mark.parametrize(
    ("meta", "owned"),
    [
        ({"n_steps": 20, "wall_time": 9.0}, True),
        ({"n_steps": 30, "wall_time": 9.0}, False),  # the first attempt's; the second was killed
        ({"n_steps": 20, "started": 1.6e9 + 50, "wall_time": 9.0}, True),
        ({"n_steps": 20, "started": 1.6e9 - 50, "wall_time": 9.0}, False),
    ],
)
def test_run_json_counts_for_the_attempt_that_wrote_it(tmp_path, meta, owned):
    later = [{**r, "timestamp": 1.6e9 + 100 + r["step"]} for r in even(20)]
    run = open_legacy(write(tmp_path / "run", [*even(30), *later], **meta))
    last = run.shown.attempts[-1]
    assert (last.number, last.finished, run.has_wall) == (1, owned, owned)
    assert any("run.json is of" in note.message for note in run.notes) is not owned


def test_steps_that_finish_counted_and_that_are_not_there_are_lost(tmp_path):
    run = open_legacy(write(tmp_path / "run", wall_time=2.0, n_steps=45))
    assert run.shown.attempts[0].lost_steps == 5


def test_a_wall_is_of_all_ranks_or_of_none(tmp_path):
    folder = ranks(tmp_path / "run", None, None)
    write(folder / "rank0", rank=0, world_size=2, wall_time=9.0)
    run = open_legacy(folder)
    assert not run.has_wall
    assert [t.measured_ns for t in run.timelines] == [40 * 35 * MS] * 2
    assert "no wall_time of rank 1: all ranks are shown by their recorded time" in [
        note.message for note in run.notes
    ]


def test_ranks_with_different_numbers_of_attempts(tmp_path):
    run = open_legacy(ranks(tmp_path / "run", [*even(30), *even(20)], even(20)))
    assert [[a.number for a in t.attempts] for t in run.timelines] == [[1], [1]]
    assert [len(t) for t in run.timelines] == [20, 20]
    assert [n.kind for n in run.notes if n.rank == 1] == ["missed_launch"]


def test_a_warm_up_that_was_not_stored_is_told(tmp_path):
    run = open_legacy(write(tmp_path / "run", even(30, first=10), n_steps=40, wall_time=3.0))
    assert [note.kind for note in run.notes] == ["warmup"]
    assert run.shown.attempts[0].lost_steps == 0
    assert run.shown.metadata["completed_steps"] == 40


def test_what_the_source_is_for(tmp_path):
    run = write(tmp_path / "run")
    split = ranks(tmp_path / "split", None, None)
    assert all(legacy.detects(p) for p in (run, run / "steps.jsonl", split, split / "rank1"))
    assert not any(legacy.detects(p) for p in (tmp_path, run / "run.json", tmp_path / "none"))


def test_folders_beside_a_run_that_are_other_runs_stay_out(tmp_path):
    write(tmp_path / "exp")
    write(tmp_path / "exp_rank1", rank=0)
    write(tmp_path / "exp_rank2", rank=2)
    write(tmp_path / "other_rank3", rank=3)
    (tmp_path / "exp_rank4").mkdir()
    run = open_legacy(tmp_path / "exp")
    assert run.ranks == (0, 2)
    assert "exp_rank1 beside exp is of another recording" in run.notes[0].message


def test_more_names_than_are_kept(tmp_path):
    phases = {f"p{i:03}": 0.001 for i in range(300)}
    scalars = {f"s{i:04}": float(i) for i in range(1100)}
    run = open_legacy(write(tmp_path / "run", [record(0, phases, scalars=scalars)]))
    assert len(run.shown.phases) == 257
    assert run.shown.phase_ns("other").tolist() == [44 * MS]
    assert run.shown.wall_ns.tolist() == [300 * MS]
    assert len(run.shown.scalars) == 1024
    assert [note.kind for note in run.notes] == ["limit", "limit"]


def test_more_time_than_can_be_counted_is_left_out(tmp_path):
    year = 366 * 86_400.0
    steps = [record(i, {"forward": year}) for i in range(300)]
    run = open_legacy(write(tmp_path / "run", steps))
    assert len(run.shown) == 284
    assert run.shown.measured_ns == 284 * round(year) * 10**9
    assert "more time than a run can hold (16, first on line 285)" in run.notes[0].message


def test_nothing_usable_is_one_sentence(tmp_path):
    with pytest.raises(RunUnreadable, match=r"holds no step: steps.jsonl is empty$"):
        open_legacy(write(tmp_path / "a", b""))
    with pytest.raises(RunUnreadable, match=r"3 of 3 records unreadable: not JSON \(3, first on"):
        open_legacy(write(tmp_path / "b", b"?\n\n?\n?"))
    with pytest.raises(RunUnreadable, match=r"holds no steps.jsonl, and no rank's folder"):
        open_legacy(tmp_path)
    with pytest.raises(RunUnreadable, match="is neither a folder nor a file"):
        open_legacy(tmp_path / "none")


@given(content=st.binary(max_size=40), piece=st.integers(1, 7))
def test_lines_are_those_of_the_file(tmp_path_factory, content, piece):
    file = tmp_path_factory.mktemp("f") / "f"
    file.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(legacy_lines, "_PIECE", piece)
        read = list(lines(file))
    expected = content.split(b"\n")
    expected = expected if expected[-1] else expected[:-1]
    assert read == [(len(line), line) for line in expected]


def test_a_line_too_long_is_not_kept(tmp_path):
    (tmp_path / "f").write_bytes(b"a\n" + b"b" * (2 * LONGEST) + b"\nc")
    assert [size for size, _ in lines(tmp_path / "f")] == [1, 2 * LONGEST, 1]
    assert max(len(line) for _, line in lines(tmp_path / "f")) < 10


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
RECORDS = st.fixed_dictionaries(
    {},
    optional={
        "step": st.integers(-2, 9) | VALUES,
        "timestamp": VALUES,
        "phases": st.dictionaries(st.text(max_size=2), st.floats(0, 3) | VALUES, max_size=3)
        | VALUES,
        "scalars": st.dictionaries(st.text(max_size=2), st.floats() | VALUES, max_size=3) | VALUES,
        "memory": st.dictionaries(st.text(max_size=2), st.floats() | VALUES, max_size=3) | VALUES,
    },
)
LINES = RECORDS.map(lambda r: json.dumps(r).encode()) | st.binary(max_size=12)


@settings(max_examples=200)
@given(LINES)
def test_a_line_is_a_record_or_unusable(line):
    try:
        found = parse(line.strip())
    except Unusable:
        return
    assert found.step >= 0
    assert found.recorded_s >= 0
    assert len(found.scalars) == len(found.values)


@settings(max_examples=60, deadline=None)
@given(st.lists(LINES, max_size=12), VALUES)
@example([b"\xef\xbb\xbf"], None)
def test_any_file_is_read_and_every_record_counted(tmp_path_factory, given_lines, meta):
    folder = write(
        tmp_path_factory.mktemp("run"), b"\n".join(given_lines), json.dumps(meta).encode()
    )
    file = StepFile()
    file.read(folder / "steps.jsonl")
    written = b"\n".join(given_lines).removeprefix(b"\xef\xbb\xbf")  # an editor's mark
    there = sum(1 for line in written.split(b"\n") if line.strip())
    assert file.records == there
    assert len(file.steps) + file.skipped.total + file.repeated.total == there
    try:
        run = open_legacy(folder)
    except RunUnreadable:
        assert not len(file.steps)
        return
    timeline = run.shown
    assert timeline.wall_ns.tolist() == [
        sum(ns for _, ns in timeline.segments(row)) for row in range(len(timeline))
    ]
    assert [r.step for r in timeline.records()] == timeline.step.tolist()
    assert sum(ledger(timeline).values()) == timeline.measured_ns
