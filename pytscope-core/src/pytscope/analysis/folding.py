"""Order findings, and fold those that another one accounts for under it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pytscope.model.findings import Finding, StepRange
from pytscope.model.report import FoldedFinding

ENDED = "COVERAGE.NOT_FINISHED"
"""Rule of what ended the run: the first of its severity, for no seconds tell what is not there."""
COVERED = 0.5
"""Share of a finding's cost, or of its steps, that the other one has to cover."""


def fold(
    findings: Iterable[Finding], rule_names: Mapping[str, str] | None = None
) -> tuple[FoldedFinding, ...]:
    """Findings by importance, each with those folded under it.

    Findings that one accounts for are one row, so that no second of theirs is
    counted in two rows. The one that accounts for the others heads it: the cause
    is what to act on. The row stands where the gravest of them would, so that
    nothing grave is hidden under what matters less. A finding that folds under one
    that folds itself goes to the outermost; of findings that explain each other
    the most important one stays.

    Args:
        findings: Findings with their rule ids.
        rule_names: Rule ids by former ids, for `explains` that use those.
    """
    # The text decides ties, so that a rule that walks over a set cannot shuffle a report.
    ordered = sorted(findings, key=lambda f: (*_key(f), f.ranks, repr(f)))
    parents = [_parent(i, ordered, rule_names or {}) for i in range(len(ordered))]
    groups: dict[int, list[int]] = {}
    for place in range(len(ordered)):
        groups.setdefault(_root(place, parents), []).append(place)
    return tuple(
        FoldedFinding(ordered[root], tuple(ordered[i] for i in group if i != root))
        for root, group in groups.items()
    )


def _key(finding: Finding) -> tuple[object, ...]:
    severity, *rest = finding.sort_key
    return (severity, finding.rule != ENDED, *rest)


def covers(outer: Finding, inner: Finding) -> bool:
    """Whether a finding accounts for most of another's cost or, without one, of its steps.

    A finding without steps concerns all of them. An inner finding with neither
    cost nor steps is covered.
    """
    if inner.cost_s is not None:
        return outer.cost_s is not None and outer.cost_s.value >= COVERED * inner.cost_s.value
    if not inner.steps or not outer.steps:
        return True
    return _common(outer.steps, inner.steps) >= COVERED * _count(inner.steps)


def _parent(place: int, findings: Sequence[Finding], rule_names: Mapping[str, str]) -> int | None:
    inner = findings[place]
    for i, outer in enumerate(findings):
        explained = {rule_names.get(name, name) for name in outer.explains} - {outer.rule}
        if inner.rule in explained and covers(outer, inner):
            return i
    return None


def _root(place: int, parents: Sequence[int | None]) -> int:
    path = [place]
    while (parent := parents[path[-1]]) is not None:
        if parent in path:
            return min(path[path.index(parent) :])
        path.append(parent)
    return path[-1]


def _count(ranges: Sequence[StepRange]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def _common(ours: Sequence[StepRange], theirs: Sequence[StepRange]) -> int:
    """Number of steps in both; ranges of one side are disjoint."""
    return sum(max(0, min(b, d) - max(a, c) + 1) for a, b in ours for c, d in theirs)
