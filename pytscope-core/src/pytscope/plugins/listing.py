"""Rows of the plugin listing, completed by what became known of the plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from pytscope.model.report import PluginInfo, PluginState, Problem
from pytscope.model.wording import one_line
from pytscope.plugins.isolation import Origin

SLOW_NS = 1_000_000_000
"""Time from which a call into a plugin is named in the report."""


def explained(plugins: Iterable[PluginInfo], problems: Iterable[Problem]) -> tuple[PluginInfo, ...]:
    """The rows, where a plugin that is loaded all the same failed with its first failure."""
    first: dict[tuple[str, str], str] = {}
    for problem in problems:
        said = one_line(f"{problem.stage}: {problem.message}")
        first.setdefault((problem.plugin, problem.distribution), said)
    return tuple(
        attrs.evolve(row, reason=first.get((one_line(row.name), one_line(row.distribution)), ""))
        if row.state is PluginState.LOADED and not row.reason
        else row
        for row in plugins
    )


def timed(
    plugins: Iterable[PluginInfo], spent_ns: Mapping[tuple[Origin, str], int]
) -> tuple[PluginInfo, ...]:
    """The rows with what each plugin took long for, the longest first."""
    slow = sorted(
        ((-ns, stage, origin) for (origin, stage), ns in spent_ns.items() if ns >= SLOW_NS),
        key=lambda entry: entry[:2],
    )
    return tuple(
        attrs.evolve(row, slow_ns={s: -ns for ns, s, o in slow if o == Origin.of(row)})
        for row in plugins
    )
