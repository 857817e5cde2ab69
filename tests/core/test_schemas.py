"""The shipped JSON Schemas: valid, complete, and strict enough to notice what is wrong."""

from __future__ import annotations

import copy
import json
from importlib.resources import files
from typing import Any

import attrs
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings

from pytscope.analyses import (
    Budget,
    BudgetLine,
    Coverage,
    Growth,
    Impossible,
    Interruption,
    Interruptions,
    Memory,
    MemoryColumn,
    NewSizes,
    PhaseTiming,
    RankBudget,
    RankCoverage,
    RankMemory,
    Seen,
    Stop,
    Throughput,
    Timing,
)
from pytscope.analyses.coverage import ClockFault
from pytscope.analysis.orchestrator import analyze
from pytscope.model.findings import Cost, Evidence, Finding
from pytscope.model.records import Flag, StepRecord
from pytscope.model.report import Check, PluginInfo, Problem, RunSummary
from pytscope.plugins.registry import load_registry
from pytscope.plugins.selection import PluginSelection
from pytscope.runs.attempt import Evaluation
from pytscope.runs.building import make_run
from pytscope.runs.run import ReadNote, Run
from tests.core.builtin.reporters.drawn import REPORTS


def schema(name: str) -> dict[str, Any]:
    text = files("pytscope").joinpath("schemas", f"{name}-1.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema(name))


REPORT = validator("report")


@pytest.mark.parametrize("name", ["report", "step", "plugins", "diff", "check"])
def test_the_schemas_are_schemas(name):
    jsonschema.Draft202012Validator.check_schema(schema(name))
    assert schema(name)["title"] == f"pytscope.{name}/1"


DESCRIBED = {
    "run": RunSummary,
    "budget": Budget,
    "rank_budget": RankBudget,
    "line": BudgetLine,
    "impossible": Impossible,
    "coverage": Coverage,
    "rank_coverage": RankCoverage,
    "stop": Stop,
    "seen": Seen,
    "note": ReadNote,
    "clock_fault": ClockFault,
    "timing": Timing,
    "phase": PhaseTiming,
    "throughput": Throughput,
    "memory": Memory,
    "rank_memory": RankMemory,
    "memory_column": MemoryColumn,
    "growth": Growth,
    "interruptions": Interruptions,
    "interruption": Interruption,
    "new_sizes": NewSizes,
    "finding": Finding,
    "cost": Cost,
    "evidence": Evidence,
    "check": Check,
    "problem": Problem,
    "plugin": PluginInfo,
}
COLUMNS = {"each", "step", "wall", "training", "micro_batches"}
PLACES = {"step", "each", "place", "evaluation"}
HIDDEN = {
    "problem": {"traceback"},
    "timing": COLUMNS,
    "phase": COLUMNS,
    "memory_column": COLUMNS,
    "interruption": PLACES,
}


@pytest.mark.parametrize("name", DESCRIBED)
def test_the_report_schema_names_every_field(name):
    described = schema("report")["$defs"][name]["properties"].keys()
    fields = {f.name for f in attrs.fields(DESCRIBED[name])} - HIDDEN.get(name, set())
    assert described == fields


def test_the_step_schema_names_every_field():
    described = schema("step")
    assert list(described["properties"]) == [f.name for f in attrs.fields(StepRecord)]
    assert described["required"] == list(described["properties"])
    flags = described["properties"]["flags"]["items"]["enum"]
    assert flags == [flag.name.lower() for flag in Flag if flag.name]


@given(REPORTS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_hostile_reports_are_of_the_schema(report):
    REPORT.validate(json.loads(report.to_json()))
    REPORT.validate(json.loads(report.to_json(reproducible=True)))


NAN, INF = float("nan"), float("inf")
RUNS: dict[str, Run] = {
    "plain": make_run({"data": 30, "forward": 20}),
    "one step": make_run({"forward": 1}, steps=1),
    "all warm-up": make_run({"forward": 1}, steps=9, warmup=9),
    "ranks": make_run(
        {"forward": 9}, ranks={0: {}, 3: {"data": 50}}, scalars={"tokens": 5, "loss": NAN}
    ),
    "many ranks": make_run({"forward": 9}, ranks=70, steps=3, scalars={"samples": 1}),
    "attempts": make_run({"forward": 9}, attempts=[(0, 30), (20, 40)], startup=[("eval", 5)]),
    "cut": make_run({"forward": 9}, finished=False, last_attempt={"lost_ns": 5, "lost_steps": 2}),
    "impossible": make_run({"forward": 9}, flops_per_step=1e18, peak_flops=1e12),
    "figures": make_run({"forward": 9}, flops_per_step=1e9, peak_flops=1e12),
    "not finite": make_run({"forward": 9}, scalars={"loss": [INF, -INF, NAN, 1.0] * 5}, steps=20),
    "memory": make_run(
        {"forward": 9}, ranks=2, memory={"allocated": list(range(100)), "peak": 9, "mine": 5}
    ),
    "interrupted": make_run(
        {"forward": 9, "gc": 1, "compile": [9 if i % 9 == 0 else 0 for i in range(99)]},
        ranks=70,
        scalars={"tokens": list(range(99))},
        last_attempt={
            "events": [
                {"kind": "instrumentation", "seams": ["gc"], "accelerator": "", "sync": True}
            ]
        },
    ),
    "evaluated": attrs.evolve(
        make_run({"forward": 9}),
        evaluations=(Evaluation("test", 0, 0, 100, segments=(("eval", 9),), values={"a": NAN}),),
    ),
    "noted": make_run({"forward": 9}, notes=[ReadNote("damaged", "x", 0), ReadNote("limit", "y")]),
}


@pytest.fixture(scope="module")
def documents() -> dict[str, Any]:
    registry = load_registry(PluginSelection(autoload=False))
    return {name: json.loads(analyze(run, registry).to_json()) for name, run in RUNS.items()}


@pytest.mark.parametrize("name", RUNS)
def test_analysed_runs_are_of_the_schema(documents, name):
    REPORT.validate(documents[name])


def places(document: Any, at: tuple[Any, ...] = ()) -> Any:
    yield at
    if isinstance(document, dict | list):
        keys = document if isinstance(document, dict) else range(min(1, len(document)))
        for key in keys:
            yield from places(document[key], (*at, key))


FREE = {"thresholds", "steps_by_rank", "by_rank", "registers", "phases", "throughput", "slow_ns"}
"""Objects with keys of their own."""


def test_a_missing_key_and_a_wrong_type_are_noticed_wherever_they_are(documents):
    document = documents["ranks"]
    unnoticed = []
    for *above, key in filter(None, places(document)):
        free = any(name in FREE for name in above)
        if not isinstance(key, str) or free or len(above) > 5:
            continue
        for wrong in ("absent", object()):
            broken = copy.deepcopy(document)
            place = broken
            for step in above:
                place = place[step]
            if wrong == "absent":
                del place[key]
            else:
                place[key] = wrong
            if REPORT.is_valid(broken):
                unnoticed.append((*above, key, wrong == "absent"))
    # Left out when reproducible, or absent when a plugin's analysis is.
    optional = {"path", "created_epoch_ns", "load_ns", "slow_ns"}
    names = ("timing", "interruptions", "event_mask", "spikes", "instability")
    absent = {("analyses", name) for name in names}
    found = [
        place
        for place in unnoticed
        if not (place[-2] in optional and place[-1]) and place[:-1] not in absent
    ]
    assert found == []


def test_a_text_is_no_number(documents):
    document = copy.deepcopy(documents["plain"])
    for text, valid in (("NaN", True), ("nan", False), ("fast", False), (None, True)):
        document["budget"]["mfu"] = text
        assert REPORT.is_valid(document) is valid
