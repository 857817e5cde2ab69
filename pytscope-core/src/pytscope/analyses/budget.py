"""`Budget`: a rank's measured wall as lines that exclude each other and sum to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from pytscope.analyses.around import Around
from pytscope.analyses.few import few
from pytscope.analyses.units import duration, percent
from pytscope.model.findings import Severity, StepRange
from pytscope.model.jsonable import SHORTENED
from pytscope.model.panels import Meter, Panel, Row, Status, Text

LINES = (
    "useful_compute",
    "recompute",
    "compute_overhead",
    "compute",
    "data_stall",
    "h2d",
    "communication",
    "straggler_wait",
    "pipeline_bubble",
    "eval",
    "checkpoint",
    "log",
    "compile",
    "gc",
    "failed",
    "other",
    "startup",
    "warmup",
    "profiled",
    "redone",
    "lost",
    "shutdown",
)
"""Lines core knows, in display order; a user's phases come before `other`."""

LINE_OF = {
    "data": "data_stall",
    "comm": "communication",
    **dict.fromkeys(("forward", "backward", "loss", "optimizer", "compute", "no_grad"), "compute"),
    **{
        name: name
        for name in ("h2d", "eval", "checkpoint", "log", "compile", "gc", "failed", "other")
    },
}
"""Line of pytscope's own phases."""

RECOVERABLE = frozenset(
    {
        "data_stall",
        "h2d",
        "communication",
        "straggler_wait",
        "pipeline_bubble",
        "compute_overhead",
        "gc",
        "compile",
        "log",
        "redone",
        "checkpoint",
    }
)
"""Lines whose seconds a change to the run can win back."""

TARGET_MFU = 0.40
"""MFU of the counted steps that a tuned run reaches."""
TUNED_SHARE = 0.20
"""Share of wall that a tuned run still leaves in stalls."""
_TOLD_AROUND = 0.05
"""Part of a line outside of the steps from which the panel says where it lies."""
UNNAMED_WATCH = 0.25
"""Share of `other` from which a panel says `watch`, and from which the rule speaks."""
WARMUP_WATCH = 0.50
"""Share of warm-up from which the panel says `watch`: most of the wall is in no rate."""


def _few_ranks(by_rank: Mapping[int, int]) -> Mapping[int, int]:
    return dict(few(by_rank.items(), lambda item: (item[1], item[0])))


@attrs.frozen(eq=False)
class BudgetPart:
    """Time that an analyzer moves from one line to another; made to be subclassed.

    Subclasses are decorated with `attrs.frozen(eq=False, kw_only=True)`.

    Attributes:
        take_from: Line that loses it.
        give_to: Line that gains it, new or known.
        ns: How much, on the shown rank.
        why: What it was read from, as a clause.
        by_rank: How much on each rank, where more than the shown one is known;
            it replaces `ns` for the ranks it names.
    """

    take_from: str
    give_to: str
    ns: int
    why: str
    by_rank: Mapping[int, int] = attrs.field(factory=dict, metadata={SHORTENED: _few_ranks})


@attrs.frozen
class BudgetLine:
    """One line of a budget.

    Attributes:
        name: One of `LINES` or a user's phase.
        ns: Nanoseconds; below zero only when something is impossible.
        share: Of the rank's measured wall.
        recoverable: Whether a change to the run can win it back.
    """

    name: str
    ns: int
    share: float
    recoverable: bool


@attrs.frozen
class Impossible:
    """Values that contradict each other.

    Attributes:
        kind: What contradicts: `mfu`, `compute`, `figures`, `part`, `phases`, `clock`.
        message: The contradiction, with its numbers, as a sentence.
        suspect: What is probably wrong, as a clause.
        ranks: Ranks on which it was seen.
    """

    kind: str
    message: str
    suspect: str
    ranks: tuple[int, ...] = ()


@attrs.frozen
class RankBudget:
    """One rank's budget.

    Attributes:
        rank: The rank.
        wall_ns: Its measured wall: the exact sum of its lines.
        lines: Its lines, in display order.
        mfu: Useful compute over its wall, or None when not measured.
        role: `min`, `median` or `max` wall when only those ranks are kept.
    """

    rank: int
    wall_ns: int
    lines: tuple[BudgetLine, ...]
    mfu: float | None = None
    role: str = ""


@attrs.frozen(eq=False, kw_only=True)
class Budget:
    """Where the measured wall went, to the nanosecond.

    Attributes:
        shown_rank: Rank whose wall is the (lower) median; `wall_ns`, `lines`
            and `mfu` are its own.
        wall_ns: Its measured wall: startup, steps, lost records, shutdown.
        lines: Its lines; they sum to `wall_ns`.
        ranks: The lines of every rank; of more than 64, those of the least,
            the median and the greatest wall.
        rank_count: Number of ranks in the run.
        mfu: Model FLOPs utilisation over the wall: FLOPs of the counted steps
            at peak, over `wall_ns`; None when not measured.
        mfu_steps: The same FLOPs over the wall of the counted steps alone.
        mfu_reason: What is missing when `mfu` is None, else empty.
        flops_per_step: FLOPs of one step on one rank, or None.
        peak_flops: Peak FLOP/s of one rank's device, or None.
        steps: Steps counted: neither warm-up nor redone.
        steps_wall_ns: Their summed wall.
        step_ranges: Those steps.
        downtime_ns: Time between attempts, beside the wall.
        has_timeline: Whether the wall of every step was measured.
        has_wall: Whether the wall was measured; if not, `wall_ns` is the sum of
            the recorded durations.
        impossible: Contradictions; the lines are as computed, never clamped.
        parts: What other analyzers moved between lines, and why.
        exchange_measured: Whether the ranks' exchange has a phase (`comm`) in most of
            the steps counted; None in a run of one rank.
        around: What of the shown rank's lines lies before the first steps of its attempts
            and after the last, by line; without startup and shutdown themselves.
    """

    shown_rank: int
    wall_ns: int
    lines: tuple[BudgetLine, ...]
    ranks: tuple[RankBudget, ...] = ()
    rank_count: int = 1
    mfu: float | None = None
    mfu_steps: float | None = None
    mfu_reason: str = ""
    flops_per_step: float | None = None
    peak_flops: float | None = None
    steps: int = 0
    steps_wall_ns: int = 0
    step_ranges: tuple[StepRange, ...] = ()
    downtime_ns: int = 0
    has_timeline: bool = True
    has_wall: bool = True
    impossible: tuple[Impossible, ...] = ()
    parts: tuple[Mapping[str, Any], ...] = ()
    exchange_measured: bool | None = None
    around: Mapping[str, Around] = attrs.field(factory=dict)

    @property
    def measured(self) -> str:
        """What `wall_ns` is: `wall`, or `recorded time` when no wall was measured."""
        return "wall" if self.has_wall else "recorded time"

    def ns(self, name: str) -> int:
        """Nanoseconds of a line of the shown rank; 0 for an absent one."""
        return next((line.ns for line in self.lines if line.name == name), 0)

    def share(self, name: str) -> float:
        """A line's share of the shown rank's wall; 0.0 for an absent one."""
        return self.ns(name) / self.wall_ns if self.wall_ns else 0.0

    @property
    def recoverable(self) -> tuple[BudgetLine, ...]:
        """The recoverable lines above zero, largest first."""
        lines = [line for line in self.lines if line.recoverable and line.ns > 0]
        return tuple(sorted(lines, key=lambda line: (-line.ns, line.name)))

    @property
    def stalls(self) -> tuple[BudgetLine, ...]:
        """The recoverable lines in which no compute runs, largest first."""
        return tuple(line for line in self.recoverable if line.name != "compute_overhead")

    def led_by(self, name: str) -> bool:
        """Whether a line is the largest of `stalls`, which EFFICIENCY.RECOVERABLE starts with.

        A finding that names the cause of that line lists that rule in its `explains`.
        """
        return bool(self.stalls) and self.stalls[0].name == name

    @property
    def recoverable_share(self) -> float:
        """The recoverable lines' part of the wall."""
        return sum(line.ns for line in self.recoverable) / self.wall_ns if self.wall_ns else 0.0

    @property
    def stall_share(self) -> float:
        """The stalls' part of the wall."""
        return sum(line.ns for line in self.stalls) / self.wall_ns if self.wall_ns else 0.0

    def panel(self) -> Panel:
        """The EFFICIENCY BUDGET panel."""
        return Panel(
            "budget",
            "EFFICIENCY BUDGET",
            self._headline(),
            self._status(),
            self._rows(),
            order=20,
        )

    def _headline(self) -> str:
        wall = f"{duration(self.wall_ns)} {self.measured}"
        if self.mfu is None:
            return f"{wall} · {percent(self.recoverable_share)} recoverable · MFU not measured"
        useful = f"useful compute {percent(self.share('useful_compute'))} of {wall}"
        return f"MFU {percent(self.mfu)} · {useful if self._split else wall}"

    @property
    def _split(self) -> bool:
        return any(line.name == "useful_compute" for line in self.lines)

    def _status(self) -> Status:
        if self.impossible or (self.mfu_steps is not None and self.mfu_steps < TARGET_MFU):
            return Status.BAD
        stalls = Severity.of_share(self.stall_share - TUNED_SHARE)
        if stalls is Severity.HIGH:
            return Status.BAD
        if not self.steps:
            return Status.NOT_MEASURED
        unknown = self.share("other") >= UNNAMED_WATCH or self.share("warmup") >= WARMUP_WATCH
        return Status.WATCH if unknown or stalls is not Severity.INFO else Status.OK

    def _rows(self) -> Iterator[Row]:
        for line in self.lines:
            note = "recoverable" if line.recoverable else ""
            if line.name == "communication" and self.exchange_measured is False:
                note = "only what has a phase; the rest is not measured"
            beside = self.around.get(line.name, Around())
            if self.steps and beside.ns >= max(_TOLD_AROUND * line.ns, 1):
                note = ", ".join(part for part in (note, beside.amounts) if part)
            yield Meter(line.name, line.share, duration(line.ns), note, group="budget")
        for seen in self.impossible:
            yield Text(f"impossible: {seen.message} Suspect: {seen.suspect}.")
        yield from map(Text, self._notes())

    def _notes(self) -> Iterator[str]:
        if self.mfu_steps is not None and self.steps_wall_ns != self.wall_ns:
            yield (
                f"over the {duration(self.steps_wall_ns)} of counted steps alone, "
                f"MFU is {percent(self.mfu_steps)}"
            )
        for part in self.parts:
            if part["ns"]:
                lines = f"{part['take_from']} counted as {part['give_to']}"
                yield f"{duration(part['ns'])} of {lines}: {part['why']}"
        if self.exchange_measured is False:
            yield (
                "communication between ranks is not measured: it has no phase in most steps and is "
                "inside others, such as backward"
            )
        if self.rank_count > 1:
            which = f"rank {self.shown_rank} of {self.rank_count} shown"
            yield f"{which}, the one of median {self.measured}"
        if not self.has_wall:
            yield "recorded time, not wall: the source knows only durations"
        elif not self.has_timeline:
            yield "the wall is the whole run's; what no step recorded of it is `other`"
        if self.downtime_ns:
            yield f"{duration(self.downtime_ns)} between attempts, beside this wall"
