"""`Attempt`: one start of one rank's recording process, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from pytscope.model.records import Segment


@attrs.frozen
class OpenState:
    """What was going on when a rank was last heard of, inside an open step.

    Attributes:
        at_ns: When, nanoseconds since the attempt's start.
        step: The step that was open.
        blocks: Names of the open blocks, outermost first.
        segments: What the open step had been made of so far.
    """

    at_ns: int
    step: int
    blocks: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()


@attrs.frozen
class Gap:
    """A place in an attempt whose records are gone.

    Attributes:
        step: Number of the first step that is missing, or that follows missing time.
        steps: Steps that are missing there.
        ns: Measured time that is missing there; below zero when the clock went back.
    """

    step: int
    steps: int
    ns: int


@attrs.frozen
class Attempt:
    """One start of one rank's recording process.

    Attributes:
        number: Ordinal within the run directory, from 0.
        first_step: Global number of the first step it would record.
        start_epoch_ns: Time of day of its start.
        startup: Segments before the first fetch or step.
        shutdown: Segments after the last step end.
        lost_ns: Measured time whose records are gone (damaged or dropped).
        lost_steps: Steps whose records are gone.
        dropped_steps: Those of them the writer dropped on a stalled disk.
        damaged_bytes: Bytes skipped while reading.
        finished: Whether it wrote its end.
        ended_well: Whether that end was a `finish()` that no exception caused.
        open_state: Where it was when last heard of, if a step was open.
        overhead_ns: Recording time on the training thread, as calibrated by
            the recorder, or None when not recorded.
        overhead_once_ns: What of it was not for every step: the start, the end,
            and what the first steps were looked at for.
        writer_ns: CPU time of the writer thread, or None.
        downtime_ns: Time between the previous attempt's last record and this
            one's start, by the time of day; beside the identity.
        warmup: Warm-up steps recorded with the run, or None for automatic.
        events: Rare records, as they were written, each with a `kind`.
        gaps: Where records are gone; their sums are `lost_ns` and `lost_steps`.
        unplaced_ns: Measured time at no known place, where a source knows the
            wall of an attempt but not that of its steps; below zero when the
            steps sum to more. None when there is no such measurement.
        config: The user's configuration of this attempt; the run's is that of the last.
        environment: Provenance of this attempt; likewise.
    """

    number: int
    first_step: int = 0
    start_epoch_ns: int = 0
    startup: tuple[Segment, ...] = ()
    shutdown: tuple[Segment, ...] = ()
    lost_ns: int = 0
    lost_steps: int = 0
    dropped_steps: int = 0
    damaged_bytes: int = 0
    finished: bool = True
    ended_well: bool = False
    open_state: OpenState | None = None
    overhead_ns: int | None = None
    overhead_once_ns: int = 0
    writer_ns: int | None = None
    downtime_ns: int = 0
    warmup: int | None = None
    events: tuple[Mapping[str, Any], ...] = attrs.field(default=(), repr=False)
    gaps: tuple[Gap, ...] = attrs.field(default=(), repr=False)
    unplaced_ns: int | None = None
    config: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    environment: Mapping[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.frozen
class Evaluation:
    """An evaluation outside of training, beside the wall of an attempt.

    Attributes:
        kind: What it was called by, such as `test`.
        rank: The rank that recorded it.
        attempt: Number of the attempt that it belongs to: as a rule the one before it.
        step: Steps that the model had made: its values are of the step before that number.
        start_epoch_ns: Time of day of its start.
        segments: What its wall is made of.
        values: What it found, by name.
        lost_ns: Measured time whose records are gone.
        finished: Whether it wrote its end.
        live: Whether it is being recorded.
        events: Rare records, as they were written, each with a `kind`.
    """

    kind: str
    rank: int
    attempt: int
    step: int = 0
    start_epoch_ns: int = 0
    segments: tuple[Segment, ...] = ()
    values: Mapping[str, int | float] = attrs.field(factory=dict)
    lost_ns: int = 0
    finished: bool = True
    live: bool = False
    events: tuple[Mapping[str, Any], ...] = attrs.field(default=(), repr=False)

    @property
    def wall_ns(self) -> int:
        """Its wall time."""
        return sum(ns for _, ns in self.segments) + self.lost_ns


@attrs.frozen
class Span:
    """What a thread other than the recording one did, beside the timeline.

    Attributes:
        attempt: Number of the attempt whose clock its times are of.
        thread: Name of the thread.
        phase: What it did.
        start_ns: Nanoseconds since the attempt's start.
        end_ns: The same, of its end.
    """

    attempt: int
    thread: str
    phase: str
    start_ns: int
    end_ns: int
