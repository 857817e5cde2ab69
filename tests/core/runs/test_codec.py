"""The converter: strict on read, plain JSON on write."""

import json

import pytest

from pytscope.model.records import Flag, StepRecord
from pytscope.runs.codec import HeaderError, step_document, structure
from pytscope.runs.headers import EndLine, LogEvent, RunLine


def test_unknown_keys_are_passed_over_and_missing_ones_have_their_defaults():
    run = structure({"b": "run", "epoch_ns": 5, "later": {"x": 1}}, RunLine)
    assert run == RunLine(epoch_ns=5)


@pytest.mark.parametrize("job", ["slurm-7", 7, None])
def test_a_job_is_text_or_a_number(job):
    assert structure({"epoch_ns": 5, "job": job}, RunLine).job == job


@pytest.mark.parametrize(
    ("field", "value", "place"),
    [
        ("rank", True, "$.rank"),
        ("rank", 1.0, "$.rank"),
        ("rank", 2**64, "$.rank"),
        ("name", 5, "$.name"),
        ("environment", [1], "$.environment"),
        ("world", "8", "$.world"),
        ("job", 1.5, "$.job"),
        ("flops_per_step", "1e12", "$.flops_per_step"),
    ],
)
def test_a_wrong_type_names_its_place(field, value, place):
    with pytest.raises(HeaderError, match=r"expected .* @ \$") as e:
        structure({"epoch_ns": 5, field: value}, RunLine)
    assert str(e.value).endswith(place)


def test_every_mistake_of_a_line_is_named():
    with pytest.raises(HeaderError) as e:
        structure({"wall_ns": "a", "steps": "b", "shutdown": [["x", 1], ["y", "z"]]}, EndLine)
    places = [part.split(" @ ")[1] for part in str(e.value).split("; ")]
    # cattrs before 25.1 names the pair that holds a mistake beside the mistake
    assert [p for p in places if p != "$.shutdown[1]"] == [
        "$.wall_ns",
        "$.steps",
        "$.shutdown[1][1]",
    ]


def test_a_long_value_is_cut_in_the_message():
    with pytest.raises(HeaderError) as e:
        structure({"epoch_ns": "x" * 1000}, RunLine)
    assert len(str(e.value)) < 120


def test_integers_stay_integers_and_floats_without_a_literal_come_back():
    values = {"a": 2**62 + 1, "b": 1.5, "c": "-Infinity"}
    log = structure({"step": 3, "values": values}, LogEvent)
    assert log.values == {"a": 2**62 + 1, "b": 1.5, "c": float("-inf")}
    assert type(log.values["a"]) is int
    flops = structure({"epoch_ns": 1, "flops_per_step": 10}, RunLine).flops_per_step
    assert type(flops) is float


def test_a_step_record_becomes_plain_json():
    record = StepRecord(
        rank=1,
        attempt=0,
        step=5,
        start_ns=7,
        wall_ns=9,
        segments=(("data", 4), ("other", 5)),
        device_segments=(("data", 2),),
        scalars={"loss": float("nan"), "lr": 0.1, "tokens": 2**60, "x": float("inf")},
        memory_bytes={"alloc": 3},
        extras_ns={"gap": 1},
        micro_batches=2,
        flags=Flag.WARMUP | Flag.FAILED,
    )
    document = step_document(record)
    assert json.loads(json.dumps(document, allow_nan=False)) == {
        "rank": 1,
        "attempt": 0,
        "step": 5,
        "start_ns": 7,
        "wall_ns": 9,
        "segments": [["data", 4], ["other", 5]],
        "device_segments": [["data", 2]],
        "scalars": {"loss": "NaN", "lr": 0.1, "tokens": 2**60, "x": "Infinity"},
        "memory_bytes": {"alloc": 3},
        "extras_ns": {"gap": 1},
        "micro_batches": 2,
        "flags": ["warmup", "failed"],
    }
