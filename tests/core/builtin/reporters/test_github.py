from __future__ import annotations

import attrs
from hypothesis import HealthCheck, given, settings

from pytscope.builtin.reporters.github import github_gate, github_report
from pytscope.plugins.declare import RenderOptions
from tests.core import report_samples as samples
from tests.core.builtin.reporters.ci_formats import (
    ALL,
    GATES,
    KEPT,
    MISSED,
    commands,
    made_gate,
)

OPTIONS = RenderOptions()


def test_what_fails_the_gate_is_an_error_where_it_is_written():
    found = commands(github_gate(made_gate(*ALL), OPTIONS))
    errors = [c for c in found if c.name == "error"]
    assert [e.properties["title"] for e in errors] == ["data.share failed", "mfu not measured"]
    assert errors[0].properties == {
        "file": "pyproject.toml",
        "line": "7",
        "title": "data.share failed",
    }
    assert errors[0].message == "data.share <= 20%: failed\n52% is not <= 20%"
    assert "file" not in errors[1].properties


def test_errors_come_first_and_the_headline_last():
    found = commands(github_gate(made_gate(*ALL, fail_on="high"), OPTIONS))
    names = [c.name for c in found]
    assert names == sorted(names, key=["error", "warning", "notice"].index)
    assert found[-1].properties == {"title": "pytscope check"}
    assert found[-1].message.startswith("failed: 4 budgets")


def test_findings_are_errors_only_where_they_fail_the_gate():
    named = {"script": "src/train.py"}
    loose = commands(github_gate(made_gate(KEPT, **named), OPTIONS))
    assert "error" not in {c.name for c in loose}
    assert loose[0].properties["file"] == "src/train.py"
    strict = commands(github_gate(made_gate(KEPT, fail_on="high", **named), OPTIONS))
    titles = {c.properties["title"] for c in strict if c.name == "error"}
    assert titles == {f.rule for f in samples.report().findings if f.severity.value == "high"}
    assert "Fix: " in strict[0].message


def test_a_report_of_analyze_has_its_findings_too():
    found = commands(github_report(samples.report(), OPTIONS))
    rules = [f.rule for f in samples.report().findings]
    assert sorted(c.properties["title"] for c in found[:-1]) == sorted(rules)
    assert found[-1].properties["title"] == "pytscope analyze"


def test_a_percent_sign_and_signs_of_commands_are_only_text():
    odd = "50%0A::error::a,b=c:d%25"
    judged = attrs.evolve(MISSED, reason=odd, metric=odd)
    found = commands(github_gate(made_gate(judged), OPTIONS))
    assert found[0].message.endswith(odd)
    assert found[0].properties["title"] == f"{odd} failed"


@given(GATES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_line_is_one_command_of_ours_whatever_is_said(gate):
    for text in (github_gate(gate, OPTIONS), github_report(gate.report, OPTIONS)):
        lines = text.splitlines()
        assert len(commands(text)) == len(lines)
        assert {c.name for c in commands(text)} <= {"error", "warning", "notice"}
        for command in commands(text):
            assert set(command.properties) <= {"file", "line", "title"}
        text.encode()
