"""Training loops as people write them, played with and without a profiler."""

from __future__ import annotations

from tests.torch.auto.loops import (
    evaluations,
    failures,
    fetching,
    gradients,
    oddities,
    optimizers,
    surroundings,
    updates,
)
from tests.torch.auto.loops.registry import LOOPS, UNTIMED

__all__ = [
    "LOOPS",
    "UNTIMED",
    "evaluations",
    "failures",
    "fetching",
    "gradients",
    "oddities",
    "optimizers",
    "surroundings",
    "updates",
]
