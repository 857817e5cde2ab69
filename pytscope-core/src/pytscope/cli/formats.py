"""`--format F[:FILE]`: which reporters draw, and where their text goes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import attrs

from pytscope.cli.output import report_stream, say, write_file, write_stdout
from pytscope.cli.parameters import Target
from pytscope.cli.terminal import Terminal
from pytscope.model.comparison import Comparison
from pytscope.model.errors import UsageError
from pytscope.model.report import Problem, Report
from pytscope.plugins.declare import RenderOptions
from pytscope.plugins.guarded import (
    FALLBACK,
    comparing,
    render,
    render_comparison,
    reporter_named,
)
from pytscope.plugins.registry import Registry


def checked_targets(targets: Sequence[Target], registry: Registry) -> tuple[Target, ...]:
    """The targets, text on standard output when there are none.

    Raises:
        UsageError: A reporter is unknown, or two would write to one place.
    """
    for wanted in targets:
        reporter_named(registry.reporters, wanted.name)
    return _apart(targets)


def checked_comparison_targets(targets: Sequence[Target], registry: Registry) -> tuple[Target, ...]:
    """As `checked_targets`, for reporters that draw comparisons."""
    for wanted in targets:
        comparing(registry.reporters, wanted.name)
    return _apart(targets)


def _apart(targets: Sequence[Target]) -> tuple[Target, ...]:
    places = [t.file and t.file.resolve() for t in targets]
    twice = next((i for i, place in enumerate(places) if place in places[:i]), None)
    if twice is not None:
        msg = f"two formats would go to {targets[twice].file or 'standard output'}"
        raise UsageError(msg, hint="Give one of them a file: --format json:report.json")
    return tuple(targets) or (Target(FALLBACK),)


@attrs.frozen(kw_only=True)
class Look:
    """What the user wants drawn; colour and signs are decided for each place.

    Attributes:
        color: `auto`, `always` or `never`.
        options: Everything else.
    """

    color: str = "auto"
    options: RenderOptions = attrs.field(factory=RenderOptions)

    def on(self, terminal: Terminal) -> RenderOptions:
        """The options for a place that is, or is no, terminal."""
        plain = self.options.ascii or not terminal.unicode
        return attrs.evolve(self.options, color=terminal.color(self.color), ascii=plain)


def draw(
    report: Report,
    targets: Iterable[Target],
    registry: Registry,
    look: Look,
    *,
    reraise: bool = False,
) -> Report:
    """Draw a report everywhere it is wanted, the files first.

    Args:
        report: What to draw.
        targets: Where, and by which reporters.
        registry: The reporters.
        look: How.
        reraise: Raise a `PluginError` when a reporter fails.

    Returns:
        The report with one problem more for each reporter that failed.

    Raises:
        OutputFailed: A place cannot be written to.
        ReaderGone: Nobody reads standard output any more.
    """
    for wanted in _files_first(targets):
        before = len(report.problems)
        options = look.on(_terminal(wanted))
        text, report = render(registry.reporters, wanted.name, report, options, reraise=reraise)
        _deliver(text, wanted, report.problems[before:])
    return report


def draw_comparison(
    comparison: Comparison,
    targets: Iterable[Target],
    registry: Registry,
    look: Look,
    *,
    reraise: bool = False,
) -> Comparison:
    """Draw a comparison everywhere it is wanted; otherwise as `draw`."""
    for wanted in _files_first(targets):
        before = len(comparison.problems)
        options = look.on(_terminal(wanted))
        text, comparison = render_comparison(
            registry.reporters, wanted.name, comparison, options, reraise=reraise
        )
        _deliver(text, wanted, comparison.problems[before:])
    return comparison


def _files_first(targets: Iterable[Target]) -> list[Target]:
    return sorted(targets, key=lambda t: t.file is None)


def _terminal(wanted: Target) -> Terminal:
    return Terminal.of(report_stream(), os.environ) if wanted.file is None else Terminal()


def _deliver(text: str, wanted: Target, problems: Iterable[Problem]) -> None:
    for problem in problems:
        said = f"{problem.stage} of plugin {problem.plugin} failed: {problem.message}"
        say(f"warning: {said}; {FALLBACK} is written instead")
    if wanted.file is None:
        write_stdout(text)
    else:
        write_file(wanted.file, text)
        say(f"wrote {wanted.file} ({wanted.name})")
