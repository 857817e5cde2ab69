"""The one step that waits longest, and what of a budget's lines is its doing."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import numpy as np

from pytscope.analyses import Budget, Timing

WAITS = {
    "data": "data_stall",
    "h2d": "h2d",
    "comm": "communication",
    "gc": "gc",
    "log": "log",
}
"""Budget lines of the phases in which training waits without having been told to."""


@attrs.frozen
class LoneStep:
    """The step that waits longest, of those that are rated.

    Attributes:
        step: Its number.
        ns: How long it waits.
        phase: Phase it waits in most.
        lines: What it adds to each line of the budget.
    """

    step: int
    ns: int
    phase: str
    lines: Mapping[str, int]


def lone_step(timing: Timing) -> LoneStep:
    """Find the step that waits longest."""
    waits = {name: timing.phase(name).each.values for name in WAITS}
    each = np.sum(list(waits.values()), axis=0)
    at = int(np.argmax(each))
    by_phase = {name: int(values[at]) for name, values in waits.items()}
    return LoneStep(
        int(timing.step.values[at]),
        int(each[at]),
        max(by_phase, key=lambda name: by_phase[name]),
        {WAITS[name]: ns for name, ns in by_phase.items()},
    )


def without(budget: Budget, lone: LoneStep | None) -> str | None:
    """Name of the recoverable line that is largest once the lone step is left out, or None."""
    added = lone.lines if lone else {}
    left = {line.name: line.ns - added.get(line.name, 0) for line in budget.recoverable}
    name = max(left, key=lambda line: (left[line], line), default=None)
    return name if name is not None and left[name] > 0 else None
