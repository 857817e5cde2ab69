"""`--format sarif`: SARIF 2.1.0, which code scanning services read."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from pytscope.builtin.reporters.alerts import Alert, Level, gate_alerts, report_alerts
from pytscope.model.escaping import visible
from pytscope.model.gate import Gate, Place
from pytscope.model.jsonable import jsonable
from pytscope.model.report import Problem, Report
from pytscope.plugins.declare import RenderOptions, reporter

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
FINGERPRINT = "pytscope/v1"
ROOT = "%SRCROOT%"
_SEVERITIES = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "recommendation"}
Json = dict[str, Any]


def sarif_gate(gate: Gate, options: RenderOptions) -> str:
    """A gate: budgets that are not kept and findings, each a result of its own rule.

    Budgets that are kept, or that nobody could judge, are among the properties.
    """
    open_ = [a for a in gate_alerts(gate) if a.judged is None or a.judged.fails]
    run = _run(gate.report, open_, _run_place(gate.run_place or gate.report.run.path, options))
    run["properties"] = {"passed": gate.passed, "budgets": jsonable(gate.judged)}
    return _document(run)


@reporter("sarif", check=sarif_gate)
def sarif_report(report: Report, options: RenderOptions) -> str:
    """The findings of a report."""
    place = _run_place(report.run.path, options)
    return _document(_run(report, list(report_alerts(report)), place))


def _document(run: Json) -> str:
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _run(report: Report, alerts: list[Alert], fallback: Json | None) -> Json:
    rules = {alert.rule: alert for alert in reversed(alerts)}
    order = sorted(rules)
    driver = {
        "name": "pytscope",
        "version": visible(report.tool_version) or "unknown",
        "rules": [_rule(rules[name]) for name in order],
    }
    results = [
        _result(alert, order.index(alert.rule), mark, fallback)
        for alert, mark in zip(alerts, _marks(alerts), strict=True)
    ]
    return {
        "tool": {"driver": driver},
        "invocations": [_invocation(report.problems)],
        "results": results,
        "columnKind": "unicodeCodePoints",
    }


def _rule(alert: Alert) -> Json:
    about = _about(alert)
    more = "" if alert.judged is not None else f" More: pytscope explain {alert.rule}"
    return {
        "id": visible(alert.rule),
        "shortDescription": _message(about),
        "fullDescription": _message(about),
        "help": _message((alert.help or about) + more),
        "defaultConfiguration": {"level": alert.level.value},
        "properties": {
            "tags": ["training", "budget" if alert.judged is not None else "finding"],
            "problem.severity": _SEVERITIES[alert.level],
        },
    }


def _about(alert: Alert) -> str:
    if alert.finding is not None:
        return alert.finding.title or alert.rule
    if alert.judged is not None and alert.judged.metric == "fail-on":
        return "No finding of the severity asked for, or above"
    return f"The budget of {alert.rule.partition('.')[2]} is kept"


def _marks(alerts: Iterable[Alert]) -> Iterator[str]:
    """What tells each alert from the others, and is the same for it in the next run."""
    seen: Counter[str] = Counter()
    for alert in alerts:
        same = f"{alert.rule}\n{alert.key}"
        seen[same] += 1
        which = f"{same}\n{seen[same]}" if seen[same] > 1 else same
        yield hashlib.sha256(which.encode(errors="replace")).hexdigest()


def _result(alert: Alert, index: int, mark: str, fallback: Json | None) -> Json:
    location = fallback if alert.place is None else _physical(alert.place)
    result: Json = {
        "ruleId": visible(alert.rule),
        "ruleIndex": index,
        "level": alert.level.value,
        "message": _message(alert.message),
        "locations": [location] if location is not None else [],
        "partialFingerprints": {FINGERPRINT: mark},
    }
    if alert.finding is not None:
        kept = ("severity", "confidence", "cost_s", "steps", "ranks", "fix", "verify")
        fields = jsonable(alert.finding)
        result["properties"] = {name: fields[name] for name in kept}
    return result


def _message(text: str) -> Json:
    """Plain text in which nothing can be taken for a link."""
    shown = visible(text, keep="\n").replace("](", "] (")
    return {"text": shown or "(no text)"}


def _physical(place: Place) -> Json:
    """A file, relative to the root of the sources where it is below the current folder."""
    path = PurePath(place.file)
    if path.is_absolute():
        artifact = {"uri": Path(path).as_uri()}
    else:
        artifact = {"uri": quote(path.as_posix(), errors="replace"), "uriBaseId": ROOT}
    region = {"startLine": place.line or 1}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _run_place(path: str, options: RenderOptions) -> Json | None:
    """Where findings are that belong to no file of code: the run itself."""
    return None if options.reproducible or not path else _physical(Place(path))


def _invocation(problems: Iterable[Problem]) -> Json:
    notes = [
        {
            "level": "error",
            "message": _message(f"{problem.plugin}, {problem.stage}: {problem.message}"),
        }
        for problem in problems
    ]
    return {"executionSuccessful": not notes, "toolExecutionNotifications": notes}
