"""Which rules to check, and with which thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytscope.analysis.options import AnalyzeOptions
from pytscope.model.errors import UsageError
from pytscope.model.wording import did_you_mean
from pytscope.plugins.entries import RegisteredRule
from pytscope.plugins.registry import Registry
from pytscope.plugins.thresholds import effective


def disabled_rules(registry: Registry, options: AnalyzeOptions) -> dict[str, str]:
    """The rules not to check, and why.

    Raises:
        UsageError: A pattern of `select` or `ignore` names no rule.
    """
    selected = {i for pattern in options.select for i in registry.resolve_rule_ids(pattern)}
    reasons = {
        rule_id: "not among the selected rules"
        for rule_id in registry.rules
        if options.select and rule_id not in selected
    }
    for pattern in options.ignore:
        for rule_id in registry.resolve_rule_ids(pattern):
            reasons[rule_id] = f"ignored by {pattern!r}"
    return reasons


def threshold_values(registry: Registry, options: AnalyzeOptions) -> dict[str, dict[str, Any]]:
    """Every rule's thresholds as they apply.

    Raises:
        UsageError: A rule or threshold is unknown, or a value does not fit.
    """
    names = registry.rule_names
    given: dict[str, dict[str, Any]] = {}
    for name, values in options.thresholds.items():
        if name not in names:
            msg = f"thresholds are set for {name!r}, which is no rule{did_you_mean(name, names)}"
            raise UsageError(msg)
        given.setdefault(names[name], {}).update(values)
    return {
        rule_id: _effective(registered, given.get(rule_id, {}))
        for rule_id, registered in registry.rules.items()
    }


def _effective(registered: RegisteredRule, given: Mapping[str, Any]) -> dict[str, Any]:
    rule_id = registered.rule.id
    known = [t.name for t in registered.thresholds]
    for key in given:
        if key not in known:
            msg = f"rule {rule_id} has no threshold {key!r}{did_you_mean(key, known)}"
            hint = f"It has: {', '.join(map(str, registered.thresholds)) or 'none'}."
            raise UsageError(msg, hint=hint)
    try:
        return dict(effective(registered.thresholds, given))
    except ValueError as error:
        msg = f"threshold {rule_id}.{error}"
        raise UsageError(msg) from error
