"""The registry: everything accepted from the built-ins and the plugins."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping

import attrs
from packaging.utils import canonicalize_name

from pytscope.model.errors import UsageError
from pytscope.model.report import PluginInfo, PluginState, Problem
from pytscope.model.wording import did_you_mean
from pytscope.plugins.declare import Source
from pytscope.plugins.discovery import Advertised, find_plugins, unknown_names
from pytscope.plugins.entries import RegisteredAnalyzer, RegisteredReporter, RegisteredRule
from pytscope.plugins.intake import Intake
from pytscope.plugins.isolation import Guard
from pytscope.plugins.listing import explained
from pytscope.plugins.loading import LoadedPlugin, load, load_builtins
from pytscope.plugins.ordering import in_order
from pytscope.plugins.selection import PluginSelection


@attrs.frozen(eq=False)
class Registry:
    """What is registered, in the orders in which it is used.

    Attributes:
        rules: By id, sorted.
        analyzers: By name, each after those it needs.
        reporters: By name, sorted.
        sources: In the order in which they are asked.
        problems: What went wrong while it was built.
        plugins: Every advertised plugin, the built-ins first.
        withheld: For types whose analyzer was refused: why there is none.
        guard: Called the plugins, and calls the sources.
    """

    rules: Mapping[str, RegisteredRule]
    analyzers: Mapping[str, RegisteredAnalyzer]
    reporters: Mapping[str, RegisteredReporter]
    sources: tuple[Source, ...]
    problems: tuple[Problem, ...] = ()
    plugins: tuple[PluginInfo, ...] = ()
    withheld: Mapping[type, str] = attrs.field(factory=dict, repr=False)
    guard: Guard = attrs.field(factory=Guard, repr=False)

    @property
    def late(self) -> tuple[Problem, ...]:
        """What failed, or was changed, while a run was opened."""
        return tuple(self.guard.noted)

    @property
    def rule_names(self) -> Mapping[str, str]:
        """Rule ids by every name they answer to: the ids and their aliases."""
        names = {rule_id: rule_id for rule_id in self.rules}
        for rule_id, registered in self.rules.items():
            names.update(dict.fromkeys(registered.rule.aliases, rule_id))
        return names

    def resolve_rule_ids(self, pattern: str) -> tuple[str, ...]:
        """The rules that a pattern names.

        Args:
            pattern: An id, a former id, an area such as `TIMING`, or a glob
                such as `TIMING.*`.

        Returns:
            Rule ids, sorted; at least one.

        Raises:
            UsageError: It names none; says the closest name.
        """
        names = self.rule_names
        areas = {name.partition(".")[0] for name in self.rules}
        glob = f"{pattern}.*" if pattern in areas else pattern
        found = {rule_id for name, rule_id in names.items() if fnmatch.fnmatchcase(name, glob)}
        if not found:
            msg = f"no rule matches {pattern!r}{did_you_mean(pattern, {*names, *areas})}"
            raise UsageError(msg)
        return tuple(sorted(found))


def load_registry(
    selection: PluginSelection | None = None, *, raise_errors: bool = False
) -> Registry:
    """Find, load and register the built-ins and the selected plugins.

    Args:
        selection: Which plugins to load; all by default.
        raise_errors: Raise a `PluginError` at the first failure of a plugin.
    """
    chosen, guard = selection or PluginSelection(), Guard(raise_errors)
    advertised, problems = find_plugins()
    rows = [(p, _left_out(p, chosen)) for p in advertised]
    built_in = load_builtins(guard)
    loaded = [load(p, guard) for p, row in rows if row is None]
    unfit = (
        p.origin.problem("find", f"it {row.reason}; it was not loaded")
        for p, row in rows
        if row is not None and row.state is PluginState.INCOMPATIBLE
    )
    return build_registry(
        (built_in, *loaded),
        listed=[row for _, row in rows if row is not None],
        problems=(*problems, *unknown_names(chosen, advertised), *unfit),
        guard=guard,
    )


def _left_out(plugin: Advertised, selection: PluginSelection) -> PluginInfo | None:
    """The listing's row of a plugin that is not to be loaded."""
    origin = plugin.origin
    refusal = selection.refusal(origin.plugin, origin.distribution)
    state = PluginState.DISABLED if refusal else PluginState.INCOMPATIBLE
    reason = refusal or plugin.incompatible
    if not reason:
        return None
    return origin.row(state, reason)


def build_registry(
    loaded: Iterable[LoadedPlugin],
    *,
    listed: Iterable[PluginInfo] = (),
    problems: Iterable[Problem] = (),
    guard: Guard | None = None,
) -> Registry:
    """Build a registry from loaded plugins, in order of precedence.

    Args:
        loaded: What was loaded, the built-ins first.
        listed: Rows of plugins that were not loaded.
        problems: What went wrong before.
        guard: Called the plugins so far.
    """
    intake = Intake(guard or Guard())
    for plugin in loaded:
        intake.take(plugin)
    analyzers, cycles = in_order(tuple(intake.analyzers.values()))
    kept = {a.name: a for a in analyzers}
    circular = {
        a.provides: f"its analyzer {a.name} needs itself"
        for a in intake.analyzers.values()
        if a.name not in kept
    }
    rows = sorted(
        (*intake.plugins, *listed),
        key=lambda p: (not p.builtin, canonicalize_name(p.distribution), p.name),
    )
    found = (*problems, *intake.problems, *cycles, *intake.guard.noted)
    intake.guard.noted.clear()
    return Registry(
        rules=dict(sorted(intake.rules.items())),
        analyzers=kept,
        reporters=dict(sorted(intake.reporters.items())),
        sources=tuple(intake.sources.values()),
        problems=found,
        plugins=explained(rows, found),
        withheld=intake.withheld | circular,
        guard=intake.guard,
    )
