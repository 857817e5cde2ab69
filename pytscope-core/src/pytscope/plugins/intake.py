"""Examine what plugins declared, settle conflicts, and collect what is accepted.

Plugins are taken one after the other, the built-ins first: the first owner of
a name or type keeps it, and the later one becomes a problem that names both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import attrs

from pytscope.model.report import PluginInfo, PluginState, Problem
from pytscope.plugins.admission import admit, page_of
from pytscope.plugins.declare import Analyzer, Reporter, Rule, Source
from pytscope.plugins.entries import (
    Registered,
    RegisteredAnalyzer,
    RegisteredReporter,
    RegisteredRule,
)
from pytscope.plugins.guarded import guarded_source
from pytscope.plugins.hookspecs import HOOKS
from pytscope.plugins.isolation import Failure, Guard, Origin, Refusal
from pytscope.plugins.loading import LoadedPlugin
from pytscope.plugins.needs import Need, read_needs, read_provided
from pytscope.plugins.thresholds import read_thresholds

T = TypeVar("T")
E = TypeVar("E", bound=Registered)


@attrs.define(eq=False)
class Intake:
    """The parts of a registry while it is being built.

    Attributes:
        guard: Calls into plugins; what it notes of sources comes later on.
        rules: Accepted rules by id.
        analyzers: Accepted analyzers by name.
        reporters: Accepted reporters by name.
        sources: Accepted sources by name, guarded.
        withheld: For types whose analyzer was refused: why there is none.
        problems: What went wrong.
        plugins: One row a plugin taken.
    """

    guard: Guard
    rules: dict[str, RegisteredRule] = attrs.field(factory=dict)
    analyzers: dict[str, RegisteredAnalyzer] = attrs.field(factory=dict)
    reporters: dict[str, RegisteredReporter] = attrs.field(factory=dict)
    sources: dict[str, Source] = attrs.field(factory=dict)
    withheld: dict[type, str] = attrs.field(factory=dict)
    problems: list[Problem] = attrs.field(factory=list)
    plugins: list[PluginInfo] = attrs.field(factory=list)
    _owners: dict[tuple[str, Any], Origin] = attrs.field(factory=dict)

    def take(self, loaded: LoadedPlugin) -> None:
        """Examine one loaded plugin and keep what can be kept."""
        origin = loaded.origin
        before = len(self.problems)
        self.problems += loaded.problems
        kept = {kind: self._kept(loaded, hook) for hook, (kind, _) in HOOKS.items()}
        registers = {kind: tuple(sorted(e)) for kind, e in kept.items() if e}
        problems = self.problems[before:]
        broken = bool(problems) and not registers
        row = (
            origin.row(PluginState.BROKEN, problems[0].message)
            if broken
            else origin.row(PluginState.LOADED)
        )
        info = attrs.evolve(row, registers=registers, load_ns=loaded.load_ns)
        self.plugins.append(info)
        self.sources |= kept["sources"]
        self.analyzers |= _owned(kept["analyzers"], info)
        self.rules |= _owned(kept["rules"], info)
        self.reporters |= _owned(kept["reporters"], info)

    def _kept(self, loaded: LoadedPlugin, hook: str) -> dict[str, Any]:
        kind, wanted = HOOKS[hook]
        origin = loaded.origin
        examiners: dict[str, Callable[[Origin, Any], Any]] = {
            "sources": self._source,
            "analyzers": self._analyzer,
            "rules": self._rule,
            "reporters": self._reporter,
        }
        examine = examiners[kind]
        kept: dict[str, Any] = {}
        for item in loaded.declared.get(kind, ()):
            plain: Any = self._guarded(origin, hook, partial(admit, item, wanted))
            if plain is None:
                continue
            name = plain.id if isinstance(plain, Rule) else plain.name
            stage = f"{wanted.__name__.lower()} {name}"
            entry = self._guarded(origin, stage, partial(examine, origin, plain))
            if entry is not None:
                kept[name] = entry
        return kept

    def _source(self, origin: Origin, source: Source) -> Source:
        self._claim(origin, "source", source.name)
        return guarded_source(source, origin, self.guard)

    def _reporter(self, origin: Origin, reporter: Reporter) -> RegisteredReporter:
        self._claim(origin, "reporter", reporter.name)
        return RegisteredReporter(reporter, owner=_provisional(origin))

    def _analyzer(self, origin: Origin, analyzer: Analyzer) -> RegisteredAnalyzer:
        provides, optional = read_provided(analyzer)
        self._must_be_free("analyzer", analyzer.name)
        self._must_be_free("an analyzer of", provides)
        wants = self._wants(analyzer, provides)
        self._claim(origin, "analyzer", analyzer.name)
        self._claim(origin, "an analyzer of", provides)
        owner = _provisional(origin)
        return RegisteredAnalyzer(analyzer, wants, provides, optional, owner=owner)

    def _wants(self, analyzer: Analyzer, provides: type) -> tuple[Need, ...]:
        try:
            return read_needs(analyzer.compute, analyzer.needs)
        except Refusal:
            self.withheld[provides] = f"its analyzer {analyzer.name} was refused"
            raise

    def _rule(self, origin: Origin, rule: Rule) -> RegisteredRule:
        self._must_be_free("rule id", rule.id)
        wants = read_needs(rule.check, rule.needs)
        thresholds = read_thresholds(rule.check)
        page = page_of(rule)
        self._claim(origin, "rule id", rule.id)
        stage = f"rule {rule.id}"
        free = tuple(
            alias
            for alias in rule.aliases
            if self._guarded(origin, stage, partial(self._claim, origin, "rule id", alias))
        )
        plain = attrs.evolve(rule, aliases=free)
        return RegisteredRule(plain, wants, thresholds, page, owner=_provisional(origin))

    def _guarded(self, origin: Origin, stage: str, call: Callable[[], T]) -> T | None:
        result = self.guard(origin, stage, call)
        if type(result) is Failure:
            self.problems.append(result.problem)
            return None
        return result

    def _must_be_free(self, what: str, key: str | type) -> None:
        owner = self._owners.get((what, key))
        if owner is not None:
            shown = key.__name__ if isinstance(key, type) else key
            msg = f"{what} {shown} is already registered by {owner}, which keeps it"
            raise Refusal(msg)

    def _claim(self, origin: Origin, what: str, key: str | type) -> bool:
        self._must_be_free(what, key)
        self._owners[what, key] = origin
        return True


def _provisional(origin: Origin) -> PluginInfo:
    """An owner to hold the place until all that it registers is known."""
    return origin.row(PluginState.LOADED)


def _owned(entries: dict[str, E], owner: PluginInfo) -> dict[str, E]:
    return {name: attrs.evolve(entry, owner=owner) for name, entry in entries.items()}
