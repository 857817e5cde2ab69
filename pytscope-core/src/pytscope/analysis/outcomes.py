"""Check one rule: its outcome, its findings, its problems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import attrs

from pytscope.analysis.answers import Absent, Answers, settled
from pytscope.analysis.plain import plain
from pytscope.model.findings import Cost, Finding
from pytscope.model.report import Check, Outcome, Problem
from pytscope.plugins.declare import RULE_ID
from pytscope.plugins.entries import RegisteredRule
from pytscope.plugins.isolation import Failure, Guard, Refusal

MOST_FINDINGS = 1_000
"""Findings taken from one rule: a generator without end must not hang the host."""


@attrs.frozen
class Checked:
    """What became of one rule."""

    check: Check
    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()


def check_rule(
    registered: RegisteredRule,
    answers: Answers,
    thresholds: Mapping[str, Any],
    guard: Guard,
) -> Checked:
    """Check a rule; one that fails contributes no finding at all.

    Args:
        registered: The rule.
        answers: What is known about the run.
        thresholds: The values that apply.
        guard: Calls it.
    """
    arguments = answers.arguments(registered.wants)
    result = arguments
    if type(arguments) is not Absent:
        call = partial(settled, partial(_findings, registered, arguments, thresholds))
        guarded = guard(registered.origin, registered.stage, call)
        if type(guarded) is Failure:
            check = _check(registered, thresholds, Outcome.ERROR, guarded.problem.message)
            return Checked(check, problems=(guarded.problem,))
        result = guarded
    if type(result) is Absent:
        return Checked(_check(registered, thresholds, result.outcome, result.reason))
    outcome = Outcome.FINDING if result else Outcome.PASSED
    findings = tuple(attrs.evolve(f, rule=registered.rule.id) for f in result)
    return Checked(_check(registered, thresholds, outcome), findings, _misnamed(registered, result))


def disabled(registered: RegisteredRule, thresholds: Mapping[str, Any], reason: str) -> Checked:
    """The outcome of a rule that is not to be checked."""
    return Checked(_check(registered, thresholds, Outcome.DISABLED, reason))


def _check(
    registered: RegisteredRule, thresholds: Mapping[str, Any], outcome: Outcome, reason: str = ""
) -> Check:
    return Check(registered.rule.id, outcome, reason, dict(thresholds))


def _findings(
    registered: RegisteredRule, arguments: tuple[Any, ...], thresholds: Mapping[str, Any]
) -> tuple[Finding, ...]:
    returned = registered.rule.check(*arguments, **thresholds)
    if returned is None:
        return ()
    if isinstance(returned, Finding) or not isinstance(returned, Iterable):
        msg = f"it returned {type(returned).__name__}; yield findings or return a list of them"
        raise Refusal(msg)
    findings: list[Finding] = []
    for item in returned:
        if len(findings) == MOST_FINDINGS:
            msg = f"it yields more than {MOST_FINDINGS} findings"
            raise Refusal(msg)
        findings.append(_admitted(item))
    return tuple(findings)


def _admitted(item: object) -> Finding:
    """A finding whose fields are what sorting and reporters take them for."""
    finding = plain(item, Finding, "finding")
    if finding.cost_s is not None:
        _must_be_seconds(finding.cost_s)
    if wrong := [name for name in finding.explains if not RULE_ID.fullmatch(name)]:
        msg = f"finding.explains must be a list of rule ids; {wrong[0]!r} is none"
        raise Refusal(msg)
    if any(first > last for first, last in finding.steps):
        msg = "finding.steps must be ranges that do not end before they start"
        raise Refusal(msg)
    # Rules may give these as sets, whose order changes from run to run.
    explains, ranks = sorted(set(finding.explains)), sorted(set(finding.ranks))
    return attrs.evolve(finding, explains=explains, ranks=ranks)


def _must_be_seconds(cost: Cost) -> None:
    given = [s for s in (cost.low, cost.value, cost.high) if s is not None]
    if not all(map(math.isfinite, given)):
        msg = f"finding.cost_s must be finite, not {next(s for s in given if not math.isfinite(s))}"
        raise Refusal(msg)
    if cost.value < 0:
        msg = f"finding.cost_s must not be negative, as {cost.value} is"
        raise Refusal(msg)


def _misnamed(registered: RegisteredRule, findings: Iterable[Finding]) -> tuple[Problem, ...]:
    """A problem for each foreign rule id in a finding; the finding keeps its own rule's."""
    own = {"", registered.rule.id, *registered.rule.aliases}
    foreign = sorted({f.rule for f in findings} - own)
    said = "a finding calls itself {!r}; it is reported under the rule's own id"
    return tuple(registered.origin.problem(registered.stage, said.format(name)) for name in foreign)
