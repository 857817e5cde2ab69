"""Reports of runs of any numbers are JSON, and JSON of the shipped schema."""

from __future__ import annotations

import json
import math
import os
from importlib.resources import files
from typing import Any

import attrs
import jsonschema
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pytscope.analysis.orchestrator import analyze
from pytscope.model.document import report_json
from pytscope.model.jsonable import jsonable
from pytscope.runs.building import make_run
from pytscope.runs.codec import step_document, step_record
from tests.core.runs.diagnosing import registry

MORE = int(os.environ.get("PYTSCOPE_FUZZ", "1"))


def validator(name: str) -> jsonschema.Draft202012Validator:
    text = files("pytscope").joinpath("schemas", f"{name}-1.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


REPORT, STEP = validator("report"), validator("step")

names = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
ns = st.one_of(st.integers(0, 10), st.integers(0, 2**45))
numbers = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats())
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def runs(draw) -> Any:
    steps = draw(st.integers(1, 40))
    durations = st.lists(ns, min_size=steps, max_size=steps)
    phases = st.one_of(st.sampled_from(["data", "forward", "backward", "eval", "comm"]), names)
    values = st.lists(st.one_of(st.none(), numbers), min_size=steps, max_size=steps)
    return make_run(
        draw(st.dictionaries(phases, durations, min_size=1, max_size=4)),
        unit="ns",
        steps=steps,
        scalars=draw(st.dictionaries(st.sampled_from(["loss", "tokens", "x"]), values, max_size=2)),
        ranks=draw(st.integers(1, 3)),
        warmup=draw(st.one_of(st.none(), st.integers(0, 50))),
        name=draw(st.text(max_size=10)),
        config=draw(st.dictionaries(st.text(max_size=5), anything, max_size=3)),
        finished=draw(st.booleans()),
        flops_per_step=draw(st.one_of(st.none(), st.floats())),
        peak_flops=draw(st.one_of(st.none(), st.floats())),
    )


@given(run=runs())
@settings(max_examples=100 * MORE, deadline=None)
def test_a_report_of_any_run_is_a_document_of_the_schema(run):
    report = analyze(run, registry())
    problems = [f"{p.stage}: {p.message}" for p in report.problems]
    assert problems == []
    text = report_json(report)
    assert text.isascii()
    document = json.loads(text, parse_constant=_no_literal)
    REPORT.validate(document)
    lines = document["budget"]["lines"]
    assert sum(line["ns"] for line in lines) == document["budget"]["wall_ns"]


def _no_literal(text: str) -> None:
    message = f"{text} is no JSON"
    raise AssertionError(message)


@given(run=runs())
@settings(max_examples=60 * MORE, deadline=None)
def test_steps_go_to_json_and_back(run):
    for record in run.timelines[0].records():
        text = json.dumps(step_document(record), allow_nan=False)
        STEP.validate(json.loads(text))
        assert _plain(step_record(json.loads(text))) == _plain(record)


def _plain(record: Any) -> Any:
    """A record in which NaN equals NaN and integers beside floats are what they were."""
    scalars = {k: "nan" if math.isnan(v) else v for k, v in record.scalars.items()}
    return attrs.evolve(record, scalars=scalars)


@given(value=anything)
@settings(max_examples=200 * MORE, deadline=None)
def test_any_value_has_a_form_in_json(value):
    json.loads(json.dumps(jsonable(value), allow_nan=False), parse_constant=_no_literal)


@given(
    values=st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats()), max_size=5),
    kind=st.sampled_from(["int64", "float64", "float32", "uint8", "bool", "object"]),
)
@settings(max_examples=100 * MORE, deadline=None)
def test_arrays_of_any_kind_have_a_form_in_json(values, kind):
    with np.errstate(all="ignore"):
        try:
            array = np.array(values).astype(kind)
        except (TypeError, ValueError, OverflowError):
            return
    json.loads(json.dumps(jsonable(array), allow_nan=False), parse_constant=_no_literal)
