"""`pytscope explain`: a rule's page, its thresholds, how to set them; the rules there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from pytscope.cli.presentation import presentation_options

if TYPE_CHECKING:
    from pytscope.plugins.entries import RegisteredRule
    from pytscope.plugins.needs import Need
    from pytscope.plugins.registry import Registry


@click.command()
@click.argument("rule", required=False)
@presentation_options
def explain(rule: str | None) -> int:
    """Explain a RULE by its id, such as TIMING.JITTER, in any case.

    An area, such as TIMING, lists the rules in it; without a RULE all are listed.
    """
    from pytscope.cli.page import print_page
    from pytscope.cli.selection import selected_registry
    from pytscope.cli.shadowing import warn_of_other_distribution

    warn_of_other_distribution()
    registry = selected_registry(None, ())
    answer = _list([*registry.rules.values()]) if rule is None else _answer(rule, registry)
    print_page("\n".join(answer))
    return 0


def _answer(given: str, registry: Registry) -> Iterator[str]:
    area = f"{given.strip().upper()}."
    inside = [r for rule_id, r in registry.rules.items() if rule_id.startswith(area)]
    return _list(inside) if inside else _page(_find(given, registry))


def _list(rules: list[RegisteredRule]) -> Iterator[str]:
    """Every rule with the first sentence of its page."""
    if not rules:
        yield "There are no rules: see 'pytscope plugins'."
        return
    longest = max(len(registered.rule.id) for registered in rules)
    for registered in rules:
        yield f"{registered.rule.id:<{longest}}  {_first_sentence(registered.page)}".rstrip()
    yield ""
    yield f"More of one: pytscope explain {rules[0].rule.id}"


def _first_sentence(page: str) -> str:
    paragraph = " ".join(page.partition("\n\n")[0].split())
    sentence, dot, _ = paragraph.partition(". ")
    return sentence + dot.strip()


def _find(name: str, registry: Registry) -> RegisteredRule:
    from pytscope.model.errors import UsageError
    from pytscope.model.wording import did_you_mean

    names = registry.rule_names
    rule_id = names.get(name.strip().upper())
    if rule_id is None:
        areas = {known.partition(".")[0] for known in registry.rules}
        msg = f"there is no rule {name!r}{did_you_mean(name, {*names, *areas})}"
        raise UsageError(msg, hint=f"{_missing(registry)}Rules: see 'pytscope explain'.")
    return registry.rules[rule_id]


def _missing(registry: Registry) -> str:
    """Plugins that may bring a rule, but are not loaded; with the reason."""
    from pytscope.model.report import PluginState

    absent = [p for p in registry.plugins if p.state is not PluginState.LOADED]
    named = "; ".join(f"{p.name} ({p.reason or p.state.value})" for p in absent)
    return f"Not loaded: {named}. " if named else ""


def _page(registered: RegisteredRule) -> Iterator[str]:
    rule = registered.rule
    yield rule.id
    yield f"since {rule.since}, by {registered.origin}"
    if rule.aliases:
        yield f"formerly {', '.join(rule.aliases)}"
    yield ""
    yield registered.page or "It has no page."
    yield ""
    yield "Needs"
    for need in registered.wants:
        yield f"    {need.parameter}: {_need(need)}"
    if not registered.wants:
        yield "    nothing"
    yield ""
    yield "Thresholds"
    for threshold in registered.thresholds:
        yield f"    {threshold}"
    if not registered.thresholds:
        yield "    none"
        return
    sample = registered.thresholds[0]
    yield ""
    yield "Set them in pyproject.toml or pytscope.toml:"
    yield f'    [tool.pytscope.rules."{rule.id}"]'
    yield f"    {sample.name} = {_toml(sample.default)}"
    yield "or for one analysis:"
    yield f"    pytscope analyze RUN --set {rule.id}.{sample.name}={_plain(sample.default)}"


def _need(need: Need) -> str:
    """A need in words: `Timing`, `Budget, optional`, `every BudgetPart`."""
    from pytscope.plugins.needs import Kind

    name = need.type.__name__
    return {Kind.EVERY: f"every {name}", Kind.OPTIONAL: f"{name}, optional"}.get(need.kind, name)


def _toml(value: object) -> str:
    import json

    return json.dumps(value)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
