"""Runs whose recorder looks for interruptions by itself."""

from __future__ import annotations

from typing import Any

from pytscope.runs.run import Run
from pytscope.testing import make_run

SEAMS = ("data", "forward", "backward", "optimizer", "h2d", "compile", "gc")
REST = {"data": 0.5, "forward": 7.0, "backward": 14.0, "optimizer": 1.0}


def instrumented(**said: Any) -> dict[str, Any]:
    """The event in which such a recorder says what it looks for."""
    return {"kind": "instrumentation", "seams": list(SEAMS), "accelerator": "cuda", **said}


def watched_run(phases: Any, *events: dict[str, Any], **options: Any) -> Run:
    """A run of a recorder that looks for everything; by default it waits for the device."""
    said = events or (instrumented(sync=True),)
    given = {**REST, **phases} if isinstance(phases, dict) else phases
    return make_run(given, last_attempt={"events": list(said)}, **options)


def sparse(steps: int, at: Any, value: float) -> list[float]:
    """A phase in some steps."""
    there = set(at)
    return [value if i in there else 0.0 for i in range(steps)]
