"""Typed values of the rank file's header lines, named as the keys on disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from pytscope.model.records import Segment

FORMAT = "pytscope.steps"
VERSION = 1


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
        format: Name of the format.
        v: Version of the format.
    """

    epoch_ns: int
    rank: int = 0
    world: int | None = None
    step: int = 0
    name: str | None = None
    config: Any = None
    environment: Mapping[str, Any] = attrs.field(factory=dict)
    warmup: int | None = None
    job: str | int | None = None
    restart: int | None = None
    local_rank: int | None = None
    flops_per_step: float | None = None
    peak_flops: float | None = None
    recorded: str | None = None
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

    t: int
    epoch_ns: int


@attrs.frozen
class StartupEvent:
    """What startup was made of."""

    segments: tuple[Segment, ...]


@attrs.frozen
class LogEvent:
    """Values logged after their step was written; `step` None is the run itself."""

    values: Mapping[str, int | float]
    step: int | None = None


@attrs.frozen
class DroppedEvent:
    """Steps that the writer gave up on a stalled disk."""

    steps: int


@attrs.frozen
class OpenLine:
    """Where an attempt is in a step that has been open for a while."""

    t: int
    step: int
    blocks: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()


@attrs.frozen
class EndLine:
    """The orderly end of an attempt.

    Attributes:
        wall_ns: Wall time of the attempt.
        steps: Steps recorded, or None.
        shutdown: Segments after the last step end.
        dropped: Steps dropped on a stalled disk.
        overhead_ns: Recording time on the training thread, or None.
        writer_ns: CPU time of the writer thread, or None.
        reason: `finish`, or `exception` when one ended the recording.
    """

    wall_ns: int
    steps: int | None = None
    shutdown: tuple[Segment, ...] = ()
    dropped: int = 0
    overhead_ns: int | None = None
    writer_ns: int | None = None
    reason: str | None = None
