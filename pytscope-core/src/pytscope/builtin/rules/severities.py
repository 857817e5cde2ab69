"""How much a cost matters: by its share of the rated steps, if there is substance to it."""

from __future__ import annotations

from pytscope.analyses import Budget
from pytscope.model.findings import Severity

LEAST_SHARE = 0.001
"""Part of the rank's whole wall that a finding costs which is more than low."""
LEAST_NS = 10_000_000
"""Nanoseconds that a finding costs which is more than low."""


def severity_of(cost_ns: float, rated_ns: int, wall_ns: int = 0) -> Severity:
    """Severity of a cost in rated steps.

    A cost that nobody would notice, of less than 10 ms or a thousandth of the whole
    wall, is low at most: a few rated steps may be a sliver of a run.

    Args:
        cost_ns: The cost.
        rated_ns: Wall of the rated steps it was measured in.
        wall_ns: Measured wall of the rank, 0 where it is not known.
    """
    severity = Severity.of_share(cost_ns / max(rated_ns, 1))
    if cost_ns < max(LEAST_NS, LEAST_SHARE * wall_ns):
        return max(severity, Severity.LOW, key=lambda one: one.order)
    return severity


def whole_ns(budget: Budget | None) -> int:
    """Measured wall of the shown rank, 0 where it is not known."""
    return budget.wall_ns if budget is not None else 0
