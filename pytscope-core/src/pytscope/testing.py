"""The test kit for rules and analyzers: build a run, check a rule on it.

    from pytscope.testing import assert_fires, assert_quiet, make_run

    def test_a_slow_optimizer_is_found():
        run = make_run({"forward": 10, "optimizer": 30})
        (finding,) = assert_fires(slow_optimizer, run)
        assert finding.cost_s is not None

    def test_a_fast_one_is_not():
        assert_quiet(slow_optimizer, make_run({"forward": 10, "optimizer": 1}))

What the rule needs is computed by pytscope's own analyzers, and by those given
with `analyzers=`, resolved as in a real analysis. Failures are raised.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import attrs

from pytscope.analysis.options import AnalyzeOptions
from pytscope.analysis.orchestrator import analyze
from pytscope.model.errors import (
    Abstention,
    Inconclusive,
    NotApplicable,
    NotMeasured,
    PluginError,
)
from pytscope.model.findings import Finding
from pytscope.model.report import Outcome
from pytscope.plugins.declare import Analyzer, Rule
from pytscope.plugins.isolation import Guard, Origin
from pytscope.plugins.loading import LoadedPlugin, load_builtins
from pytscope.plugins.registry import build_registry
from pytscope.runs.building import make_run
from pytscope.runs.run import Run

__all__ = ["assert_abstains", "assert_fires", "assert_quiet", "make_run", "run_rule"]

_ABSTENTIONS: dict[Outcome, type[NotMeasured | NotApplicable | Inconclusive]] = {
    Outcome.NOT_MEASURED: NotMeasured,
    Outcome.NOT_APPLICABLE: NotApplicable,
    Outcome.INCONCLUSIVE: Inconclusive,
}


@functools.cache
def _own_analyzers() -> LoadedPlugin:
    loaded = load_builtins(Guard(reraise=True))
    return attrs.evolve(loaded, declared={"analyzers": loaded.declared["analyzers"]})


def run_rule(
    rule: Rule, run: Run, /, *, analyzers: Iterable[Analyzer] = (), **thresholds: Any
) -> list[Finding]:
    """Check a rule on a run.

    Args:
        rule: The rule.
        run: The run, such as one from `make_run`.
        analyzers: Analyzers beside pytscope's own, such as those of the pack.
        thresholds: Values of the rule's thresholds.

    Returns:
        Its findings, most important first, with the rule's id.

    Raises:
        Abstention: The rule, or an analyzer that it needs, abstains.
        PluginError: One of them fails, or cannot be registered.
        UsageError: A threshold is unknown or its value does not fit.
    """
    declared = {"rules": (rule,), "analyzers": tuple(analyzers)}
    tested = LoadedPlugin(Origin("under-test"), declared)
    registry = build_registry((_own_analyzers(), tested), guard=Guard(reraise=True))
    options = AnalyzeOptions(thresholds={rule.id: thresholds}, raise_errors=True)
    report = analyze(run, registry, options)
    (check,) = report.checks
    if check.outcome in _ABSTENTIONS:
        raise _ABSTENTIONS[check.outcome](check.reason)
    if check.outcome is Outcome.ERROR:
        raise PluginError(check.reason)
    return list(report.findings)


def assert_fires(
    rule: Rule, run: Run, /, *, analyzers: Iterable[Analyzer] = (), **thresholds: Any
) -> list[Finding]:
    """Assert that a rule has something to say; arguments as for `run_rule`.

    Returns:
        Its findings, at least one.

    Raises:
        AssertionError: It passed or abstained.
    """
    try:
        findings = run_rule(rule, run, analyzers=analyzers, **thresholds)
    except Abstention as abstention:
        msg = f"{rule.id} should fire, but it abstains: {_shown(abstention)}"
        raise AssertionError(msg) from abstention
    if not findings:
        msg = f"{rule.id} should fire, but it passed"
        raise AssertionError(msg)
    return findings


def assert_quiet(
    rule: Rule, run: Run, /, *, analyzers: Iterable[Analyzer] = (), **thresholds: Any
) -> None:
    """Assert that a rule decides, and finds nothing; arguments as for `run_rule`.

    Raises:
        AssertionError: It found something, or abstained, which is not the same
            as finding nothing.
    """
    try:
        findings = run_rule(rule, run, analyzers=analyzers, **thresholds)
    except Abstention as abstention:
        msg = f"{rule.id} should pass, but it abstains: {_shown(abstention)}"
        raise AssertionError(msg) from abstention
    if findings:
        titles = "; ".join(f.title for f in findings)
        msg = f"{rule.id} should pass, but it says: {titles}"
        raise AssertionError(msg)


def assert_abstains(
    rule: Rule,
    run: Run,
    kind: type[Abstention] = Abstention,
    /,
    *,
    analyzers: Iterable[Analyzer] = (),
    **thresholds: Any,
) -> str:
    """Assert that a rule abstains; arguments as for `run_rule`.

    Args:
        rule: The rule.
        run: The run.
        kind: `NotMeasured`, `NotApplicable` or `Inconclusive`, or any of them.
        analyzers: Analyzers beside pytscope's own.
        thresholds: Values of the rule's thresholds.

    Returns:
        The reason it gives.

    Raises:
        AssertionError: It decides, or abstains in another way.
    """
    try:
        findings = run_rule(rule, run, analyzers=analyzers, **thresholds)
    except Abstention as abstention:
        if isinstance(abstention, kind):
            return str(abstention)
        msg = f"{rule.id} should raise {kind.__name__}, but it raises {_shown(abstention)}"
        raise AssertionError(msg) from abstention
    msg = f"{rule.id} should abstain, but it {'fires' if findings else 'passed'}"
    raise AssertionError(msg)


def _shown(abstention: Abstention) -> str:
    return f"{type(abstention).__name__}: {abstention}"
