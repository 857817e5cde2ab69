from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import attrs
import jsonschema
import pytest

from pytscope.builtin.reporters.json import json_report
from pytscope.model.document import report_document, report_json
from pytscope.plugins.declare import RenderOptions
from tests.core import report_samples as samples

SCHEMA = json.loads(files("pytscope").joinpath("schemas/report-1.json").read_text(encoding="utf-8"))


def strict(text: str) -> Any:
    def refuse(constant: str) -> None:
        msg = f"{constant} is no JSON"
        raise AssertionError(msg)

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("name", samples.ALL)
@pytest.mark.parametrize("reproducible", [False, True])
def test_documents_are_strict_ascii_json_of_the_schema(name, reproducible):
    text = report_json(samples.ALL[name], reproducible=reproducible)
    assert text.isascii()
    assert text.endswith("}\n")
    document = strict(text)
    jsonschema.validate(document, SCHEMA)
    assert document == report_document(samples.ALL[name], reproducible=reproducible)


def test_the_schema_itself_is_valid():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("key", ["findings", "checks", "run", "budget", "coverage"])
def test_the_schema_misses_a_missing_key(key):
    document = report_document(samples.report())
    del document[key]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA)


def test_to_json_and_the_reporter_print_the_same():
    report = samples.report()
    assert json_report(report, RenderOptions(width=40, color=True)) == report.to_json()
    reproducible = RenderOptions(reproducible=True)
    assert json_report(report, reproducible) == report.to_json(reproducible=True)


def test_folded_findings_are_under_also():
    first, second = report_document(samples.report())["findings"]
    assert first["rule"] == "TIMING.DATALOADER_BOUND"
    assert [f["rule"] for f in first["also"]] == ["EFFICIENCY.RECOVERABLE"]
    assert second["also"] == []
    assert "also" not in first["also"][0]


def test_a_finding_in_full():
    row = report_document(samples.report())["findings"][0]
    assert row["severity"] == "high"
    assert row["confidence"] == "confirmed"
    assert row["cost_s"] == {"value": 1.141, "low": 1.05, "high": 1.2}
    assert row["evidence"][0] == {
        "metric": "wait for data",
        "value": 12.01,
        "unit": "ms",
        "low": 11.8,
        "high": 12.2,
        "steps": [5, 94],
        "rank": 0,
    }
    assert row["steps"] == [[5, 94]]


def test_null_is_not_measured():
    document = report_document(samples.report())
    assert document["budget"] is None
    assert document["findings"][1]["cost_s"] is None


def test_analyses_leave_columns_out_and_name_what_is_not_finite():
    acme = report_document(samples.report())["analyses"]["acme"]
    assert acme == {"steps": 95, "mean_ns": 23.1e6, "worst": "Infinity", "missing": None}


def test_coverage_and_budget_have_places_of_their_own():
    document = report_document(samples.report(analyses={"coverage": {"a": 1}, "budget": None}))
    assert document["coverage"] == {"a": 1}
    assert document["analyses"] == {}


def test_checks_say_outcome_reason_and_thresholds():
    checks = {c["rule"]: c for c in report_document(samples.report())["checks"]}
    unmeasured = checks["EFFICIENCY.LOW_MFU"]
    assert unmeasured["outcome"] == "not_measured"
    assert "--flops-per-step" in unmeasured["reason"]
    assert checks["TIMING.DATALOADER_BOUND"]["thresholds"] == {"min_share": 0.2}


def test_tracebacks_stay_out():
    (problem,) = report_document(samples.troubled())["problems"]
    assert list(problem) == ["plugin", "distribution", "version", "stage", "message"]


def test_reproducible_documents_do_not_depend_on_place_and_time():
    def elsewhere(path: str, time: int) -> str:
        run = attrs.evolve(samples.RUN, path=path, created_epoch_ns=time)
        plugins = (attrs.evolve(samples.BUILTIN, load_ns=time),)
        return samples.report(run=run, plugins=plugins).to_json(reproducible=True)

    assert elsewhere("/a", 1) == elsewhere("/b", 2)
    assert samples.report().to_json() != elsewhere(samples.RUN.path, 1)
