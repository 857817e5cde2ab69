"""JSON lines: every record in full, of the schema, and back to equal records."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from pytscope.exporting.jsonl import jsonl_text
from pytscope.model.records import StepRecord
from pytscope.runs import step_records
from pytscope.runs.codec import HeaderError, step_document, step_record
from pytscope.runs.run import Run
from pytscope.runs.window import windowed
from tests.core.exporting.runs import made, recorded
from tests.core.test_schemas import validator


def strict(line: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(line, parse_constant=refuse)


def lines(run: Run) -> list[str]:
    text = "".join(jsonl_text(run))
    assert text.endswith("\n")
    assert text.isascii()
    return text.splitlines()


def records(run: Run) -> list[StepRecord]:
    return [record for timeline in run.timelines for record in timeline.records()]


def same(a: StepRecord, b: StepRecord) -> bool:
    """Equality that holds NaN equal to itself, and 1 not to 1.0."""
    return repr(a) == repr(b)


@pytest.mark.parametrize("make", [recorded, made])
def test_lines_are_of_the_schema_and_come_back_as_equal_records(tmp_path, make):
    run = recorded(tmp_path) if make is recorded else made()
    schema = validator("step")
    written = lines(run)
    for line in written:
        schema.validate(strict(line))
    back = [step_record(strict(line)) for line in written]
    kept = records(run)
    assert len(back) == len(kept) > 20
    for got, put in zip(back, kept, strict=True):
        assert same(got, put)


def test_a_record_says_the_same_alone_and_in_a_batch(tmp_path):
    (timeline,) = recorded(tmp_path).timelines
    for row, record in enumerate(timeline.records()):
        assert record.segments == timeline.segments(row)
        assert record.wall_ns == timeline.wall_ns[row] == sum(ns for _, ns in record.segments)
        assert record.flags == timeline.flags[row]


def test_batches_do_not_show(tmp_path, monkeypatch):
    run = recorded(tmp_path)
    whole = lines(run)
    for size in (1, 7, 29, 30, 31):
        monkeypatch.setattr(step_records, "BATCH", size)
        assert lines(run) == whole


def test_a_window_is_a_part_of_the_whole(tmp_path):
    run = recorded(tmp_path)
    assert lines(windowed(run, 7, 19)) == lines(run)[7:20]


def test_what_is_not_finite_is_text_and_integers_are_exact(tmp_path):
    documents = [strict(line) for line in lines(recorded(tmp_path))]
    assert [d["scalars"]["loss"] for d in documents[:25:3]][:3] == [1.5, "-Infinity", 0.1]
    assert {"NaN", "Infinity", "-Infinity"} <= {d["scalars"].get("loss") for d in documents}
    assert documents[1]["scalars"]["tokens"] == 2**53 + 1
    assert documents[0]["segments"][2] == ["forward", 2**33]
    assert documents[0]["flags"] == ["skipped"]
    assert documents[1]["device_segments"] is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("flags", ["slow"]),
        ("flags", "warmup"),
        ("wall_ns", 1.5),
        ("segments", [["data"]]),
        ("scalars", {"loss": "nan"}),
        ("rank", True),
    ],
)
def test_a_wrong_document_is_refused_by_schema_and_converter(tmp_path, key, value):
    document = json.loads(json.dumps(step_document(next(iter(made().timelines[0].records())))))
    assert step_record(document) == next(iter(made().timelines[0].records()))
    document[key] = value
    with pytest.raises(HeaderError, match=key):
        step_record(document)
    with pytest.raises(jsonschema.ValidationError):
        validator("step").validate(document)
