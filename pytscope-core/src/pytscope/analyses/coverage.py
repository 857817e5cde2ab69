"""`Coverage`: what was recorded, what is missing, and where the recording stopped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from pytscope.analyses.few import few
from pytscope.analyses.units import count, duration, percent, ranks_named
from pytscope.model.findings import StepRange
from pytscope.model.jsonable import SHORTENED
from pytscope.model.panels import Panel, Row, Status, Table, Text
from pytscope.model.wording import listed
from pytscope.runs.run import ReadNote

FEW_STEPS = 20
"""Rated steps below which verdicts on timing are weak."""
UNENDED = "there are marks, but nothing ended a step"  # as the recorder warns of it
MOST_RANK_ROWS = 16
"""Ranks that the panel lists one by one."""
MOST_LINES = 8
"""Warnings, notes and exceptions that the panel prints, of each."""


@attrs.frozen
class Seen:
    """An exception that passed through the recorder.

    Attributes:
        rank: Rank it was seen on.
        attempt: Attempt it was seen in.
        step: Step that was open or due, or None when there was none yet.
        type: Name of its class.
        message: Its message.
        ended: Whether no step was completed after it.
    """

    rank: int
    attempt: int
    step: int | None
    type: str
    message: str
    ended: bool

    def __str__(self) -> str:
        said = f"{self.type}: {self.message}" if self.message else self.type
        return said if self.step is None else f"{said} (step {self.step})"


@attrs.frozen
class Stop:
    """Where a rank was when it was last heard of.

    Attributes:
        last_step: Last completed step, or None.
        open_step: Step that was open, or None when that is not known.
        blocks: Names of the open blocks, outermost first.
        phase: What it was in: the innermost block, or the last segment's phase.
        for_ns: How long it had been in it, at least; None when not known.
    """

    last_step: int | None
    open_step: int | None = None
    blocks: tuple[str, ...] = ()
    phase: str = ""
    for_ns: int | None = None

    def __str__(self) -> str:
        after = "before any step" if self.last_step is None else f"after step {self.last_step}"
        if self.open_step is None:
            return f"{after}; what came next was not recorded"
        long = f" for {duration(self.for_ns)}" if self.for_ns else ""
        inside = " > ".join(self.blocks)
        where = f"in {inside}{long}" if inside else f"in {self.phase or 'no phase'}{long}"
        return f"{after}, in step {self.open_step}, {where}"


@attrs.frozen
class ClockFault:
    """Times of one rank that contradict each other.

    Attributes:
        kind: `back` when durations below zero were measured, `overlap` when an
            attempt starts before the one before it ended, `unset` when the time
            of day is of a clock that nobody set, `jump` when reading met a jump
            of the time of day.
        rank: The rank, or None when reading did not say which.
        message: What was met, as a sentence.
        ns: Measured time that is below zero, as a positive number; 0 for
            faults of the time of day.
        steps: Steps concerned, where they are known.
    """

    kind: str
    rank: int | None
    message: str
    ns: int = 0
    steps: tuple[StepRange, ...] = ()


@attrs.frozen(kw_only=True)
class RankCoverage:
    """One rank's records.

    Attributes:
        rank: The rank.
        steps: Completed steps, without those done again later.
        rated_steps: Those that count in rates.
        warmup_steps: Those left out as warm-up.
        redone_steps: Steps that a later attempt did again.
        first_step: Number of the first completed step, or None without one.
        last_step: Number of the last one, or None.
        lacking_steps: Steps that another rank has and this one has not, beyond
            those whose records are lost.
        redone_ns: Wall of the steps done again.
        restart_ns: Startup of the attempts after the first one analysed.
        downtime_ns: Time between its attempts, beside its wall.
        attempts: Attempts analysed.
        finished: Whether the last attempt wrote its end.
        exited: Whether it did not because the process left by itself, without
            an exception, before `finish()`.
        stop: Where it was last heard of when it did not, else None.
        ended_by: The exception that ended its last attempt, or None.
        wall_ns: Measured wall.
        lost_ns: Measured wall whose records are gone.
        lost_steps: Steps whose records are gone.
        dropped_steps: Those of them dropped because the disk did not keep up.
        damaged_bytes: Bytes that could not be read.
        overhead_ns: Recording time on the training thread, or None.
        overhead_once_ns: What of it was for the start, the end and the first steps.
    """

    rank: int
    steps: int
    rated_steps: int
    warmup_steps: int
    redone_steps: int
    first_step: int | None = None
    last_step: int | None = None
    lacking_steps: int = 0
    redone_ns: int = 0
    restart_ns: int = 0
    downtime_ns: int = 0
    attempts: tuple[int, ...]
    finished: bool
    exited: bool = False
    stop: Stop | None
    ended_by: Seen | None
    wall_ns: int
    lost_ns: int
    lost_steps: int
    dropped_steps: int
    damaged_bytes: int
    overhead_ns: int | None
    overhead_once_ns: int = 0


def _few_ranks(ranks: tuple[RankCoverage, ...]) -> tuple[RankCoverage, ...]:
    return few(ranks, lambda rank: (rank.wall_ns, rank.rank))


def _few_steps(steps: Mapping[int, int]) -> Mapping[int, int]:
    return dict(few(steps.items(), lambda item: (item[1], item[0])))


@attrs.frozen(eq=False, kw_only=True)
class Coverage:
    """What the run's records cover.

    Attributes:
        shown_rank: Rank that timing and budget show; counts of steps are its own.
        steps: Its completed steps, without those done again later.
        rated_steps: Those that count in rates.
        warmup_steps: Those left out as warm-up.
        redone_steps: Steps that a later attempt did again.
        ranks_expected: World size, or None when not recorded.
        ranks_present: Ranks that left records.
        ranks_missing: Ranks that left none, of the world size, of the numbers
            below the highest one present and of the files that gave nothing.
        ranks_empty: Ranks present without a completed step.
        recorded: `zero` when only rank 0 was to record, `all`, or None when
            that was not recorded.
        common_steps: Steps that every rank present has.
        all_steps: Steps that any rank has.
        steps_by_rank: Completed steps by rank; of more than 64 ranks, JSON holds
            those with the fewest, the median and the most.
        ranks: Every rank's records; of more than 64, JSON holds those of the
            least, the median and the greatest wall.
        attempts: Attempts analysed.
        other_attempts: Attempts of the directory outside the analysed ones.
        window: Steps asked for, or None for all.
        live: Whether a recorder still holds one of the files.
        finished: Whether the last attempt of every rank wrote its end.
        downtime_ns: Time between the shown rank's attempts.
        lost_steps: Steps whose records are gone, over all ranks.
        lost_ns: Measured wall whose records are gone, over all ranks.
        dropped_steps: Those of them dropped by the writers.
        damaged_bytes: Bytes that could not be read, over all ranks.
        overhead_ns_per_step: Recording time a step, shown rank, or None.
        overhead_once_ns: Its recording time for the start, the end and the first steps, or None.
        overhead_share: All its recording time as a share of its wall, or None.
        exceptions: Exceptions that passed through the recorders.
        warnings: What the recorders warned of.
        notes: What reading met.
        clock_faults: Times that contradict each other.
        scalars: Names of the values the shown rank logged.
        skipped_steps: Its steps whose update was skipped.
        has_wall: Whether the ranks' wall was measured; if not, it is the sum of
            the recorded durations.
        one_file: Whether a single rank's file was opened instead of the run's folder.
    """

    shown_rank: int
    steps: int
    rated_steps: int
    warmup_steps: int
    redone_steps: int
    ranks_expected: int | None
    ranks_present: tuple[int, ...]
    ranks_missing: tuple[int, ...]
    ranks_empty: tuple[int, ...]
    recorded: str | None
    common_steps: int
    steps_by_rank: Mapping[int, int] = attrs.field(metadata={SHORTENED: _few_steps})
    ranks: tuple[RankCoverage, ...] = attrs.field(metadata={SHORTENED: _few_ranks})
    attempts: tuple[int, ...]
    other_attempts: tuple[int, ...]
    window: tuple[int | None, int | None] | None
    live: bool
    finished: bool
    downtime_ns: int
    lost_steps: int
    lost_ns: int
    dropped_steps: int
    damaged_bytes: int
    overhead_ns_per_step: float | None
    overhead_share: float | None
    exceptions: tuple[Seen, ...]
    warnings: tuple[str, ...]
    notes: tuple[ReadNote, ...]
    all_steps: int = 0
    overhead_once_ns: int | None = None
    clock_faults: tuple[ClockFault, ...] = ()
    scalars: tuple[str, ...] = ()
    skipped_steps: int = 0
    has_wall: bool = True
    one_file: bool = False

    @property
    def by_choice(self) -> bool:
        """Whether ranks are missing because one file was opened, or only rank 0 was to record."""
        return self.one_file or (self.recorded == "zero" and self.ranks_present == (0,))

    @property
    def untrained(self) -> bool:
        """Whether evaluations outside of a training are all that was recorded."""
        alone = (n.rank is None for n in self.notes if n.kind == "evaluations_alone")
        return any(alone) and not self.steps

    @property
    def unended(self) -> bool:
        """Whether there are marks, and nothing that ends a step."""
        return not self.steps and any(said.startswith(UNENDED) for said in self.warnings)

    @property
    def stopped(self) -> tuple[RankCoverage, ...]:
        """Ranks whose recording stopped without an end, or by an exception."""
        if self.live:
            return ()
        return tuple(r for r in self.ranks if not r.finished or r.ended_by is not None)

    @property
    def short(self) -> tuple[RankCoverage, ...]:
        """Ranks with steps that lack some of those that other ranks have."""
        if self.live:
            return ()
        return tuple(rank for rank in self.ranks if rank.steps and rank.lacking_steps)

    @property
    def world(self) -> int:
        """Ranks of the job: the recorded number, or what the ranks known of imply."""
        known = (*self.ranks_present, *self.ranks_missing)
        return max(self.ranks_expected or 0, max(known, default=-1) + 1)

    @property
    def exited(self) -> bool:
        """Whether every rank that stopped is one whose process left by itself."""
        return bool(self.stopped) and all(rank.exited for rank in self.stopped)

    def panel(self) -> Panel:
        """The COVERAGE panel."""
        return Panel(
            "coverage", "COVERAGE", self._headline(), self._status(), self._rows(), order=30
        )

    def _headline(self) -> str:
        expected = self.ranks_expected
        present = len(self.ranks_present)
        if expected is None or expected == present:
            ranks = count(present, "rank")
        else:
            ranks = f"{present} of {count(expected, 'rank')}"
        steps = f"{count(self.steps, 'step')}, {self.rated_steps:,} rated"
        if self.live:
            end = "still recording"
        elif self.exited:
            end = "left without finish()"
        elif not self.finished:
            end = "did not finish"
        else:
            end = "ended by an exception" if self.stopped else "finished"
        return f"{ranks} · {steps} · {end}"

    def _status(self) -> Status:
        missing = (self.ranks_missing and not self.by_choice) or self.ranks_empty
        if missing or (self.stopped and not self.exited) or self.lost_steps or not self.rated_steps:
            return Status.BAD
        short = self.short and not self.live
        lost = self.exited or self.damaged_bytes or self.lost_ns
        minor = any((lost, short, self.notes, self.warnings, self.clock_faults))
        return Status.WATCH if minor or self.rated_steps < FEW_STEPS else Status.OK

    def _rows(self) -> Iterator[Row]:
        for line in (*self._missing(), *self._scope(), *self._met()):
            yield Text(line)
        if 1 < len(self.ranks) <= MOST_RANK_ROWS:
            header = ("rank", "steps", "wall" if self.has_wall else "recorded", "lost", "end")
            yield Table(header, tuple(map(_row, self.ranks)), right=(0, 1, 2, 3))

    def _missing(self) -> Iterator[str]:
        if self.one_file and self.world > 1:
            yield (
                f"one file was opened, of {ranks_named(self.ranks_present)} of {self.world:,}; "
                "its folder has the others"
            )
        elif self.ranks_missing:
            why = " (only rank 0 was set to record)" if self.by_choice else ""
            yield f"no records of {ranks_named(self.ranks_missing)}{why}"
        if self.ranks_empty:
            yield f"no completed step of {ranks_named(self.ranks_empty)}"
        for rank in self.stopped[:MOST_LINES]:
            of_rank = f"rank {rank.rank} " if len(self.ranks) > 1 else ""
            if rank.ended_by is not None:
                yield f"{of_rank}ended by {rank.ended_by}"
            if rank.stop is not None:
                how = "left without finish()" if rank.exited else "did not finish"
                yield f"{of_rank}{how}: last heard of {rank.stop}"
        if self.lost_steps or self.lost_ns or self.damaged_bytes:
            yield (
                f"records lost: {count(self.lost_steps, 'step')}, {duration(self.lost_ns)}; "
                f"{self.dropped_steps:,} dropped while writing, "
                f"{count(self.damaged_bytes, 'byte')} unreadable"
            )

    def _scope(self) -> Iterator[str]:
        if self.warmup_steps:
            yield f"{count(self.warmup_steps, 'warm-up step')} left out of rates"
        if self.redone_steps:
            yield f"{count(self.redone_steps, 'step')} done again by a later attempt"
        if self.window is not None:
            first, last = ("" if bound is None else bound for bound in self.window)
            yield f"steps {first}:{last} asked for"
        if len(self.attempts) > 1 or self.other_attempts:
            left_out = self.other_attempts
            rest = f"; not analysed: {_attempts(left_out)}" if left_out else ""
            yield f"analysed: {_attempts(self.attempts)}{rest}"
        if self.downtime_ns:
            yield f"{duration(self.downtime_ns)} between attempts"
        if len(self.ranks) > 1 and self.common_steps < self.steps:
            yield f"{count(self.common_steps, 'step')} common to all ranks"
        if self.overhead_ns_per_step and self.overhead_share:
            share = f"{self.overhead_share * 100:.2g}% of wall"
            once = self.overhead_once_ns
            besides = f" and {duration(once)} at its start and end" if once else ""
            a_step = f"{duration(self.overhead_ns_per_step)} a step"
            yield f"recording took at least {a_step}{besides}, {share}"

    def _met(self) -> Iterator[str]:
        last = [rank.ended_by for rank in self.ranks]
        passed = [f"exception {seen}" for seen in self.exceptions if seen not in last]
        warned = [f"warning: {message}" for message in self.warnings]
        for lines in (passed, warned, [note.message for note in self.notes]):
            yield from lines[:MOST_LINES]
            if len(lines) > MOST_LINES:
                yield f"and {len(lines) - MOST_LINES:,} more like it"


def _attempts(numbers: tuple[int, ...]) -> str:
    return ("attempt " if len(numbers) == 1 else "attempts ") + listed(map(str, numbers), most=8)


def _row(rank: RankCoverage) -> tuple[str, ...]:
    end = "finished" if rank.finished else "did not finish"
    if rank.exited:
        end = "no finish()"
    if rank.ended_by is not None:
        end = f"ended by {rank.ended_by.type}"
    lost = percent(rank.lost_ns / rank.wall_ns) if rank.wall_ns and rank.lost_ns else "-"
    return str(rank.rank), f"{rank.steps:,}", duration(rank.wall_ns), lost, end
