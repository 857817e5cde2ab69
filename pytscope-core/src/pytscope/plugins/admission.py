"""Rebuild declared objects as plain ones whose fields are what they claim to be.

After this no attribute of a declared object runs plugin code; only the
functions that the guard calls do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytscope.model.escaping import visible
from pytscope.plugins.declare import RULE_ID, Analyzer, Reporter, Rule, Source
from pytscope.plugins.isolation import Refusal

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def admit(item: Any, wanted: type) -> Any:
    """A declared object, rebuilt.

    Args:
        item: What a hook returned.
        wanted: `Rule`, `Analyzer`, `Reporter` or `Source`.

    Raises:
        Refusal: It is something else, or one of its fields is.
    """
    if not isinstance(item, wanted):
        msg = f"it returned a {type(item).__name__} where a {wanted.__name__} belongs"
        hint = f"; decorate it with @{wanted.__name__.lower()}(…)" if callable(item) else ""
        raise Refusal(msg + hint)
    return _BUILD[wanted](item)


def page_of(rule: Rule) -> str:
    """A rule's docstring, escaped; line breaks stay."""
    return visible(rule.page, keep="\n")


def _rule(item: Rule) -> Rule:
    names: tuple[Any, ...] = (item.id, *item.aliases)
    for name in names:
        if not isinstance(name, str) or not RULE_ID.fullmatch(name):
            msg = f"rule id {name!r} must look like AREA.NAME, in capitals"
            raise Refusal(msg)
    plain = tuple(str.__str__(n) for n in names)
    since = _text(f"since of rule {plain[0]}", item.since)
    check = _callable(f"check of rule {plain[0]}", item.check)
    return Rule(plain[0], check, since, plain[1:], _overrides(item.needs))


def _analyzer(item: Analyzer) -> Analyzer:
    name = _name("analyzer", item.name)
    compute = _callable(f"compute of analyzer {name}", item.compute)
    return Analyzer(name, compute, item.provides, _overrides(item.needs))


def _reporter(item: Reporter) -> Reporter:
    name = _name("reporter", item.name)
    render = _callable(f"render of reporter {name}", item.render)
    compare = item.compare
    if compare is not None:
        compare = _callable(f"compare of reporter {name}", compare)
    check = item.check
    if check is not None:
        check = _callable(f"check of reporter {name}", check)
    return Reporter(name, render, compare, check)


def _source(item: Source) -> Source:
    name = _name("source", item.name)
    detects = _callable(f"detects of source {name}", item.detects)
    return Source(name, detects, _callable(f"open of source {name}", item.open))


_BUILD: Mapping[type, Any] = {
    Rule: _rule,
    Analyzer: _analyzer,
    Reporter: _reporter,
    Source: _source,
}


def _text(what: str, value: Any) -> str:
    if not isinstance(value, str):
        msg = f"{what} must be text, not {type(value).__name__}"
        raise Refusal(msg)
    return str.__str__(value)


def _name(kind: str, value: Any) -> str:
    name = _text(f"the name of its {kind}", value)
    if not NAME.fullmatch(name):
        msg = f"{kind} name {name!r} may hold letters, digits and ._- only"
        raise Refusal(msg)
    return name


def _callable(what: str, value: Any) -> Any:
    if not callable(value):
        msg = f"{what} must be a function, not {type(value).__name__}"
        raise Refusal(msg)
    return value


def _overrides(needs: Any) -> dict[str, Any]:
    if not isinstance(needs, Mapping):
        msg = f"needs must map parameters to types, not be a {type(needs).__name__}"
        raise Refusal(msg)
    return {_text("a key of needs", name): needs[name] for name in needs}
