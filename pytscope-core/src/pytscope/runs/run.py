"""`Run`: the read-only, columnar view of what was recorded.

A run holds one `Timeline` per rank; a timeline holds the analysed attempts
and one row per completed optimizer step, over all of them, in recording order.
Per attempt, in integer nanoseconds::

    wall = sum(startup) + sum(steps) + lost + sum(shutdown)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from pytscope.model.records import NOT_TRAINING, Flag, Segment, StepRecord, phase_order
from pytscope.runs.attempt import Attempt, Evaluation, Gap, OpenState, Span
from pytscope.runs.column_store import Bools, ColumnStore, Floats, Ints, exact_sum, read_only
from pytscope.runs.last_pass import last_pass
from pytscope.runs.notes import ReadNote
from pytscope.runs.series import SeriesKind, named

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
    "Span",
    "Timeline",
    "exact_sum",
]


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
        spans: Callable[[], tuple[Span, ...]] = tuple,
        steps_ns: int | None = None,
    ) -> None:
        self.rank = rank
        self.attempts = attempts
        self.step = read_only(step)
        self.attempt = read_only(attempt)
        self.start_ns = read_only(start_ns)
        self.wall_ns = read_only(wall_ns)
        self.flags = read_only(flags)
        self.micro_batches = read_only(micro_batches)
        self.metadata: Mapping[str, Any] = metadata or {}
        self._columns = columns
        self._spans = spans
        self._steps_ns = steps_ns

    def __len__(self) -> int:
        """Number of completed steps."""
        return len(self.step)

    @property
    def phases(self) -> tuple[str, ...]:
        """Names of the phases any step has, in display order."""
        return _in_order(self._columns.names("phase"))

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

    @property
    def device_phases(self) -> tuple[str, ...]:
        """Names of the phases that any step has on the device clock."""
        return _in_order(self._columns.names("device"))

    def phase_ns(self, name: str) -> Ints:
        """Nanoseconds of a phase in every step; 0 where a step has none of it."""
        if name in self._columns.names("phase"):
            return self._columns.dense("phase", name, len(self))
        return np.zeros(len(self), np.int64)

    def phase_sum_ns(self, name: str, without: Ints | None = None) -> int:
        """Nanoseconds of a phase over all steps, exact.

        Args:
            name: The phase.
            without: Rows to leave out.
        """
        if name not in self._columns.names("phase"):
            return 0
        total = self._columns.total("phase", name)
        if without is None or not len(without):
            return total
        return total - exact_sum(self.phase_ns(name)[without])

    def enclosed_ns(self, inner: str, outer: str) -> tuple[Ints, Ints]:
        """Rows in which one phase stands between two segments of another.

        Args:
            inner: The phase between, such as `data`.
            outer: The phase on both sides, such as `eval`.

        Returns:
            The rows, and nanoseconds of the inner phase that stand so.
        """
        return self._columns.enclosed(inner, outer)

    def last_segment(self, phase: str) -> tuple[Ints, Ints, Ints]:
        """Rows that have a phase; begin and end of its last segment, ns into the step."""
        return self._columns.last_segment(phase)

    def column(
        self, kind: str, name: str, rows: range | None = None
    ) -> tuple[Ints, npt.NDArray[Any]]:
        """Rows that have a column, and its values.

        Args:
            kind: One of `phase device scalar memory extra`.
            name: The column's name.
            rows: Stretch of rows to look at; all by default.

        Raises:
            KeyError: The rank has no such column.
        """
        if name not in self._columns.names(kind):
            raise KeyError(name)
        if rows is not None:
            return self._columns.part(kind, name, rows.start, rows.stop)
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
        """Mask of the steps that count in rates: neither warm-up, redone nor profiled."""
        return ~self.has(Flag.WARMUP | Flag.REDONE | Flag.PROFILED)

    @property
    def steps_ns(self) -> int:
        """Wall time of all steps, exact."""
        if self._steps_ns is None:
            self._steps_ns = exact_sum(self.wall_ns)
        return self._steps_ns

    @property
    def measured_ns(self) -> int:
        """Measured wall time: the sum over the attempts, exact."""
        total = self.steps_ns
        for attempt in self.attempts:
            total += attempt.lost_ns + (attempt.unplaced_ns or 0)
            total += sum(ns for _, ns in attempt.startup) + sum(ns for _, ns in attempt.shutdown)
        return total

    def spans(self) -> tuple[Span, ...]:
        """What other threads did meanwhile, in the order in which it was written."""
        return self._spans()

    def segments(self, row: int) -> tuple[Segment, ...]:
        """Segments of one row, in time order, none of length zero."""
        return self._columns.segments(row)

    def segments_of(self, rows: Ints) -> list[tuple[Segment, ...]]:
        """Segments of many rows, as `segments` gives those of one."""
        return self._columns.many(rows)

    def records(self) -> Iterator[StepRecord]:
        """Every step as a record; for export and inspection, not for analysis."""
        from pytscope.runs.step_records import step_records  # it needs this module's types

        return step_records(self, self._columns)

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
            lambda rows: source.many(keep[rows]),
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
            spans=self._spans,
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
            spans=self._spans,
            steps_ns=self._steps_ns,
        )


@attrs.frozen(eq=False, slots=False)
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
        evaluations: Those outside of training, by rank and in order, beside the wall.
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
    evaluations: tuple[Evaluation, ...] = attrs.field(default=(), repr=False)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks present, ascending."""
        return tuple(t.rank for t in self.timelines)

    def rank(self, rank: int) -> Timeline:
        """One rank's timeline.

        Raises:
            KeyError: The rank left no record.
        """
        return self._by_rank[rank]

    def spans(self, rank: int | None = None) -> tuple[Span, ...]:
        """What threads other than the recording one did.

        Args:
            rank: Rank; the lowest one present by default.

        Raises:
            KeyError: The rank left no record.
        """
        return (self.timelines[0] if rank is None else self.rank(rank)).spans()

    @functools.cached_property
    def _by_rank(self) -> Mapping[int, Timeline]:
        return {timeline.rank: timeline for timeline in reversed(self.timelines)}

    @property
    def has_wall(self) -> bool:
        """Whether the wall of the attempts was measured, step by step or as a whole.

        If not, what counts as wall is the sum of the recorded durations.
        """
        stepped = [timeline for timeline in self.timelines if len(timeline)]
        return self.has_timeline or all(
            attempt.unplaced_ns is not None for t in stepped for attempt in t.attempts
        )

    @functools.cached_property
    def shown(self) -> Timeline:
        """The rank whose wall time is the (lower) median: the one reports show.

        Ranks without a step are not shown as long as another rank has one.
        """
        stepped = [timeline for timeline in self.timelines if len(timeline)]
        by_wall = sorted(stepped or self.timelines, key=lambda t: (t.measured_ns, t.rank))
        return by_wall[(len(by_wall) - 1) // 2]

    def series(
        self, name: str, rank: int | None = None, *, kind: SeriesKind | None = None
    ) -> tuple[Ints, Floats]:
        """A logged scalar, memory column or phase over steps.

        Args:
            name: `wall`, a phase, or any logged name.
            rank: Rank; the lowest one present by default.
            kind: "logged" for what was logged or collected alone, "phase" for phases and
                `wall` alone. By default what was logged comes first (not before the real
                `wall`), and `loss`, `grad_norm`, `lr`, `tokens`, `samples` are never a phase.

        Returns:
            Step numbers, ascending, and values, of one length; of a step that was done
            again the last time counts. Phases and `wall` are in seconds.

        Raises:
            KeyError: Nothing of that name and kind was recorded.
        """
        timeline = self.timelines[0] if rank is None else self.rank(rank)
        return last_pass(timeline, *named(timeline, name, kind))


@functools.lru_cache(256)
def _in_order(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(phase_order(names))
