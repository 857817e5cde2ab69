"""What a report shows of the analyses: their panels and their form in JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from pytscope.analysis.plain import plain
from pytscope.model.jsonable import jsonable
from pytscope.model.panels import Meter, Panel
from pytscope.model.report import Problem
from pytscope.plugins.isolation import Failure, Guard, Refusal
from pytscope.plugins.registry import Registry


def writable(
    analyses: Mapping[str, Any], registry: Registry, guard: Guard
) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """The analyses that have a form in JSON, by name, and a problem for each other one.

    Args:
        analyses: Analyses by analyzer name.
        registry: What is registered.
        guard: Calls into plugins.
    """
    kept: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, analysis in sorted(analyses.items()):
        owner = registry.analyzers[name]
        stage = f"JSON of {owner.stage}"
        form = guard(owner.origin, stage, partial(jsonable, analysis))
        if type(form) is Failure:
            problems.append(form.problem)
        else:
            kept[name] = analysis
    return kept, tuple(problems)


def panels(
    analyses: Mapping[str, Any], registry: Registry, guard: Guard
) -> tuple[tuple[Panel, ...], tuple[Problem, ...]]:
    """Every analysis's panel, by place and id; an id belongs to the built-ins first.

    Args:
        analyses: Analyses by analyzer name.
        registry: What is registered.
        guard: Calls into plugins.

    Returns:
        The panels, and a problem for each that could not be drawn.
    """
    drawn: dict[str, Panel] = {}
    problems: list[Problem] = []
    for name in sorted(analyses, key=lambda n: not registry.analyzers[n].owner.builtin):
        owner, analysis = registry.analyzers[name], analyses[name]
        call = partial(_panel, analysis, frozenset(drawn))
        panel = guard(owner.origin, f"panel of {owner.stage}", call)
        if type(panel) is Failure:
            problems.append(panel.problem)
        elif panel is not None:
            drawn[panel.id] = panel
    return tuple(sorted(drawn.values(), key=lambda p: (p.order, p.id))), tuple(problems)


def _panel(analysis: Any, taken: frozenset[str]) -> Panel | None:
    draw = getattr(analysis, "panel", None)
    if not callable(draw):
        return None
    drawn = draw()
    if drawn is None:
        return None
    panel = plain(drawn, Panel, "panel")
    if panel.id in taken:
        msg = f"panel id {panel.id!r} is taken by another analysis"
        raise Refusal(msg)
    if any(isinstance(row, Meter) and not math.isfinite(row.share) for row in panel.rows):
        msg = "a meter's share must be finite"
        raise Refusal(msg)
    return panel
