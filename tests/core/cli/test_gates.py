from __future__ import annotations

import attrs
import pytest

from pytscope.cli.gates import at_least, exit_code, reaching, strict_reasons
from pytscope.model.findings import Severity
from pytscope.model.report import FoldedFinding
from pytscope.runs.run import ReadNote, Run
from pytscope.testing import make_run
from tests.core import report_samples as samples

LOW = attrs.evolve(samples.JITTER, severity=Severity.LOW)
HIGH = attrs.evolve(samples.JITTER, severity=Severity.HIGH)


def rules_shown(report, severity):
    return [(len(row.also), row.finding.severity) for row in at_least(report, severity).folded]


@pytest.mark.parametrize(
    ("severity", "count"), [(Severity.INFO, 3), (Severity.LOW, 3), (Severity.HIGH, 2)]
)
def test_folded_findings_count(severity, count):
    assert reaching(samples.report(), severity) == count


def test_findings_below_go_with_those_folded_under_them():
    rows = (FoldedFinding(HIGH, (LOW,)), FoldedFinding(LOW, (LOW,)))
    assert rules_shown(samples.report(folded=rows), Severity.MEDIUM) == [(0, Severity.HIGH)]


def test_a_finding_that_explains_one_that_stays_stays():
    rows = (FoldedFinding(LOW, (HIGH,)),)
    assert rules_shown(samples.report(folded=rows), Severity.HIGH) == [(1, Severity.LOW)]


def run_of(**last_attempt: int) -> Run:
    return make_run({"forward": 10}, steps=4, last_attempt=last_attempt)


def test_strict_is_content_with_a_whole_run():
    assert strict_reasons(run_of(), samples.report()) == []


def test_strict_names_what_failed():
    reasons = strict_reasons(run_of(), samples.troubled())
    assert reasons == [
        "plugin acme, rule ACME.BROKEN: ValueError: boom",
        "ACME.BROKEN could not be evaluated: ValueError: boom",
    ]


def test_strict_names_what_is_lost():
    run = run_of(lost_steps=3, damaged_bytes=17)
    lost = "the records of 3 steps are lost"
    assert strict_reasons(run, samples.report()) == [lost, "17 bytes could not be read"]
    notes = (ReadNote("damaged", "17 bytes of a file"), ReadNote("second_file", "a copy"))
    noted = strict_reasons(attrs.evolve(run, notes=notes), samples.report())
    assert noted == [lost, "17 bytes of a file"]


@pytest.mark.parametrize(
    ("failed", "strict", "code", "said"),
    [
        ([], [], 0, ""),
        (["fail-on: bad"], [], 1, "fail-on: bad\n"),
        ([], ["lost"], 4, "strict: lost\n"),
        (["fail-on: bad"], ["lost"], 4, "fail-on: bad\nstrict: lost\n"),
    ],
)
def test_strict_hides_no_gate(capsys, failed, strict, code, said):
    assert exit_code(failed, strict) == code
    assert capsys.readouterr().err == said
