"""The `pytscope.check/1` document: a gate as JSON.

As in `pytscope.report/1`, null is "not measured", and numbers that are not finite are
the texts `"NaN"`, `"Infinity"` and `"-Infinity"`. Within version 1 keys are only
added. The schema is `pytscope/schemas/check-1.json`.
"""

from __future__ import annotations

import json
from typing import Any

from pytscope.model.document import report_document
from pytscope.model.gate import Gate
from pytscope.model.jsonable import jsonable

SCHEMA = "pytscope.check/1"
_OF_REPORT = ("findings", "checks", "problems")


def gate_json(gate: Gate, *, reproducible: bool = False) -> str:
    """The document as text: ASCII, indented, with one newline at its end.

    Args:
        gate: What to write.
        reproducible: Leave out times of day and paths.
    """
    document = gate_document(gate, reproducible=reproducible)
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def gate_document(gate: Gate, *, reproducible: bool = False) -> dict[str, Any]:
    """The document as plain values.

    Args:
        gate: What to write.
        reproducible: Leave out times of day and paths.
    """
    report = report_document(gate.report, reproducible=reproducible)
    return {
        "schema": SCHEMA,
        "tool": report["tool"],
        "run": report["run"],
        "passed": gate.passed,
        "headline": jsonable(gate.panel.headline),
        "budgets": jsonable(gate.judged),
        "fail_on": gate.fail_on,
        "baseline": _baseline(gate, reproducible=reproducible),
        "notes": jsonable(gate.notes),
        **{name: report[name] for name in _OF_REPORT},
    }


def _baseline(gate: Gate, *, reproducible: bool) -> dict[str, Any] | None:
    """What the run was held against, or None."""
    if gate.baseline is None:
        return None
    row: dict[str, Any] = jsonable(gate.baseline)
    if reproducible:
        del row["path"]
    return row
