"""Where a gate goes: reporters, their places, and what GitHub Actions wants beside them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import attrs

from pytscope.cli.formats import Look, checked_targets, draw
from pytscope.cli.output import OutputFailed, say, write_stdout
from pytscope.cli.parameters import Target
from pytscope.model.errors import UsageError
from pytscope.model.gate import Gate
from pytscope.model.gate_document import gate_json
from pytscope.model.report import Report
from pytscope.plugins.gated import gated, must_draw_gates
from pytscope.plugins.guarded import render
from pytscope.plugins.registry import Registry
from pytscope.plugins.selection import raises_plugin_errors

GITHUB = "github"
SUMMARY = "GITHUB_STEP_SUMMARY"
_MOST_BYTES = 1 << 20
"""What GitHub takes of a step's summary."""
_BESIDE = ("text", "markdown")
"""Formats that may share standard output with annotations: logs for people."""


@attrs.frozen
class Formats:
    """The places, those of the format `github` apart.

    Attributes:
        plain: All others.
        github: Those of `github`.
    """

    plain: tuple[Target, ...]
    github: tuple[Target, ...] = ()

    @property
    def shared(self) -> bool:
        """Whether annotations go to standard output after something else."""
        return _on_stdout(self.github) and _on_stdout(self.plain)


def _on_stdout(targets: Sequence[Target]) -> bool:
    return any(target.file is None for target in targets)


def wanted_formats(targets: Sequence[Target], registry: Registry) -> Formats:
    """The places asked for, text on standard output when there are none.

    Raises:
        UsageError: A format is unknown or draws no gates, or two would write to
            one place.
    """
    for target in targets:
        must_draw_gates(registry.reporters, target.name)
    github = tuple(target for target in targets if target.name == GITHUB)
    rest = [target for target in targets if target.name != GITHUB]
    checked_targets(github, registry)
    checked_targets([*rest, *(t for t in github if t.file is not None)], registry)
    plain = checked_targets(rest, registry) if rest or not github else ()
    wrong = [t.name for t in plain if t.file is None and t.name not in _BESIDE]
    if wrong and _on_stdout(github):
        msg = f"{wrong[0]} and github would both go to standard output"
        raise UsageError(msg, hint=f"Give one of them a file: --format {wrong[0]}:FILE")
    return Formats(plain, github)


def draw_gate(gate: Gate, formats: Formats, registry: Registry, look: Look) -> Report:
    """Draw a gate everywhere it is wanted, the annotations last.

    Args:
        gate: What to draw.
        formats: Where, and by which reporters.
        registry: The reporters.
        look: How.

    Returns:
        The gate's report with one problem more for each reporter that failed.

    Raises:
        OutputFailed: A place cannot be written to.
        ReaderGone: Nobody reads standard output any more.
    """
    reraise = raises_plugin_errors(os.environ)
    drawing = attrs.evolve(registry, reporters=gated(registry.reporters, gate))
    report = gate.report
    # What a run brings into the log must not be taken for a command.
    token = _token(gate) if formats.shared else ""
    if token:
        write_stdout(f"::stop-commands::{token}\n")
    report = draw(report, formats.plain, drawing, look, reraise=reraise)
    if token:
        write_stdout(f"::{token}::\n")
    report = draw(report, formats.github, drawing, look, reraise=reraise)
    if formats.github and (place := os.environ.get(SUMMARY)):
        text, report = render(drawing.reporters, "markdown", report, look.options, reraise=reraise)
        _append(Path(place), text)
    return report


def _token(gate: Gate) -> str:
    """A word that nothing drawn of the gate can hold, since it is made from all of it."""
    return hashlib.sha256(gate_json(gate).encode()).hexdigest()[:32]


def _append(path: Path, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    if len(data) > _MOST_BYTES:
        more = b"\n\n(cut: a step's summary holds no more)\n"
        kept = data[: _MOST_BYTES - len(more)].decode("utf-8", "ignore")
        data = kept.encode() + more
    try:
        with path.open("ab") as file:
            file.write(data)
    except OSError as error:
        msg = f"cannot write {SUMMARY} {path}: {error.strerror or error}"
        raise OutputFailed(msg) from error
    say(f"wrote {path} (step summary)")
