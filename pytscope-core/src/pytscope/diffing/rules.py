"""Findings of several runs side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pytscope.model.comparison import ComparedRule
from pytscope.model.findings import Finding, Severity
from pytscope.model.report import Outcome, Report


def compared_rules(reports: Sequence[Report]) -> tuple[ComparedRule, ...]:
    """Rules with a finding in any run, the gravest first."""
    outcomes = [{check.rule: check.outcome for check in report.checks} for report in reports]
    found: dict[str, list[list[Finding]]] = {}
    for place, report in enumerate(reports):
        for finding in report.findings:
            runs = found.setdefault(finding.rule, [[] for _ in reports])
            runs[place].append(finding)
    rows = (_row(rule, runs, outcomes) for rule, runs in found.items())
    return tuple(sorted(rows, key=lambda row: (min(_orders(row)), row.rule)))


def counted(report: Report) -> Mapping[Outcome, int]:
    """Number of rules by what became of them."""
    by = Counter(check.outcome for check in report.checks)
    return {outcome: by[outcome] for outcome in Outcome if by[outcome]}


def _row(
    rule: str, runs: Sequence[Sequence[Finding]], outcomes: Sequence[dict[str, Outcome]]
) -> ComparedRule:
    return ComparedRule(
        rule=rule,
        outcomes=tuple(known.get(rule, Outcome.NOT_MEASURED) for known in outcomes),
        severities=tuple(_gravest(findings) for findings in runs),
        costs_s=tuple(_cost(findings) for findings in runs),
        title=next(finding.title for findings in runs for finding in findings),
    )


def _gravest(findings: Sequence[Finding]) -> Severity | None:
    return min((f.severity for f in findings), key=lambda s: s.order, default=None)


def _cost(findings: Sequence[Finding]) -> float | None:
    known = [f.cost_s.value for f in findings if f.cost_s is not None]
    return sum(known) if known else None


def _orders(row: ComparedRule) -> list[int]:
    return [severity.order for severity in row.severities if severity is not None]


def gained(rules: Sequence[ComparedRule], arms: Sequence[int]) -> tuple[str, ...]:
    """Rules that passed in every run of the first arm and fired in one of the second."""
    return tuple(rule.rule for rule in rules if _only_in(rule, arms, 1))


def lost(rules: Sequence[ComparedRule], arms: Sequence[int]) -> tuple[str, ...]:
    """Rules that fired in a run of the first arm and passed in every one of the second."""
    return tuple(rule.rule for rule in rules if _only_in(rule, arms, 0))


def _only_in(rule: ComparedRule, arms: Sequence[int], arm: int) -> bool:
    """Whether one arm has it and the other was looked at and has not.

    A rule that could not be evaluated in the other arm was neither gained nor lost.
    """
    mine = [o for o, a in zip(rule.outcomes, arms, strict=True) if a == arm]
    other = [o for o, a in zip(rule.outcomes, arms, strict=True) if a != arm]
    return Outcome.FINDING in mine and all(o is Outcome.PASSED for o in other)
