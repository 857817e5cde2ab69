"""`--format F[:FILE]`: which reporters draw, and where their text goes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import attrs

from pytscope.cli.output import report_stream, say, write_file, write_stdout
from pytscope.cli.parameters import Target
from pytscope.cli.terminal import Terminal
from pytscope.model.errors import UsageError
from pytscope.model.report import Report
from pytscope.plugins.declare import RenderOptions
from pytscope.plugins.guarded import FALLBACK, render, reporter_named
from pytscope.plugins.registry import Registry


def checked_targets(targets: Sequence[Target], registry: Registry) -> tuple[Target, ...]:
    """The targets, text on standard output when there are none.

    Raises:
        UsageError: A reporter is unknown, or two would write to one place.
    """
    for wanted in targets:
        reporter_named(registry.reporters, wanted.name)
    places = [t.file for t in targets]
    twice = next((p for i, p in enumerate(places) if p in places[:i]), ...)
    if twice is not ...:
        msg = f"two formats would go to {'standard output' if twice is None else twice}"
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
    for wanted in sorted(targets, key=lambda t: t.file is None):
        before = len(report.problems)
        terminal = Terminal.of(report_stream(), os.environ) if wanted.file is None else Terminal()
        options = look.on(terminal)
        text, report = render(registry.reporters, wanted.name, report, options, reraise=reraise)
        for problem in report.problems[before:]:
            said = f"{problem.stage} of plugin {problem.plugin} failed: {problem.message}"
            say(f"warning: {said}; {FALLBACK} is written instead")
        if wanted.file is None:
            write_stdout(text)
        else:
            write_file(wanted.file, text)
            say(f"wrote {wanted.file} ({wanted.name})")
    return report
