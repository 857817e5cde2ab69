"""Reporters that draw a gate, as reporters of its analysis, so that the guard knows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from pytscope.model.errors import UsageError
from pytscope.model.gate import Gate
from pytscope.model.report import Report
from pytscope.model.wording import listed
from pytscope.plugins.declare import RenderOptions, Reporter
from pytscope.plugins.entries import RegisteredReporter
from pytscope.plugins.guarded import reporter_named

Reporters = Mapping[str, RegisteredReporter]
_Check = Callable[[Gate, RenderOptions], str]


def must_draw_gates(reporters: Reporters, name: str) -> None:
    """Refuse a reporter that draws reports alone.

    Raises:
        UsageError: There is no such reporter, or it draws no gates.
    """
    if reporter_named(reporters, name).reporter.check is None:
        able = [n for n, r in reporters.items() if r.reporter.check is not None]
        msg = f"format {name!r} draws reports, not gates"
        raise UsageError(msg, hint=f"Formats of gates: {listed(able)}.")


def gated(reporters: Reporters, gate: Gate) -> dict[str, RegisteredReporter]:
    """The reporters that draw gates; given the gate's analysis, they draw the gate."""
    return {
        name: attrs.evolve(registered, reporter=_drawing(name, registered.reporter.check, gate))
        for name, registered in reporters.items()
        if registered.reporter.check is not None
    }


def _drawing(name: str, check: _Check | None, gate: Gate) -> Reporter:
    assert check is not None  # noqa: S101  # those without are left out

    def render(report: Report, options: RenderOptions) -> str:
        return check(attrs.evolve(gate, report=report), options)

    return Reporter(name, render)
