"""Plugins made in the test, loaded as the host loads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytscope import Analyzer, Reporter, Rule, Source
from pytscope.plugins.isolation import Origin
from pytscope.plugins.loading import LoadedPlugin
from pytscope.plugins.registry import Registry, build_registry

ACME = Origin("acme", "acme-pack", "1.0")
OTHER = Origin("other", "other-pack", "2.0")
OWN = Origin("builtin", "pytscope-core", "0.3.0", builtin=True)


def plugin(
    origin: Origin = ACME,
    *,
    rules: Iterable[Any] = (),
    analyzers: Iterable[Any] = (),
    reporters: Iterable[Any] = (),
    sources: Iterable[Any] = (),
) -> LoadedPlugin:
    declared = {
        "rules": tuple(rules),
        "analyzers": tuple(analyzers),
        "reporters": tuple(reporters),
        "sources": tuple(sources),
    }
    return LoadedPlugin(origin, declared)


def registry(*objects: Rule | Analyzer | Reporter | Source, origin: Origin = ACME) -> Registry:
    """A registry of one plugin that declares the given objects."""
    by_type: dict[type, list[Any]] = {Rule: [], Analyzer: [], Reporter: [], Source: []}
    for item in objects:
        by_type[type(item)].append(item)
    rules, analyzers, reporters, sources = by_type.values()
    loaded = plugin(origin, rules=rules, analyzers=analyzers, reporters=reporters, sources=sources)
    return build_registry([loaded])
