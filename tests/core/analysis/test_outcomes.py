from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytscope import (
    Cost,
    Evidence,
    Finding,
    Inconclusive,
    NotApplicable,
    NotMeasured,
    Outcome,
    PluginError,
    RenderOptions,
    Rule,
    Run,
    Severity,
)
from pytscope.analysis.answers import compute
from pytscope.analysis.orchestrator import analyze
from pytscope.analysis.outcomes import MOST_FINDINGS, Checked, check_rule, disabled
from pytscope.plugins.entries import RegisteredRule
from pytscope.plugins.guarded import render
from pytscope.plugins.isolation import Guard
from pytscope.plugins.loading import load_builtins
from pytscope.plugins.registry import build_registry
from pytscope.testing import make_run
from tests.core.plugins.made import plugin, registry

RUN = make_run({"data": 1}, steps=3)


def finding(**fields: Any) -> Finding:
    return Finding(**{"severity": Severity.LOW, "title": "t", **fields})


def registered(check: Callable[..., Any]) -> RegisteredRule:
    return registry(Rule("A.B", check, "1.0", aliases=("A.OLD",))).rules["A.B"]


def checked(body: Callable[[], Any], *, reraise: bool = False) -> Checked:
    def check(run: Run, *, least: int = 3) -> Any:
        return body()

    answers, _ = compute(RUN, registry(), Guard())
    return check_rule(registered(check), answers, {"least": 3}, Guard(reraise))


class Unspeakable:
    """It cannot be printed, compared or hashed."""

    def __repr__(self) -> str:
        raise SystemExit("no words")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        raise RuntimeError("hash")


UNION = "finding.evidence[0].value must be float or int or str, not Unspeakable"


def raising(error: BaseException) -> Any:
    raise error


def test_findings_get_the_rules_id() -> None:
    result = checked(lambda: [finding(), finding(rule="A.B"), finding(rule="A.OLD")])
    assert result.check.outcome is Outcome.FINDING
    assert result.check.thresholds == {"least": 3}
    assert [f.rule for f in result.findings] == ["A.B"] * 3
    assert result.problems == ()


def test_sets_get_an_order() -> None:
    (found,) = checked(lambda: [finding(explains={"B.B", "A.A"}, ranks=[3, 1, 3])]).findings
    assert found.explains == ("A.A", "B.B")
    assert found.ranks == (1, 3)


def test_a_foreign_id_is_corrected_and_told() -> None:
    result = checked(lambda: [finding(rule="TIMING.JITTER")])
    assert [f.rule for f in result.findings] == ["A.B"]
    (problem,) = result.problems
    assert problem.message == (
        "a finding calls itself 'TIMING.JITTER'; it is reported under the rule's own id"
    )


@pytest.mark.parametrize("returned", [None, [], (), iter(())])
def test_nothing_found_is_passed(returned: Any) -> None:
    result = checked(lambda: returned)
    assert result.check.outcome is Outcome.PASSED
    assert result.findings == ()


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (NotMeasured("a clock"), Outcome.NOT_MEASURED),
        (NotApplicable("one rank"), Outcome.NOT_APPLICABLE),
        (Inconclusive("3 ms"), Outcome.INCONCLUSIVE),
    ],
)
def test_an_abstention_is_an_outcome(error: Exception, outcome: Outcome) -> None:
    check = checked(lambda: raising(error)).check
    assert (check.outcome, check.reason) == (outcome, str(error))


def late(error: BaseException) -> Iterator[Finding]:
    yield finding()
    raise error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SystemExit(3), "called sys.exit(3)"),
        (ValueError("late"), "ValueError: late"),
        (RecursionError("deep"), "RecursionError: deep"),
    ],
)
def test_a_rule_that_fails_after_a_finding_has_none(error: BaseException, message: str) -> None:
    result = checked(lambda: late(error))
    assert result.check.outcome is Outcome.ERROR
    assert result.check.reason == message
    assert result.findings == ()
    (problem,) = result.problems
    assert (problem.plugin, problem.stage, problem.message) == ("acme", "rule A.B", message)


def test_an_abstention_after_a_finding_stands() -> None:
    result = checked(lambda: late(NotApplicable("after all")))
    assert result.check.outcome is Outcome.NOT_APPLICABLE
    assert result.findings == ()


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (finding(), "it returned Finding; yield findings or return a list of them"),
        (3, "it returned int; yield findings or return a list of them"),
        ("text", "finding must be Finding, not str"),
        ([None], "finding must be Finding, not NoneType"),
        ([finding(severity="high")], "finding.severity must be a Severity, not str"),
        ([finding(cost_s=float("nan"))], "finding.cost_s must be finite, not nan"),
        ([finding(cost_s=float("-inf"))], "finding.cost_s must be finite, not -inf"),
        (
            [finding(cost_s=Cost(1.0, low=float("nan")))],
            "finding.cost_s must be finite, not nan",
        ),
        ([finding(cost_s=-2.5)], "finding.cost_s must not be negative, as -2.5 is"),
        ([finding(title=Unspeakable())], "finding.title must be str, not Unspeakable"),
        ([finding(evidence=[("m", Unspeakable())])], UNION),
        ([finding(ranks=[10**30])], "finding.ranks[0] must be a whole number of 64 bits"),
        ({"A.B": finding()}, "finding must be Finding, not str"),
        (Unspeakable(), "it returned Unspeakable; yield findings or return a list of them"),
        ([finding(explains="A.B")], "finding.explains must be a list of rule ids; 'A' is none"),
        (
            [finding(steps=[(9, 3)])],
            "finding.steps must be ranges that do not end before they start",
        ),
    ],
)
def test_what_is_no_finding_is_an_error(returned: Any, message: str) -> None:
    result = checked(lambda: returned)
    assert result.check.outcome is Outcome.ERROR
    assert result.check.reason == message


def test_a_rule_without_end_is_cut_off() -> None:
    def endless() -> Iterator[Finding]:
        while True:
            yield finding()

    assert checked(endless).check.reason == f"it yields more than {MOST_FINDINGS} findings"


def test_authors_may_have_it_raised() -> None:
    with pytest.raises(PluginError, match=r"rule A\.B: ValueError: no"):
        checked(lambda: raising(ValueError("no")), reraise=True)


def nothing(run: Run) -> None:
    """Finds nothing."""


def test_a_disabled_rule() -> None:
    check = disabled(registered(nothing), {"least": 3}, "ignored").check
    assert (check.rule, check.outcome, check.reason) == ("A.B", Outcome.DISABLED, "ignored")
    assert check.thresholds == {"least": 3}


HOSTILE = ["\x1b[2J\x07", "\ud800 lone", "two\nlines", "\u202e reversed", "x" * 99_999, "", "\x00"]


@pytest.mark.parametrize("text", HOSTILE, ids=[ascii(t[:12]) for t in HOSTILE])
def test_any_text_may_be_found_and_every_reporter_draws_it(text: str) -> None:
    def check(run: Run) -> list[Finding]:
        row = Evidence(text, text, text, steps=(1, 2), rank=3)
        return [finding(title=text, detail=text, fix=text, verify=text, evidence=[row])]

    made = build_registry(
        [load_builtins(Guard(reraise=True)), plugin(rules=[Rule("A.B", check, "1")])]
    )
    report = analyze(RUN, made)
    assert report.problems == ()
    assert "A.B" in [f.rule for f in report.findings]
    for name in made.reporters:
        drawn, shown = render(made.reporters, name, report, RenderOptions(verbose=True))
        assert shown is report, name
        drawn.encode()
        assert drawn.replace("\n", "").isprintable(), name
