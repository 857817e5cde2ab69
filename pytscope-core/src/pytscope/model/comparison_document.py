"""The `pytscope.diff/1` document: a comparison as JSON.

As in `pytscope.report/1`, null is "not measured" or "cannot tell", and numbers
that are not finite are the texts `"NaN"`, `"Infinity"` and `"-Infinity"`. Within
version 1 keys are only added. The schema is `pytscope/schemas/diff-1.json`.
"""

from __future__ import annotations

import json
from typing import Any

from pytscope.model.comparison import Comparison, LeftOut, Side
from pytscope.model.document import problem_document
from pytscope.model.jsonable import jsonable

SCHEMA = "pytscope.diff/1"
_AS_THEY_ARE = (
    "facts",
    "differences",
    "divergences",
    "outcomes",
    "timings",
    "not_compared",
    "cut",
    "watched",
    "shared",
    "checks",
    "findings",
    "gained",
    "lost",
)


def comparison_json(comparison: Comparison, *, reproducible: bool = False) -> str:
    """The document as text: ASCII, indented, with one newline at its end.

    Args:
        comparison: What to write.
        reproducible: Leave out times of day and paths.
    """
    document = comparison_document(comparison, reproducible=reproducible)
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def comparison_document(comparison: Comparison, *, reproducible: bool = False) -> dict[str, Any]:
    """The document as plain values.

    Args:
        comparison: What to write.
        reproducible: Leave out times of day and paths.
    """
    return {
        "schema": SCHEMA,
        "tool": {"name": "pytscope-core", "version": jsonable(comparison.tool_version)},
        "runs": [_side(side, reproducible=reproducible) for side in comparison.sides],
        "left_out": [_left_out(one, reproducible=reproducible) for one in comparison.left_out],
        "grouped": comparison.grouped,
        "identical": comparison.identical,
        "headline": jsonable(comparison.headline),
        **{name: jsonable(getattr(comparison, name)) for name in _AS_THEY_ARE},
        "gate": _gate(comparison),
        "problems": [problem_document(problem) for problem in comparison.problems],
    }


def _side(side: Side, *, reproducible: bool) -> dict[str, Any]:
    row: dict[str, Any] = jsonable(side)
    if reproducible:
        del row["run"]["path"], row["run"]["created_epoch_ns"]
    return row


def _left_out(one: LeftOut, *, reproducible: bool) -> dict[str, Any]:
    row: dict[str, Any] = jsonable(one)
    if reproducible:
        del row["path"]
    return row


def _gate(comparison: Comparison) -> dict[str, Any] | None:
    if comparison.gate is None:
        return None
    return {"outcome": comparison.gate, "reason": jsonable(comparison.gate_reason)}
