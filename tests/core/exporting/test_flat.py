"""CSV and parquet: one table, checked cell by cell against the records."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import attrs
import pytest

from pytscope.exporting import flat, parquet
from pytscope.exporting.csv import csv_text
from pytscope.exporting.flat import flat_columns
from pytscope.exporting.parquet import write_parquet
from pytscope.model.records import Flag, StepRecord
from pytscope.runs.building import make_run
from pytscope.runs.run import Run
from tests.core.exporting.runs import made, recorded

NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@pytest.fixture(params=["recorded", "made"])
def run(request, tmp_path) -> Run:
    return recorded(tmp_path) if request.param == "recorded" else made()


def expected(record: StepRecord, name: str) -> Any:
    """What a cell is to hold; None for nothing."""
    kind, _, key = name.partition(".")
    if kind == "flag":
        return bool(record.flags & Flag[key.upper()])
    if kind == "phase":
        return record.phases_ns.get(key.removesuffix("_ns"), 0)
    if kind == "device":
        return dict(record.device_segments or ()).get(key.removesuffix("_ns"))
    if kind == "scalar":
        return record.scalars.get(key)
    if kind == "memory":
        return record.memory_bytes.get(key.removesuffix("_bytes"))
    if kind == "extra":
        return record.extras_ns.get(key.removesuffix("_ns"))
    return getattr(record, name)


def records(run: Run) -> list[StepRecord]:
    return [record for timeline in run.timelines for record in timeline.records()]


def read_cell(text: str, like: Any) -> Any:
    if text == "":
        return None
    if isinstance(like, bool):
        return {"true": True, "false": False}[text]
    return NON_FINITE[text] if text in NON_FINITE else type(like)(text)


def table(run: Run) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO("".join(csv_text(run)))))


def test_csv_says_what_the_records_say(run):
    rows = table(run)
    kept = records(run)
    assert len(rows) == len(kept)
    for row, record in zip(rows, kept, strict=True):
        for name, cell in row.items():
            want = expected(record, name)
            assert repr(read_cell(cell, want)) == repr(want), name


def test_parquet_says_what_the_records_say(run):
    pq = pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    write_parquet(run, file, "1.2")
    read = pq.read_table(io.BytesIO(file.getvalue()))
    assert read.schema.metadata[b"pytscope.format"] == b"pytscope.step/1"
    rows = read.to_pylist()
    for row, record in zip(rows, records(run), strict=True):
        for name, cell in row.items():
            want = expected(record, name)
            if isinstance(cell, float) and isinstance(want, int):
                want = float(want)  # another step logged a float of this name
            assert repr(cell) == repr(want), name


def test_columns_are_named_as_documented(tmp_path):
    names = [column.name for column in flat_columns(recorded(tmp_path))]
    assert names == [
        *("rank", "attempt", "step", "start_ns", "wall_ns", "micro_batches"),
        *("flag.warmup", "flag.skipped", "flag.failed", "flag.redone", "flag.profiled"),
        *("phase.data_ns", "phase.forward_ns", "phase.eval_ns", "device.forward_ns"),
        *("scalar.loss", "scalar.tokens", "memory.alloc_bytes", "extra.launch_ns"),
    ]


def test_a_phase_that_was_not_recorded_is_not_zero_without_a_timeline():
    whole = make_run([[("data", 1)], [("data", 1), ("eval", 5)]])
    assert [row["phase.eval_ns"] for row in table(whole)] == ["0", "5000000"]
    durations = attrs.evolve(whole, has_timeline=False)
    assert [row["phase.eval_ns"] for row in table(durations)] == ["", "5000000"]


@pytest.mark.parametrize("size", [1, 7, 30])
def test_batches_do_not_show(tmp_path, monkeypatch, size):
    run = recorded(tmp_path)
    whole = "".join(csv_text(run))
    monkeypatch.setattr(flat, "BATCH", size)
    monkeypatch.setattr(parquet, "ROW_GROUP", 9)
    assert "".join(csv_text(run)) == whole
    pq = pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    write_parquet(run, file, "1.2")
    assert pq.read_table(io.BytesIO(file.getvalue())).num_rows == 30


def test_names_that_could_break_a_table_do_not():
    names = ["a,b", 'quo"te', "two\nlines", "esc\x1b[2J", "=cmd()", "日本語", "lone\udc80"]
    run = make_run({"data": 1}, steps=2, scalars=dict.fromkeys(names, 1.0))
    text = "".join(csv_text(run))
    text.encode()
    assert "\x1b" not in text
    assert text.count("\n") == 3
    (first, *_) = csv.reader(io.StringIO(text))
    assert first[-len(names) :] == [
        *("scalar.a,b", 'scalar.quo"te', r"scalar.two\nlines", r"scalar.esc\x1b[2J"),
        *("scalar.=cmd()", "scalar.日本語", r"scalar.lone\udc80"),
    ]
    pq = pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    write_parquet(run, file, "1.2")
    assert pq.read_table(io.BytesIO(file.getvalue())).num_columns == len(first)
