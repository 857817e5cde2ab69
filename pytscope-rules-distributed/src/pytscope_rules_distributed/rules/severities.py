"""How much a cost matters: by its share of the steps' time."""

from __future__ import annotations

from pytscope.model.findings import Severity

LEAST_NS = 10_000_000
"""Nanoseconds that a finding costs which is more than low."""


def severity_of(cost_ns: float, wall_ns: int) -> Severity:
    """Severity of a cost in the steps compared; below 10 ms low at most."""
    severity = Severity.of_share(cost_ns / max(wall_ns, 1))
    return severity if cost_ns >= LEAST_NS else max(severity, Severity.LOW, key=lambda s: s.order)
