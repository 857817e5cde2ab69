"""`--format junit`: budgets and checks as test cases, for what reads JUnit's XML."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET  # writes only

import attrs

from pytscope.model.escaping import visible
from pytscope.model.findings import Severity
from pytscope.model.gate import Gate, Judged, Standing
from pytscope.model.report import Check, Outcome, Report
from pytscope.plugins.declare import RenderOptions, reporter

_SKIPPED = {
    Outcome.INCONCLUSIVE: "inconclusive",
    Outcome.NOT_MEASURED: "not measured",
    Outcome.NOT_APPLICABLE: "not applicable",
    Outcome.DISABLED: "disabled",
}


@attrs.frozen
class Case:
    """A test case.

    Attributes:
        name: Its name.
        kind: `failure`, `error` or `skipped`, or an empty string when it passed.
        type: A word for the kind.
        message: What is to be said of it.
        detail: More of it.
    """

    name: str
    kind: str = ""
    type: str = ""
    message: str = ""
    detail: str = ""


def junit_gate(gate: Gate, _options: RenderOptions) -> str:
    """A suite of the budgets and one of the checks.

    A check fails when it has a finding that `fail-on` fails the gate for; other
    findings are told in a check that passes.
    """
    budgets = [_budget(judged) for judged in gate.judged]
    limit = None if gate.fail_on is None else Severity(gate.fail_on)
    checks = [_check(check, gate.report, limit) for check in gate.report.checks]
    return _document("pytscope check", (("budgets", budgets), ("checks", checks)))


@reporter("junit", check=junit_gate)
def junit_report(report: Report, _options: RenderOptions) -> str:
    """A suite of the checks; one fails when it has a finding of medium or high severity."""
    checks = [_check(check, report, Severity.MEDIUM) for check in report.checks]
    return _document("pytscope analyze", (("checks", checks),))


def _budget(judged: Judged) -> Case:
    standing = judged.standing
    if standing is Standing.PASSED:
        return Case(judged.budget, detail=judged.reason)
    kind = "failure" if judged.fails else "skipped"
    message = f"{standing.value}: {judged.reason}" if judged.reason else standing.value
    return Case(judged.budget, kind, standing.value, message)


def _check(check: Check, report: Report, limit: Severity | None) -> Case:
    if check.outcome is Outcome.ERROR:
        return Case(check.rule, "error", "error", check.reason or "it failed")
    if check.outcome in _SKIPPED:
        word = _SKIPPED[check.outcome]
        return Case(check.rule, "skipped", word, f"{word}: {check.reason}")
    findings = [finding for finding in report.findings if finding.rule == check.rule]
    said = "\n\n".join(
        "\n".join(filter(None, (f"[{f.severity.tag}] {f.title}", f.detail, f.fix)))
        for f in findings
    )
    fails = [f for f in findings if limit is not None and f.severity.order <= limit.order]
    if fails:
        return Case(check.rule, "failure", fails[0].severity.value, fails[0].title, said)
    return Case(check.rule, detail=said)


def _document(name: str, suites: Iterable[tuple[str, list[Case]]]) -> str:
    root = ET.Element("testsuites", {"name": name})
    every: list[Case] = []
    for suite, cases in suites:
        every += cases
        element = ET.SubElement(root, "testsuite", {"name": f"{name}: {suite}", **_counts(cases)})
        element.set("skipped", str(sum(case.kind == "skipped" for case in cases)))
        for case in cases:
            _append(element, f"pytscope.{suite}", case)
    for key, value in _counts(every).items():
        root.set(key, value)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, "unicode")}\n'


def _counts(cases: list[Case]) -> dict[str, str]:
    kinds = [case.kind for case in cases]
    return {
        "tests": str(len(cases)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "time": "0",
    }


def _append(suite: ET.Element, group: str, case: Case) -> None:
    named = {"name": _safe(case.name) or "(no name)", "classname": group, "time": "0"}
    element = ET.SubElement(suite, "testcase", named)
    if case.kind == "skipped":  # of which readers know the text alone
        ET.SubElement(element, "skipped").text = _safe(case.message)
    elif case.kind:
        attributes = {"type": case.type, "message": _safe(case.message)}
        ET.SubElement(element, case.kind, attributes).text = _safe(case.detail or case.message)
    elif case.detail:
        ET.SubElement(element, "system-out").text = _safe(case.detail)


def _safe(text: str) -> str:
    """Text without the characters that XML has no way to write."""
    return visible(text, keep="\n")
