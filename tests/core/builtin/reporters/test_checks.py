from __future__ import annotations

import pytest

from pytscope import analyze
from pytscope.model.report import Check, Outcome
from pytscope.testing import make_run
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


def test_of_several_ranks_the_one_that_timing_was_checked_on_is_told():
    phases = {"data": 0.1, "forward": 9}
    told = "timing checked on rank 0 of 2, data and gc on all"
    assert told in flat(analyze(make_run(phases, ranks=2)))
    assert "timing checked on" not in flat(analyze(make_run(phases)))
