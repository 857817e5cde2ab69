"""What `check` prints for people: text, Markdown, JSON."""

from __future__ import annotations

import json

import attrs
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings

from pytscope.builtin.reporters.gates import text_gate
from pytscope.builtin.reporters.json import json_gate
from pytscope.builtin.reporters.markdown_gate import markdown_gate
from pytscope.model.escaping import visible
from pytscope.model.gate import BaselineFacts, Judged, Place
from pytscope.plugins.declare import RenderOptions
from tests.core import report_samples as samples
from tests.core.builtin.reporters.ci_formats import ALL, GATES, KEPT, MISSED, made_gate
from tests.core.builtin.reporters.drawn import COLOR
from tests.core.test_schemas import schema

CHECK = jsonschema.Draft202012Validator(schema("check"))


def text(gate, **options):
    return text_gate(gate, RenderOptions(**options))


def test_the_gate_comes_first_then_the_findings():
    lines = text(made_gate(*ALL)).splitlines()
    heads = [line for line in lines if line.startswith("●")]
    assert heads[0].startswith("● RUN exp1")
    assert heads[1].startswith("● GATE · bad — failed: 4 budgets, 1 passed · 1 failed")
    assert heads[2].startswith("● FINDINGS")
    assert len(heads) == 3
    assert any("TIMING" in line for line in text(made_gate(*ALL), verbose=True).splitlines())


def test_every_budget_has_its_line():
    drawn = text(made_gate(*ALL))
    for one in ALL:
        assert any(one.standing.value in li and one.budget in li for li in drawn.splitlines())
    assert "mfu: it needs FLOPs" in drawn
    assert "● GATE · ok — passed: 1 budget" in text(made_gate(KEPT))


def test_colour_changes_nothing_but_colour():
    gate = made_gate(*ALL)
    assert COLOR.sub("", text(gate, color=True)) == text(gate)
    assert text(gate, ascii=True).isascii()


def test_the_baseline_is_named():
    facts = BaselineFacts(path="ci/base.json", run="main", tool_version="0.3.0")
    gate = made_gate(attrs.evolve(MISSED, baseline=0.1), baseline=facts)
    assert "baseline ci/base.json of run main" in " ".join(text(gate).split())
    assert "10%" in text(gate)
    assert "ci/base.json" not in text(gate, reproducible=True)


def test_markdown_is_a_summary():
    said = markdown_gate(made_gate(*ALL), RenderOptions())
    assert said.startswith("## pytscope check · `exp1`\n")
    assert "**Verdict:** failed: 4 budgets" in said
    assert "| failed | data.share &lt;= 20% | 52% | 20% |" in said
    assert "**HIGH**" in said
    assert "### Findings (3)" in said
    assert "  - also **HIGH** 49% of wall time is recoverable (`EFFICIENCY.RECOVERABLE`)" in said


def document(gate, **options):
    return json.loads(json_gate(gate, RenderOptions(**options)))


def test_the_document_is_of_its_schema_and_says_everything():
    found = document(made_gate(*ALL, fail_on="high"))
    CHECK.validate(found)
    assert (found["schema"], found["passed"]) == ("pytscope.check/1", False)
    assert [b["standing"] for b in found["budgets"]] == [one.standing.value for one in ALL]
    assert found["budgets"][1]["place"] == {"file": "pyproject.toml", "line": 7}
    assert found["budgets"][2]["value"] is None
    assert len(found["findings"]) == len(samples.report().folded)


def test_reproducible_leaves_out_paths():
    gate = made_gate(KEPT, baseline=BaselineFacts(path="/x/base.json"))
    CHECK.validate(document(gate))
    found = document(gate, reproducible=True)
    CHECK.validate(found)
    assert "path" not in found["run"]
    assert "path" not in found["baseline"]


def test_the_schema_names_every_field_of_a_budget():
    described = schema("check")["$defs"]
    assert set(described["budget"]["properties"]) == {f.name for f in attrs.fields(Judged)}
    assert set(described["place"]["properties"]) == {f.name for f in attrs.fields(Place)}
    assert set(described["baseline"]["properties"]) == {f.name for f in attrs.fields(BaselineFacts)}


@pytest.mark.parametrize("key", ["passed", "budgets", "findings", "run"])
def test_the_schema_notices_what_is_missing(key):
    found = document(made_gate(*ALL))
    del found[key]
    assert not CHECK.is_valid(found)


@pytest.mark.parametrize(("key", "value"), [("value", "fast"), ("standing", "fine"), ("op", "=")])
def test_the_schema_notices_what_is_wrong(key, value):
    found = document(made_gate(*ALL))
    found["budgets"][0][key] = value
    assert not CHECK.is_valid(found)


@given(GATES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_is_drawn_and_is_of_the_schema(gate):
    CHECK.validate(document(gate))
    drawn = text(gate)
    assert visible(drawn, keep="\n") == drawn
    markdown_gate(gate, RenderOptions()).encode()
