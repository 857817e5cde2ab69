from __future__ import annotations

import attrs
import pytest
from hypothesis import HealthCheck, given, settings

from pytscope.builtin.reporters.junit import junit_gate, junit_report
from pytscope.plugins.declare import RenderOptions
from tests.core import report_samples as samples
from tests.core.builtin.reporters.ci_formats import ALL, GATES, KEPT, junit, made_gate

OPTIONS = RenderOptions()


def cases(root, suite):
    found = next(s for s in root if s.get("name").endswith(suite))
    return {case.get("name"): case for case in found}


def test_a_budget_is_a_case():
    root = junit(junit_gate(made_gate(*ALL), OPTIONS))
    found = cases(root, ": budgets")
    assert list(found) == [one.budget for one in ALL]
    kinds = [[child.tag for child in case] for case in found.values()]
    assert kinds == [[], ["failure"], ["failure"], ["skipped"]]
    failure = found["data.share <= 20%"][0]
    assert failure.attrib == {"type": "failed", "message": "failed: 52% is not <= 20%"}
    assert found["mfu >= 0.35"][0].get("type") == "not measured"
    assert "nobody looked" in found["gc.share <= 1% if measured"][0].text


def test_a_check_is_a_case_that_fails_as_the_gate_does():
    loose = cases(junit(junit_gate(made_gate(KEPT), OPTIONS)), ": checks")
    assert all(case.find("failure") is None for case in loose.values())
    strict = cases(junit(junit_gate(made_gate(KEPT, fail_on="high"), OPTIONS)), ": checks")
    failing = {name for name, case in strict.items() if case.find("failure") is not None}
    assert failing <= {f.rule for f in samples.report().findings if f.severity.value == "high"}
    assert "TIMING.DATALOADER_BOUND" in failing
    assert "[HIGH]" in loose["TIMING.DATALOADER_BOUND"].find("system-out").text


def test_checks_that_decided_nothing_are_skipped_and_broken_ones_errors():
    report = samples.troubled()
    found = cases(junit(junit_report(report, OPTIONS)), ": checks")
    assert set(found) == {check.rule for check in report.checks}
    for check in report.checks:
        tags = [child.tag for child in found[check.rule]]
        if check.outcome.value == "error":
            assert tags == ["error"]
        elif check.outcome.value not in ("finding", "passed"):
            assert tags == ["skipped"]


def test_other_readers_read_it():
    junitparser = pytest.importorskip("junitparser")
    text = junit_gate(made_gate(*ALL), OPTIONS)
    read = junitparser.JUnitXml.fromstring(text.encode())
    assert (read.failures, read.errors) == (2, 0)
    assert [suite.name for suite in read] == ["pytscope check: budgets", "pytscope check: checks"]


@given(GATES)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_gives_a_document_of_the_schema(gate):
    junit(junit_gate(gate, OPTIONS))
    junit(junit_report(gate.report, OPTIONS))


def test_characters_that_xml_cannot_hold_are_shown():
    judged = attrs.evolve(ALL[1], reason="a \x00 \x1b[2J \ud800 \ufffe b")
    text = junit_gate(made_gate(judged), OPTIONS)
    junit(text)
    assert "\\x00 \\x1b[2J \\ud800 \\ufffe" in text
