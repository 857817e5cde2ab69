"""`--format github`: workflow commands that GitHub Actions shows as annotations.

A command is a line `::error file=…,line=…,title=…::message`. Percent signs and line
breaks are escaped everywhere, colons and commas in properties too, so that no text of
a run can end a command or begin another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytscope.builtin.reporters.alerts import Alert, Level, gate_alerts, report_alerts
from pytscope.builtin.reporters.findings import findings_headline
from pytscope.model.escaping import visible
from pytscope.model.gate import Gate
from pytscope.model.report import Report
from pytscope.plugins.declare import RenderOptions, reporter

_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _DATA | str.maketrans({":": "%3A", ",": "%2C"})


def github_gate(gate: Gate, _options: RenderOptions) -> str:
    """Annotations of a gate: errors are what fails it."""
    return _text(gate_alerts(gate), "pytscope check", gate.panel.headline)


@reporter("github", check=github_gate)
def github_report(report: Report, _options: RenderOptions) -> str:
    """Annotations of the findings: errors are those of high severity."""
    return _text(report_alerts(report), "pytscope analyze", findings_headline(report))


def _text(alerts: Iterable[Alert], title: str, headline: str) -> str:
    order = list(Level)
    ranked = sorted(alerts, key=lambda alert: order.index(alert.level))
    lines = [*map(_command, ranked), _line("notice", [("title", title)], headline)]
    return "".join(f"{line}\n" for line in lines)


def _command(alert: Alert) -> str:
    message = f"{alert.message}\nFix: {alert.help}" if alert.help else alert.message
    return _line(_COMMANDS[alert.level], _properties(alert), message)


def _properties(alert: Alert) -> Iterator[tuple[str, str]]:
    place = alert.place
    if place is not None:
        yield "file", place.file
        if place.line is not None:
            yield "line", str(place.line)
    yield "title", alert.title


def _line(command: str, properties: Iterable[tuple[str, str]], message: str) -> str:
    said = ",".join(f"{name}={visible(text).translate(_PROPERTY)}" for name, text in properties)
    return f"::{command} {said}::{visible(message, keep=chr(10)).translate(_DATA)}"
