"""When a rank was ready for its collectives and when they let it go, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from pytscope.runs.run import Bools, Ints, Timeline
from pytscope_rules_distributed.columns import BLOCKED, READY, RELEASE, TOPOLOGY

COMM = "comm"
WRAPPERS = {"ddp", "fsdp1", "fsdp2"}
"""What a recorder calls the wrappers whose waits it stamps."""


@attrs.frozen(eq=False)
class Stamps:
    """One rank's collectives, one value a step that has any.

    Attributes:
        rows: Rows of the rank's timeline.
        release_ns: From the step's begin to the release of its last collective.
        last_ns: Time in the step's last collective, the wait for others and the transfer.
        blocked_ns: Time in the collectives before it.
        own_ns: Time from the release of the step before to readiness for the last
            collective, without the time blocked in between.
        counts: Where `own_ns` is known: the step before is there, in the same attempt.
        segments: Whether they were read from `comm` segments.
    """

    rows: Ints
    release_ns: Ints
    last_ns: Ints
    blocked_ns: Ints
    own_ns: Ints
    counts: Bools
    segments: bool


def stamps(timeline: Timeline) -> Stamps | None:
    """A rank's stamps: from its columns, else from its `comm` segments, else None.

    Segments do not tell where a wrapper is known to synchronise beside them: own times
    that hold its waiting would be alike, whichever rank is slow.
    """
    if {READY, RELEASE, BLOCKED} <= set(timeline.extras):
        return _from_columns(timeline)
    if COMM in timeline.phases and not _wrapped(timeline):
        return _from_segments(timeline)
    return None


def _wrapped(timeline: Timeline) -> bool:
    """Whether a wrapper such as DDP synchronises on its own, outside every `comm` segment."""
    told: Any = timeline.metadata
    for name in ("environment", "torch", "parallelism", "wrappers"):
        told = told.get(name) if isinstance(told, Mapping) else None
    return bool(told) and not _stamped(timeline)


def _stamped(timeline: Timeline) -> bool:
    """Whether the recorder stamps what a wrapper waits for, as `comm` like any other wait."""
    events = (event for attempt in timeline.attempts for event in attempt.events)
    captured = [e.get("captured") for e in events if e.get("kind") == TOPOLOGY]
    return any(isinstance(kinds, list) and WRAPPERS & set(kinds) for kinds in captured)


def _from_columns(timeline: Timeline) -> Stamps | None:
    rows, ready = timeline.column("extra", READY)
    others = [timeline.column("extra", name) for name in (RELEASE, BLOCKED)]
    for its_rows, _ in others:
        if len(its_rows) != len(rows) or (its_rows != rows).any():
            rows = np.intersect1d(rows, its_rows)
    ready = _at(rows, *timeline.column("extra", READY))
    release, blocked = (_at(rows, *column) for column in others)
    possible = (release >= ready) & (blocked >= 0) & (ready >= 0)
    if not possible.any():
        return None
    return _of(timeline, rows[possible], ready[possible], release[possible], blocked[possible])


def _at(rows: Ints, its_rows: Ints, values: Ints) -> Ints:
    return values if len(rows) == len(its_rows) else values[np.searchsorted(its_rows, rows)]


def _from_segments(timeline: Timeline) -> Stamps | None:
    rows, begin, end = timeline.last_segment(COMM)
    if not len(rows):
        return None
    blocked = timeline.phase_ns(COMM)[rows] - (end - begin)
    return _of(timeline, rows, begin, end, blocked, segments=True)


def _of(
    timeline: Timeline,
    rows: Ints,
    ready: Ints,
    release: Ints,
    blocked: Ints,
    *,
    segments: bool = False,
) -> Stamps:
    """Stamps out of what a step holds; own time reaches back to the step before."""
    start = timeline.start_ns[rows]
    own = ready - blocked
    own[1:] += start[1:] - (start[:-1] + release[:-1])
    counts: Bools = np.ones(len(rows), np.bool_)
    counts[:1] = False
    if len(rows) > 1:
        # Where records are missing in between, nobody knows what the time was spent on.
        offset = timeline.start_ns - (np.cumsum(timeline.wall_ns) - timeline.wall_ns)
        first, second = rows[:-1], rows[1:]
        counts[1:] = (offset[first] == offset[second]) & (
            timeline.attempt[first] == timeline.attempt[second]
        )
    return Stamps(rows, release, release - ready, blocked, own, counts, segments)
