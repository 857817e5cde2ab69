"""Sources and reporters whose functions run inside the guard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import attrs

from pytscope.model.comparison import Comparison
from pytscope.model.errors import PytscopeError, RunUnreadable, UsageError
from pytscope.model.gate import Gate
from pytscope.model.report import Problem, Report
from pytscope.model.wording import did_you_mean, listed
from pytscope.plugins.declare import RenderOptions, Source
from pytscope.plugins.entries import RegisteredReporter
from pytscope.plugins.isolation import Failure, Guard, Origin, Refusal, guard
from pytscope.plugins.listing import explained
from pytscope.plugins.opened import sound
from pytscope.runs.run import Run

D = TypeVar("D", Report, Comparison, Gate)
FALLBACK = "text"
"""Reporter that takes over when another fails."""


def guarded_source(source: Source, origin: Origin, guard: Guard) -> Source:
    """A source that fails only in the ways that opening a run knows.

    Args:
        source: The source as declared.
        origin: Who brings it.
        guard: Calls it; notes a `detects` that failed, which counts as a no.
    """
    stage = f"source {source.name}"

    def detects(path: Path) -> bool:
        answer = guard(origin, stage, lambda: bool(source.detects(path)))
        if type(answer) is Failure:
            guard.noted.append(answer.problem)
            return False
        return answer

    def open_run(path: Path, attempt: int | None = None) -> Run:
        opened = guard(origin, stage, partial(_opened, source, path, attempt))
        if isinstance(opened, PytscopeError):
            raise opened
        if type(opened) is Failure:
            msg = f"source {source.name} of plugin {origin} cannot open {path}: "
            raise RunUnreadable(msg + opened.problem.message)
        return opened

    return attrs.evolve(source, detects=detects, open=open_run)


def _opened(source: Source, path: Path, attempt: int | None) -> Run | PytscopeError:
    try:
        return sound(source.open(path, attempt=attempt))
    except PytscopeError as error:
        return error


_DRAWN_BY: Mapping[type, tuple[str, str]] = {
    Report: ("render", "reports"),
    Comparison: ("compare", "comparisons"),
    Gate: ("check", "gates"),
}
"""What reporters draw: the field of their function for it, and what several of it are called."""


def drawing(
    reporters: Mapping[str, RegisteredReporter], name: str, kind: type
) -> Callable[[Any, RenderOptions], str]:
    """What draws a report, a comparison or a gate, of the reporter of a name.

    Args:
        reporters: The registry's.
        name: Reporter asked for.
        kind: `Report`, `Comparison` or `Gate`.

    Raises:
        UsageError: There is no such reporter, or it draws none of that kind.
    """
    field, drawn = _DRAWN_BY[kind]
    able = {n: f for n, r in reporters.items() if (f := getattr(r.reporter, field)) is not None}
    if name not in reporters:
        msg = f"unknown format {name!r}{did_you_mean(name, able)}"
        raise UsageError(msg, hint=f"Formats: {listed(able)}.")
    if name not in able:
        msg = f"format {name!r} draws reports, not {drawn}"
        raise UsageError(msg, hint=f"Formats of {drawn}: {listed(able)}.")
    draw: Callable[[Any, RenderOptions], str] = able[name]
    return draw


def render(
    reporters: Mapping[str, RegisteredReporter],
    name: str,
    drawn: D,
    options: RenderOptions,
    *,
    reraise: bool = False,
) -> tuple[str, D]:
    """Draw something; when a reporter fails, draw that failure with the rest as text.

    Args:
        reporters: The registry's.
        name: Reporter asked for.
        drawn: What to draw: a report, a comparison or a gate.
        options: How to draw it.
        reraise: Raise a `PluginError` when the reporter fails.

    Returns:
        The text, and what it shows: with one problem more if the reporter failed.

    Raises:
        UsageError: There is no reporter of that name that draws such a thing.
        PluginError: The fallback failed too.
    """
    draw = drawing(reporters, name, type(drawn))
    last = reraise or name == FALLBACK
    call = partial(_text, draw, drawn, options)
    text = guard(reporters[name].origin, f"reporter {name}", call, reraise=last)
    if type(text) is not Failure:
        return text, drawn
    return render(reporters, FALLBACK, _with(drawn, text.problem), options)


def _text(draw: Callable[[Any, RenderOptions], Any], drawn: Any, options: RenderOptions) -> str:
    text = draw(drawn, options)
    if not isinstance(text, str):
        msg = f"it returned {type(text).__name__}, not text"
        raise Refusal(msg)
    return str.__str__(text)


def _with(drawn: Any, problem: Problem) -> Any:
    """What was drawn with a problem more."""
    if isinstance(drawn, Gate):
        return attrs.evolve(drawn, report=_with(drawn.report, problem))
    known = (*drawn.problems, problem)
    if isinstance(drawn, Report):
        return attrs.evolve(drawn, problems=known, plugins=explained(drawn.plugins, known))
    return attrs.evolve(drawn, problems=known)
