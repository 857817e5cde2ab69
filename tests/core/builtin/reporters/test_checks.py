from __future__ import annotations

import pytest

from pytscope.model.report import Check, Outcome
from tests.core import report_samples as samples
from tests.core.builtin.reporters.drawn import draw


def flat(report: object, **options: object) -> str:
    return " ".join(draw(report, **options).split())  # type: ignore[arg-type]  # a sample


def test_every_outcome_is_counted():
    assert (
        "9 checks: 3 with findings · 1 passed · 1 inconclusive · 1 not measured · "
        "1 not applicable · 1 disabled · 1 failed"
    ) in flat(samples.troubled())


@pytest.mark.parametrize(
    "said",
    [
        "failed ACME.BROKEN: ValueError: boom",
        "inconclusive ACME.UNSURE: a change of 8% or more",
        "not measured EFFICIENCY.LOW_MFU: FLOPs of a step",
    ],
)
def test_what_could_not_be_told_is_never_silent(said):
    assert said in flat(samples.troubled())


def test_a_check_without_a_reason_is_still_listed():
    report = samples.report(checks=(Check("A.B", Outcome.INCONCLUSIVE),))
    assert "inconclusive A.B: no reason given" in flat(report)


def test_checks_with_one_reason_share_a_line():
    checks = tuple(Check(f"A.{c}", Outcome.NOT_MEASURED, "a trace") for c in "XYZ")
    assert "not measured A.X, A.Y, A.Z: a trace" in flat(samples.report(checks=checks))


def test_what_does_not_apply_is_for_the_verbose():
    said = ("not applicable ACME.ELSEWHERE: one rank", "disabled ACME.OFF: ignored")
    for words in said:
        assert words in flat(samples.troubled(), verbose=True)
        assert words not in flat(samples.troubled())


def test_passed_checks_are_listed_on_demand():
    assert "passed COVERAGE.NOT_FINISHED" in flat(samples.report(), show_passed=True)
    assert "passed COVERAGE.NOT_FINISHED" not in flat(samples.report())
