"""`Run`: the read-only, columnar view of what was recorded.

A run holds one `Timeline` per rank; a timeline holds the analysed attempts
and one row per completed optimizer step, over all of them, in recording order.
Per attempt, in integer nanoseconds::

    wall = sum(startup) + sum(steps) + lost + sum(shutdown)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from pytscope.model.records import NOT_TRAINING, Flag, Segment, StepRecord, phase_order
from pytscope.runs.attempt import Attempt, Gap, OpenState

__all__ = [
    "Attempt",
    "Bools",
    "ColumnStore",
    "Floats",
    "Gap",
    "Ints",
    "OpenState",
    "ReadNote",
    "Run",
    "Timeline",
    "measured_wall_ns",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class ColumnStore:
    """Columns by kind and name, decoded on first use.

    Args:
        names: Column names by kind. Kinds: `phase device scalar memory extra`.
        load: Decodes one column: `(kind, name) -> (rows, values)`; `rows`
            are the indices of the steps that have it, in order.
        segments: Gives a row's segments on the host clock.
        device_segments: Gives a row's segments on the device clock, or None.
    """

    def __init__(
        self,
        names: Mapping[str, tuple[str, ...]],
        load: Callable[[str, str], tuple[Ints, npt.NDArray[Any]]],
        segments: Callable[[int], tuple[Segment, ...]],
        device_segments: Callable[[int], tuple[Segment, ...] | None] = lambda _row: None,
    ) -> None:
        self._names = dict(names)
        self._load = load
        self._cache: dict[tuple[str, str], tuple[Ints, npt.NDArray[Any]]] = {}
        self.segments = segments
        self.device_segments = device_segments

    def names(self, kind: str) -> tuple[str, ...]:
        """Names of the columns of a kind."""
        return self._names.get(kind, ())

    def get(self, kind: str, name: str) -> tuple[Ints, npt.NDArray[Any]]:
        """Rows that have the column, and its values there."""
        key = (kind, name)
        if key not in self._cache:
            self._cache[key] = self._load(kind, name)
        return self._cache[key]


class Timeline:
    """One rank's steps as columns of one length, and its attempts.

    Attributes:
        rank: Global rank.
        attempts: The analysed attempts, in order.
        step: Global step numbers, int64.
        attempt: Number of each step's attempt, int64.
        start_ns: Start since the attempt's start, int64.
        wall_ns: Wall time, int64; the sum of the phases.
        flags: `Flag` bits, int64; warm-up included once it is decided.
        micro_batches: Micro-batches a step, int64.
    """

    def __init__(
        self,
        rank: int,
        attempts: tuple[Attempt, ...],
        *,
        step: Ints,
        attempt: Ints,
        start_ns: Ints,
        wall_ns: Ints,
        flags: Ints,
        micro_batches: Ints,
        columns: ColumnStore,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.rank = rank
        self.attempts = attempts
        self.step = step
        self.attempt = attempt
        self.start_ns = start_ns
        self.wall_ns = wall_ns
        self.flags = flags
        self.micro_batches = micro_batches
        self.metadata: Mapping[str, Any] = metadata or {}
        self._columns = columns

    def __len__(self) -> int:
        """Number of completed steps."""
        return len(self.step)

    @property
    def phases(self) -> tuple[str, ...]:
        """Names of the phases any step has, in display order."""
        return tuple(phase_order(self._columns.names("phase")))

    @property
    def scalars(self) -> tuple[str, ...]:
        """Names of the logged scalars."""
        return self._columns.names("scalar")

    @property
    def memory(self) -> tuple[str, ...]:
        """Names of the memory columns."""
        return self._columns.names("memory")

    @property
    def extras(self) -> tuple[str, ...]:
        """Names of the analysis-only duration columns."""
        return self._columns.names("extra")

    def phase_ns(self, name: str) -> Ints:
        """Nanoseconds of a phase in every step; 0 where a step has none of it."""
        dense = np.zeros(len(self), np.int64)
        if name in self._columns.names("phase"):
            rows, values = self._columns.get("phase", name)
            dense[rows] = values
        return dense

    def column(self, kind: str, name: str) -> tuple[Ints, npt.NDArray[Any]]:
        """Rows that have a column, and its values.

        Args:
            kind: One of `phase device scalar memory extra`.
            name: The column's name.

        Raises:
            KeyError: The rank has no such column.
        """
        if name not in self._columns.names(kind):
            raise KeyError(name)
        return self._columns.get(kind, name)

    @property
    def training_ns(self) -> Ints:
        """Step wall minus eval, checkpoint, log and compile."""
        out = self.wall_ns.copy()
        for name in NOT_TRAINING:
            out -= self.phase_ns(name)
        return out

    def has(self, flag: Flag) -> Bools:
        """Mask of the steps that carry a flag."""
        mask: Bools = (self.flags & int(flag)) != 0
        return mask

    @property
    def rated(self) -> Bools:
        """Mask of the steps that count in rates: neither warm-up nor redone."""
        return ~self.has(Flag.WARMUP | Flag.REDONE)

    def segments(self, row: int) -> tuple[Segment, ...]:
        """Segments of one row, in time order, none of length zero."""
        return self._columns.segments(row)

    def records(self) -> Iterator[StepRecord]:
        """Every step as a record; for export and inspection, not for analysis."""
        sparse = {
            kind: {
                name: dict(zip(*(a.tolist() for a in self.column(kind, name)), strict=True))
                for name in self._columns.names(kind)
            }
            for kind in ("scalar", "memory", "extra")
        }
        for row in range(len(self)):
            values = {
                kind: {name: col[row] for name, col in cols.items() if row in col}
                for kind, cols in sparse.items()
            }
            yield StepRecord(
                rank=self.rank,
                attempt=int(self.attempt[row]),
                step=int(self.step[row]),
                start_ns=int(self.start_ns[row]),
                wall_ns=int(self.wall_ns[row]),
                segments=self.segments(row),
                device_segments=self._columns.device_segments(row),
                scalars=values["scalar"],
                memory_bytes=values["memory"],
                extras_ns=values["extra"],
                micro_batches=int(self.micro_batches[row]),
                flags=Flag(int(self.flags[row])),
            )

    def select(self, mask: Bools, attempts: tuple[Attempt, ...]) -> Timeline:
        """The same rank with only some rows and the given attempts."""
        keep = np.flatnonzero(mask)
        place = np.full(len(self), -1, np.int64)
        place[keep] = np.arange(len(keep))

        def load(kind: str, name: str) -> tuple[Ints, npt.NDArray[Any]]:
            rows, values = self._columns.get(kind, name)
            there = place[rows] >= 0
            return place[rows[there]], values[there]

        source = self._columns
        columns = ColumnStore(
            {k: source.names(k) for k in ("phase", "device", "scalar", "memory", "extra")},
            load,
            lambda row: source.segments(int(keep[row])),
            lambda row: source.device_segments(int(keep[row])),
        )
        return Timeline(
            self.rank,
            attempts,
            step=self.step[keep],
            attempt=self.attempt[keep],
            start_ns=self.start_ns[keep],
            wall_ns=self.wall_ns[keep],
            flags=self.flags[keep],
            micro_batches=self.micro_batches[keep],
            columns=columns,
            metadata=self.metadata,
        )

    def with_flags(self, flags: Ints) -> Timeline:
        """The same rank with other flags."""
        return Timeline(
            self.rank,
            self.attempts,
            step=self.step,
            attempt=self.attempt,
            start_ns=self.start_ns,
            wall_ns=self.wall_ns,
            flags=flags,
            micro_batches=self.micro_batches,
            columns=self._columns,
            metadata=self.metadata,
        )


@attrs.frozen
class ReadNote:
    """Something about reading that the coverage must say.

    Attributes:
        kind: `damaged`, `second_file`, `clock_step`, `clock_back`, `unreadable_file`,
            `empty_file`, `foreign_file`, `missed_launch` or `limit`.
        message: What was met, with its count.
        rank: Rank concerned, or None.
    """

    kind: str
    message: str
    rank: int | None = None


@attrs.frozen(eq=False)
class Run:
    """A recorded run, read-only.

    Attributes:
        path: Where it was read from.
        name: Name given to it.
        timelines: One per rank present, by rank.
        world_size: Ranks expected, or None when not recorded.
        config: The user's configuration, as recorded.
        environment: Provenance, as recorded.
        source: Name of the source that opened it.
        has_timeline: Whether segments tile the wall; False for sources that
            only know durations.
        flops_per_step: FLOPs of one optimizer step on one rank, or None.
        peak_flops: Peak FLOP/s of one rank's device, or None.
        other_attempts: Attempts in the directory outside the analysed ones.
        window: Steps asked for, both ends included, or None for all.
        live: Whether a recorder holds one of its files at the moment.
        notes: What reading met.
        attachments: Typed values opened beside the run, by type.
    """

    path: str
    name: str
    timelines: tuple[Timeline, ...] = attrs.field(repr=False)
    world_size: int | None = None
    config: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    environment: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    source: str = "memory"
    has_timeline: bool = True
    flops_per_step: float | None = None
    peak_flops: float | None = None
    other_attempts: tuple[int, ...] = ()
    window: tuple[int | None, int | None] | None = None
    live: bool = False
    notes: tuple[ReadNote, ...] = ()
    attachments: Mapping[type, Any] = attrs.field(factory=dict, repr=False)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks present, ascending."""
        return tuple(t.rank for t in self.timelines)

    def rank(self, rank: int) -> Timeline:
        """One rank's timeline.

        Raises:
            KeyError: The rank left no record.
        """
        for timeline in self.timelines:
            if timeline.rank == rank:
                return timeline
        raise KeyError(rank)

    @property
    def shown(self) -> Timeline:
        """The rank whose wall time is the (lower) median: the one reports show.

        Ranks without a step are not shown as long as another rank has one.
        """
        stepped = [timeline for timeline in self.timelines if len(timeline)]
        by_wall = sorted(stepped or self.timelines, key=lambda t: (measured_wall_ns(t), t.rank))
        return by_wall[(len(by_wall) - 1) // 2]

    def series(self, name: str, rank: int | None = None) -> tuple[Ints, Floats]:
        """A logged scalar, memory column or phase over steps.

        Args:
            name: `loss`, `wall`, a phase, or any logged name.
            rank: Rank; the lowest one present by default.

        Returns:
            Step numbers and values, of one length; redone steps are left out.
            Phases and `wall` are in seconds.

        Raises:
            KeyError: Nothing of that name was recorded.
        """
        timeline = self.timelines[0] if rank is None else self.rank(rank)
        if name == "wall":
            rows: Ints = np.arange(len(timeline))
            values = timeline.wall_ns * 1e-9
        elif name in timeline.scalars:
            rows, values = timeline.column("scalar", name)
        elif name in timeline.memory:
            rows, values = timeline.column("memory", name)
        elif name in timeline.phases:
            rows = np.arange(len(timeline))
            values = timeline.phase_ns(name) * 1e-9
        else:
            raise KeyError(name)
        keep = ~timeline.has(Flag.REDONE)[rows]
        return timeline.step[rows][keep], np.asarray(values, np.float64)[keep]


def measured_wall_ns(timeline: Timeline) -> int:
    """Measured wall time of a rank: the sum over its attempts, exact."""
    total = int(timeline.wall_ns.sum())
    for attempt in timeline.attempts:
        total += attempt.lost_ns
        total += sum(ns for _, ns in attempt.startup) + sum(ns for _, ns in attempt.shutdown)
    return total
