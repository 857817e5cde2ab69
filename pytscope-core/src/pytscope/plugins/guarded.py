"""Sources and reporters whose functions run inside the guard."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from pytscope.model.comparison import Comparison
from pytscope.model.errors import PytscopeError, RunUnreadable, UsageError
from pytscope.model.report import Report
from pytscope.model.wording import did_you_mean, listed
from pytscope.plugins.declare import RenderOptions, Source
from pytscope.plugins.entries import RegisteredReporter
from pytscope.plugins.isolation import Failure, Guard, Origin, Refusal, guard
from pytscope.plugins.listing import explained
from pytscope.plugins.opened import sound
from pytscope.runs.run import Run

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


def reporter_named(reporters: Mapping[str, RegisteredReporter], name: str) -> RegisteredReporter:
    """The reporter of a name.

    Raises:
        UsageError: There is none; says the closest name.
    """
    if name not in reporters:
        msg = f"unknown format {name!r}{did_you_mean(name, reporters)}"
        raise UsageError(msg, hint=f"Formats: {listed(reporters)}.")
    return reporters[name]


def render(
    reporters: Mapping[str, RegisteredReporter],
    name: str,
    report: Report,
    options: RenderOptions,
    *,
    reraise: bool = False,
) -> tuple[str, Report]:
    """Draw a report; when a reporter fails, draw that failure with the rest as text.

    Args:
        reporters: The registry's.
        name: Reporter asked for.
        report: What to draw.
        options: How to draw it.
        reraise: Raise a `PluginError` when the reporter fails.

    Returns:
        The text, and the report it shows: with one problem more if it failed.

    Raises:
        UsageError: There is no reporter of that name.
        PluginError: The fallback failed too.
    """
    chosen = reporter_named(reporters, name)
    last = reraise or name == FALLBACK
    stage = f"reporter {name}"
    text = guard(chosen.origin, stage, lambda: _text(chosen, report, options), reraise=last)
    if type(text) is not Failure:
        return text, report
    problems = (*report.problems, text.problem)
    said = attrs.evolve(report, problems=problems, plugins=explained(report.plugins, problems))
    return render(reporters, FALLBACK, said, options)


def comparing(
    reporters: Mapping[str, RegisteredReporter], name: str
) -> Callable[[Comparison, RenderOptions], str]:
    """What draws a comparison, of the reporter of a name.

    Raises:
        UsageError: There is no such reporter, or it draws reports alone.
    """
    chosen = reporter_named(reporters, name).reporter.compare
    if chosen is None:
        able = [n for n, r in reporters.items() if r.reporter.compare is not None]
        msg = f"format {name!r} draws reports, not comparisons"
        raise UsageError(msg, hint=f"Formats of comparisons: {listed(able)}.")
    return chosen


def render_comparison(
    reporters: Mapping[str, RegisteredReporter],
    name: str,
    comparison: Comparison,
    options: RenderOptions,
    *,
    reraise: bool = False,
) -> tuple[str, Comparison]:
    """Draw a comparison; when a reporter fails, draw that failure with the rest as text.

    Args:
        reporters: The registry's.
        name: Reporter asked for.
        comparison: What to draw.
        options: How to draw it.
        reraise: Raise a `PluginError` when the reporter fails.

    Returns:
        The text, and the comparison it shows: with one problem more if it failed.

    Raises:
        UsageError: There is no reporter of that name that draws comparisons.
        PluginError: The fallback failed too.
    """
    draw = comparing(reporters, name)
    last = reraise or name == FALLBACK
    stage = f"reporter {name}"
    origin = reporters[name].origin
    text = guard(origin, stage, lambda: _checked(draw(comparison, options)), reraise=last)
    if type(text) is not Failure:
        return text, comparison
    said = attrs.evolve(comparison, problems=(*comparison.problems, text.problem))
    return render_comparison(reporters, FALLBACK, said, options)


def _text(reporter: RegisteredReporter, report: Report, options: RenderOptions) -> str:
    return _checked(reporter.reporter.render(report, options))


def _checked(text: Any) -> str:
    if not isinstance(text, str):
        msg = f"it returned {type(text).__name__}, not text"
        raise Refusal(msg)
    return str.__str__(text)
