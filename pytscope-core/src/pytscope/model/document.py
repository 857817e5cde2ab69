"""The `pytscope.report/1` document: a report as JSON.

Null is "not measured", 0 a measured zero; numbers that are not finite are the
texts `"NaN"`, `"Infinity"` and `"-Infinity"`. Within version 1 keys are only
added. The schema is `pytscope/schemas/report-1.json`.
"""

from __future__ import annotations

import json
from typing import Any

from pytscope.model.findings import Finding
from pytscope.model.jsonable import jsonable
from pytscope.model.report import FoldedFinding, PluginInfo, Problem, Report

SCHEMA = "pytscope.report/1"
_PROMOTED = ("coverage", "budget")
"""Analyses with a place of their own at the top of the document."""


def report_json(report: Report, *, reproducible: bool = False) -> str:
    """The document as text: ASCII, indented, with one newline at its end.

    Args:
        report: What to write.
        reproducible: Leave out times of day, load times and paths.
    """
    document = report_document(report, reproducible=reproducible)
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def report_document(report: Report, *, reproducible: bool = False) -> dict[str, Any]:
    """The document as plain values.

    Args:
        report: What to write.
        reproducible: Leave out times of day, load times and paths.
    """
    analyses = jsonable(dict(report.analyses))
    return {
        "schema": SCHEMA,
        "tool": {"name": "pytscope-core", "version": jsonable(report.tool_version)},
        "run": _run(report, reproducible=reproducible),
        **{name: analyses.pop(name, None) for name in _PROMOTED},
        "findings": [_folded(row) for row in report.folded],
        "checks": jsonable(report.checks),
        "analyses": analyses,
        "problems": [problem_document(p) for p in report.problems],
        "plugins": [plugin_document(p, reproducible=reproducible) for p in report.plugins],
    }


def plugin_document(plugin: PluginInfo, *, reproducible: bool = False) -> dict[str, Any]:
    """One row of the plugin listing; times are left out when reproducible."""
    row: dict[str, Any] = jsonable(plugin)
    if reproducible:
        del row["load_ns"], row["slow_ns"]
    return row


def problem_document(problem: Problem) -> dict[str, Any]:
    """A problem without its traceback, which names paths."""
    row: dict[str, Any] = jsonable(problem)
    del row["traceback"]
    return row


def _run(report: Report, *, reproducible: bool) -> dict[str, Any]:
    row: dict[str, Any] = jsonable(report.run)
    if reproducible:
        del row["path"], row["created_epoch_ns"]
    return row


def _folded(row: FoldedFinding) -> dict[str, Any]:
    return {**_finding(row.finding), "also": [_finding(f) for f in row.also]}


def _finding(finding: Finding) -> dict[str, Any]:
    row: dict[str, Any] = jsonable(finding)
    return {"rule": row.pop("rule"), **row}
