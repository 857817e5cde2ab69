"""Where an attempt's wall time went, to the nanosecond, and what of it is lost."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import attrs

from pytscope.model.records import Segment
from pytscope.runs.recorded import RecordedAttempt
from pytscope.runs.run import Attempt, Gap, OpenState

CLOCK_STEP_NS = 1_000_000_000
"""Drift between the monotonic clock and the time of day that is worth a note."""


@attrs.frozen(eq=False)
class Account:
    """An attempt and the length of its wall.

    Attributes:
        attempt: The attempt.
        wall_ns: From its start to the last stamp on disk.
    """

    attempt: Attempt
    wall_ns: int


def account(
    recorded: RecordedAttempt, sums: Sequence[int], number: int, last_epoch_ns: int | None
) -> Account:
    """Account for an attempt's wall: startup, steps, what is lost, shutdown.

    Every block says where it starts and every step how long it is, so a block
    that does not start where the one before it ends leaves a gap whose length
    is known even though its records are gone.

    Args:
        recorded: The attempt's records.
        sums: Wall time of each of its blocks.
        number: Number of the attempt.
        last_epoch_ns: Time of day when the attempt before it was last heard of,
            or None when there is none.
    """
    startup, shutdown, end_ns = _regions(recorded)
    gaps = tuple(_gaps(recorded, sum(ns for _, ns in startup), sums, end_ns))
    end, start = recorded.end, recorded.start_epoch_ns
    attempt = Attempt(
        number=number,
        first_step=recorded.first_step,
        start_epoch_ns=start,
        startup=startup,
        shutdown=shutdown,
        lost_ns=sum(gap.ns for gap in gaps),
        lost_steps=sum(gap.steps for gap in gaps),
        dropped_steps=recorded.dropped,
        damaged_bytes=recorded.damaged_bytes,
        finished=end is not None,
        ended_well=end is not None and end.reason == "finish",
        open_state=_open_state(recorded),
        overhead_ns=end.overhead_ns if end else None,
        overhead_once_ns=end.overhead_once_ns if end else 0,
        writer_ns=end.writer_ns if end else None,
        downtime_ns=0 if last_epoch_ns is None else max(0, start - last_epoch_ns),
        warmup=recorded.run.warmup if recorded.run else None,
        events=recorded.events,
        gaps=gaps,
        config=recorded.run.configuration if recorded.run else {},
        environment={
            **(recorded.run.environment if recorded.run else {}),
            **recorded.provenance,
        },
    )
    parts = (*startup, *shutdown)
    total = sum(ns for _, ns in parts) + sum(sums) + attempt.lost_ns
    return Account(attempt, total)


def _open_state(recorded: RecordedAttempt) -> OpenState | None:
    opened = recorded.opened
    if opened is None or recorded.end is not None:
        return None
    return OpenState(opened.t, opened.step, opened.blocks, opened.segments)


def _regions(
    recorded: RecordedAttempt,
) -> tuple[tuple[Segment, ...], tuple[Segment, ...], int | None]:
    """Startup, shutdown, and where the last step ended if a record tells."""
    startup = recorded.startup
    if recorded.end is not None:
        shutdown = recorded.end.shutdown
        wall = recorded.end.wall_ns
        return _present(startup or ()), _present(shutdown), wall - sum(ns for _, ns in shutdown)
    opened = recorded.opened
    if opened is None:
        return _present(startup or ()), (), None
    begun_ns = opened.t - sum(ns for _, ns in opened.segments)
    if startup is None and not recorded.blocks:
        return _present(opened.segments), (), opened.t
    return _present(startup or ()), _present(opened.segments), begun_ns


def _present(segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    return tuple(segment for segment in segments if segment[1])


def _gaps(
    recorded: RecordedAttempt, startup_ns: int, sums: Sequence[int], end_ns: int | None
) -> Iterator[Gap]:
    at, step = startup_ns, recorded.first_step
    for block, length in zip(recorded.blocks, sums, strict=True):
        if block.t0 != at or block.step > step:
            yield Gap(min(step, block.step), max(0, block.step - step), block.t0 - at)
        at, step = block.t0 + length, block.next_step
    last = _next_step(recorded, step)
    lost_ns = 0 if end_ns is None else end_ns - at
    if lost_ns or last > step:
        yield Gap(step, last - step, lost_ns)


def _next_step(recorded: RecordedAttempt, step: int) -> int:
    """Number of the step after the last one, by the record that follows it."""
    end, opened = recorded.end, recorded.opened
    if end is not None and end.steps is not None:
        return max(step, recorded.first_step + end.steps + end.dropped)
    if opened is not None:
        return max(step, opened.step)
    return step


def end_epoch_ns(recorded: RecordedAttempt, wall_ns: int) -> int:
    """Time of day of an attempt's last stamp, by the nearest anchor before it."""
    if recorded.anchors:
        last = recorded.anchors[-1]
        return last.epoch_ns + max(0, wall_ns - last.t)
    return recorded.start_epoch_ns + wall_ns


def clock_steps(recorded: RecordedAttempt) -> list[int]:
    """How far the time of day jumped against the monotonic clock, each time it did, ns."""
    offsets = [anchor.epoch_ns - anchor.t for anchor in recorded.anchors]
    jumps = [b - a for a, b in itertools.pairwise(offsets)]
    return [jump for jump in jumps if abs(jump) > CLOCK_STEP_NS]
