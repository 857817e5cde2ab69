"""Typed values of the rank file's header lines, named as the keys on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from pytscope.model.records import Segment

FORMAT = "pytscope.steps"
VERSION = 1
MOST_NS = 2**57
"""Over four years: no process runs for so long, and sums of many stay within 64 bits."""
MOST_STEPS = 2**53
"""The same of step numbers; the largest that a float of 64 bits holds exactly."""


def _within(low: int, high: int) -> Callable[[Any, attrs.Attribute[Any], int | None], None]:
    """A validator of whole numbers that may be None."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: int | None) -> None:
        if value is not None and not low <= value <= high:
            msg = f"{attribute.name} of {value} cannot be"
            raise ValueError(msg)

    return check


def _segments(_: Any, attribute: attrs.Attribute[Any], value: tuple[Segment, ...]) -> None:
    for _name, ns in value:
        if not -MOST_NS <= ns <= MOST_NS:
            msg = f"{attribute.name} of {ns} ns cannot be"
            raise ValueError(msg)


_STAMP = _within(-MOST_NS, MOST_NS)
_STEP = _within(-MOST_STEPS, MOST_STEPS)
_COUNT = _within(0, MOST_STEPS)
_COST = _within(0, MOST_NS)


@attrs.frozen
class RunLine:
    """The start of an attempt.

    Attributes:
        epoch_ns: Time of day of the start.
        rank: Global rank of the process.
        world: Ranks of the job, or None.
        step: Number of the first step the attempt would record.
        name: The run's name, or None.
        config: The user's configuration, of any form.
        environment: Provenance known at start.
        warmup: Warm-up steps asked for, or None.
        job: Identity of the job at its launcher, or None.
        restart: Restarts of that job before this one, or None.
        local_rank: Rank on its host, or None.
        flops_per_step: FLOPs of one optimizer step on one rank, or None.
        peak_flops: Peak FLOP/s of one rank's device, or None.
        recorded: `zero` when only rank 0 was to record, `all`, or None.
        evaluates: What kind of evaluation it is, when it is one outside of training.
        format: Name of the format.
        v: Version of the format.
    """

    epoch_ns: int
    rank: int = attrs.field(default=0, validator=_COUNT)
    world: int | None = attrs.field(default=None, validator=_COUNT)
    step: int = attrs.field(default=0, validator=_STEP)
    name: str | None = None
    config: Any = None
    environment: Mapping[str, Any] = attrs.field(factory=dict)
    warmup: int | None = attrs.field(default=None, validator=_STEP)
    job: str | int | None = None
    restart: int | None = None
    local_rank: int | None = None
    flops_per_step: float | None = None
    peak_flops: float | None = None
    recorded: str | None = None
    evaluates: str | None = None
    format: str = FORMAT
    v: int = VERSION

    @property
    def configuration(self) -> Mapping[str, Any]:
        """The user's configuration by name; one of another form is named `config`."""
        if isinstance(self.config, Mapping):
            return self.config
        return {} if self.config is None else {"config": self.config}


@attrs.frozen
class Anchor:
    """A moment on both clocks: `t` since the attempt's start, and the time of day."""

    t: int = attrs.field(validator=_STAMP)
    epoch_ns: int


@attrs.frozen
class StartupEvent:
    """What startup was made of."""

    segments: tuple[Segment, ...] = attrs.field(validator=_segments)


@attrs.frozen
class LogEvent:
    """Values logged after their step was written; `step` None is the run itself."""

    values: Mapping[str, int | float]
    step: int | None = None


@attrs.frozen
class DroppedEvent:
    """Steps that the writer gave up on a stalled disk."""

    steps: int = attrs.field(validator=_COUNT)


@attrs.frozen
class OpenLine:
    """Where an attempt is in a step that has been open for a while."""

    t: int = attrs.field(validator=_STAMP)
    step: int = attrs.field(validator=_STEP)
    blocks: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = attrs.field(default=(), validator=_segments)


@attrs.frozen
class SpansLine:
    """What other threads than the one that records did: thread, phase, start, end."""

    rows: tuple[tuple[str, str, int, int], ...]


@attrs.frozen
class EndLine:
    """The orderly end of an attempt.

    Attributes:
        wall_ns: Wall time of the attempt.
        steps: Steps recorded, or None.
        shutdown: Segments after the last step end.
        dropped: Steps dropped on a stalled disk.
        overhead_ns: Recording time on the training thread, or None.
        overhead_once_ns: What of it was for the start, the end and the first steps.
        writer_ns: CPU time of the writer thread, or None.
        reason: `finish`, or `exception` when one ended the recording.
    """

    wall_ns: int = attrs.field(validator=_STAMP)
    steps: int | None = attrs.field(default=None, validator=_COUNT)
    shutdown: tuple[Segment, ...] = attrs.field(default=(), validator=_segments)
    dropped: int = attrs.field(default=0, validator=_COUNT)
    overhead_ns: int | None = attrs.field(default=None, validator=_COST)
    overhead_once_ns: int = attrs.field(default=0, validator=_COST)
    writer_ns: int | None = attrs.field(default=None, validator=_COST)
    reason: str | None = None
