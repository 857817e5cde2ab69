"""The step record and the names of phases."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

import attrs

PHASES = (
    "data",
    "h2d",
    "forward",
    "loss",
    "backward",
    "comm",
    "optimizer",
    "eval",
    "checkpoint",
    "log",
    "compile",
    "gc",
    "no_grad",
    "compute",
    "failed",
    "other",
)
"""The phases pytscope itself names, in the order in which it shows them."""

LOGGED = ("loss", "grad_norm", "lr", "tokens", "samples")
"""Names that `log` knows, so that a series called so is what was logged and no phase."""

COUNTS = frozenset(("tokens", "samples"))
"""Logged names whose values add up within a step; of any other the last one counts."""

NOT_TRAINING = ("eval", "checkpoint", "log", "compile")
"""Phases left out of *training time*, the quantity medians and spikes use."""

Segment = tuple[str, int]
"""A stretch of wall time: phase, nanoseconds."""


class Flag(enum.IntFlag):
    """What is special about a step."""

    NONE = 0
    WARMUP = 1
    SKIPPED = 2
    FAILED = 4
    REDONE = 8
    PROFILED = 16


@attrs.frozen
class StepRecord:
    """One optimizer step of one rank, built on read.

    Attributes:
        rank: Global rank of the recording process.
        attempt: Ordinal of the recording process's start, from 0.
        step: Global step number.
        start_ns: Start of the step, nanoseconds since the attempt's start.
        wall_ns: Wall time of the step; the sum of its segments.
        segments: `(phase, ns)` in time order, tiling the step.
        device_segments: The same on the device clock, or None.
        scalars: Logged values by name; a missing name was not logged.
        memory_bytes: Sampled memory by name.
        extras_ns: Analysis-only durations by name.
        micro_batches: Micro-batches the step was made of.
        flags: What is special about the step.
    """

    rank: int
    attempt: int
    step: int
    start_ns: int
    wall_ns: int
    segments: tuple[Segment, ...]
    device_segments: tuple[Segment, ...] | None = None
    scalars: Mapping[str, float | int] = attrs.field(factory=dict)
    memory_bytes: Mapping[str, int] = attrs.field(factory=dict)
    extras_ns: Mapping[str, int] = attrs.field(factory=dict)
    micro_batches: int = 1
    flags: Flag = Flag.NONE

    @property
    def phases_ns(self) -> dict[str, int]:
        """Nanoseconds by phase, summed over the segments, in order of appearance."""
        total: dict[str, int] = {}
        for phase, ns in self.segments:
            total[phase] = total.get(phase, 0) + ns
        return total


def phase_order(names: Iterable[str]) -> list[str]:
    """Order phase names: pytscope's own first, in table order, then the user's by name.

    Args:
        names: An iterable of phase names.
    """
    known = {name: i for i, name in enumerate(PHASES)}
    return sorted(set(names), key=lambda n: (known.get(n, len(known)), n))
