"""`--format F[:FILE]`: which reporters draw, and where their text goes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import attrs

from pytscope.cli.output import (
    OutputFailed,
    ReaderGone,
    add_to_file,
    ended,
    report_stream,
    say,
    write_file,
    write_stdout,
)
from pytscope.cli.parameters import Target
from pytscope.cli.terminal import Terminal
from pytscope.model.errors import UsageError
from pytscope.model.report import Problem
from pytscope.plugins.declare import RenderOptions
from pytscope.plugins.guarded import FALLBACK, D, drawing, render
from pytscope.plugins.registry import Registry
from pytscope.plugins.selection import raises_plugin_errors

GITHUB = "github"
"""The format of annotations: lines of a log that GitHub's runner takes for commands."""
_BESIDE = ("text", "markdown")
"""Formats that may share standard output with annotations: logs for people."""
_SUMMARY = "GITHUB_STEP_SUMMARY"
_SUMMARY_BYTES = 1 << 20
"""What GitHub takes of a step's summary."""


def checked_targets(
    targets: Sequence[Target], registry: Registry, kind: type
) -> tuple[Target, ...]:
    """The targets, text on standard output when there are none.

    Args:
        targets: What was asked for.
        registry: The reporters.
        kind: What they are to draw: `Report`, `Comparison` or `Gate`.

    Raises:
        UsageError: A reporter is unknown or draws no such thing, or two would
            write to one place.
    """
    for wanted in targets:
        drawing(registry.reporters, wanted.name, kind)
    for one, other in combinations(targets, 2):
        if _place(one) == _place(other) and not _one_log({one.name, other.name}, one):
            where, names = other.file or "standard output", f"{one.name} and {other.name}"
            msg = f"two formats would go to {where}: {names}"
            raise UsageError(msg, hint=f"Give one of them a file: --format {other.name}:FILE")
    return tuple(targets) or (Target(FALLBACK),)


def step_summary(targets: Sequence[Target], environ: Mapping[str, str]) -> tuple[Target, ...]:
    """The targets, and the step's summary where annotations are among them.

    Args:
        targets: What was asked for.
        environ: Tells the summary's file, in a job of GitHub Actions.
    """
    file = environ.get(_SUMMARY)
    if not file or all(target.name != GITHUB for target in targets):
        return tuple(targets)
    return (*targets, Target("markdown", Path(file), _SUMMARY))


def _place(target: Target) -> Path | None:
    return target.file and target.file.resolve()


def _one_log(names: set[str], target: Target) -> bool:
    """Whether two formats may share a place: annotations may follow a log for people."""
    return target.file is None and any(names == {GITHUB, name} for name in _BESIDE)


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
    drawn: D, targets: Sequence[Target], registry: Registry, look: Look
) -> tuple[Problem, ...]:
    """Draw something everywhere it is wanted, then write it: the files before the rest.

    Every text shows the failure of every reporter. A place that cannot be written
    to takes nothing from the others.

    Args:
        drawn: What to draw.
        targets: Where, and by which reporters.
        registry: The reporters.
        look: How.

    Returns:
        A problem for each reporter that failed.

    Raises:
        OutputFailed: A place cannot be written to; the others have their text.
        PluginError: A reporter failed, and failures are to be raised.
        ReaderGone: Nobody reads standard output any more.
    """
    reraise = raises_plugin_errors(os.environ)
    names, shown = [wanted.name for wanted in targets], drawn
    while True:
        texts, before = [], shown
        for place, wanted in enumerate(targets):
            known, options = shown, look.on(_terminal(wanted))
            text, shown = render(registry.reporters, names[place], known, options, reraise=reraise)
            if shown is not known:
                names[place] = FALLBACK
            texts.append(text)
        if shown is before:
            break
    late = shown.problems[len(drawn.problems) :]
    for problem in late:
        said = f"{problem.stage} of plugin {problem.plugin} failed: {problem.message}"
        say(f"warning: {said}; {FALLBACK} is written instead")
    _write(list(zip(targets, texts, strict=True)))
    return late


def _terminal(wanted: Target) -> Terminal:
    return Terminal.of(report_stream(), os.environ) if wanted.file is None else Terminal()


def _write(texts: Sequence[tuple[Target, str]]) -> None:
    calls = [partial(_write_file, wanted, text) for wanted, text in texts if wanted.file]
    if printed := [(wanted, text) for wanted, text in texts if not wanted.file]:
        calls.append(partial(write_stdout, _log(printed)))
    failed: list[Exception] = []
    for call in calls:
        try:
            call()
        except (OutputFailed, ReaderGone) as error:
            failed.append(error)
    told = [error for error in failed if isinstance(error, OutputFailed)]
    for each in told[:-1]:
        say(f"error: {each}")
    if failed:
        raise (told or failed)[-1]


def _write_file(wanted: Target, text: str) -> None:
    assert wanted.file is not None  # noqa: S101  # others go to standard output
    if wanted.added_to:
        add_to_file(wanted.file, text, wanted.added_to, _SUMMARY_BYTES)
    else:
        write_file(wanted.file, text)
    say(f"wrote {wanted.file} ({wanted.added_to or wanted.name})")


def _log(texts: Iterable[tuple[Target, str]]) -> str:
    """A log, then annotations; what a run brings into the log is no command."""
    log, notes = "", ""
    for wanted, text in texts:
        if wanted.name == GITHUB:
            notes += ended(text)
        else:
            log += ended(text)
    if not (log and notes):
        return log + notes
    # No text holds a word that is made from all of it.
    token = hashlib.sha256((log + notes).encode(errors="replace")).hexdigest()[:32]
    return f"::stop-commands::{token}\n{log}::{token}::\n{notes}"
