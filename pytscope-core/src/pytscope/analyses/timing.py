"""`Timing`: where the rated steps of one rank spend their time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs
import numpy as np

from pytscope.analyses.budget import UNNAMED_WATCH
from pytscope.analyses.column import Column
from pytscope.analyses.throughput import Throughput
from pytscope.analyses.units import count, duration, percent, rate
from pytscope.model.findings import StepRange
from pytscope.model.panels import Meter, Panel, Row, Spark, Status, Text
from pytscope.model.records import NOT_TRAINING
from pytscope.model.wording import listed
from pytscope.runs.run import Bools, Floats

DATA_WATCH = 0.10
"""Share of `data` from which the panel says `watch`, and from which the rule speaks."""
DATA_BAD = 0.20
"""Share of `data` from which the panel says `bad`."""
RARE = 0.5
"""Part of the steps below which a phase's amount is told for each step that has it."""
LONE_STEP = 3.0
"""Multiple of the median from which the panel names the slowest step."""
EVERY_RANK = ("TIMING.DATALOADER_BOUND", "TIMING.GC_PAUSES")
"""Rules on timing that look at every rank."""
SPARK_VALUES = 1_200
"""Most values a sparkline is given; a multiple of the cells that reporters draw."""


@attrs.frozen(eq=False)
class PhaseTiming:
    """One phase over the rated steps.

    Attributes:
        name: The phase.
        total_ns: Its sum.
        median_ns: Its median over the steps that have it.
        p95_ns: Its 95th percentile over the steps that have it.
        share: Its sum over the summed wall of the rated steps.
        steps: Number of steps that have it.
        each: Nanoseconds in every rated step, 0 where a step has none of it.
    """

    name: str
    total_ns: int
    median_ns: int
    p95_ns: int
    share: float
    steps: int
    each: Column


@attrs.frozen(eq=False, kw_only=True)
class Timing:
    """Timing of the shown rank over its rated steps (neither warm-up nor redone).

    Mean and rates come from step wall; median, 95th percentile and spread from
    training time, which is step wall without eval, checkpoint, log and compile.
    Columns have one row for every rated step.

    Attributes:
        rank: The rank.
        ranks: Number of ranks in the run.
        clock: Clock of the durations.
        has_timeline: Whether the durations tile the wall; if not, "wall" is
            the recorded time.
        has_wall: Whether the wall of the run was measured; steps of a run with
            a wall and without a timeline have recorded time alone.
        steps: Number of rated steps, at least one.
        wall_ns: Their summed wall.
        mean_ns: Mean wall.
        median_ns: Median training time.
        p95_ns: 95th percentile of training time.
        spread: 1.4826 times the median absolute deviation of training time,
            over its median.
        steps_per_s: Steps a second; without a timeline the completed steps over
            the wall of the whole run, or None when that was not measured.
        samples_per_s: Logged `samples` a second, or None when not logged; over
            the wall of the rated steps that logged them.
        tokens_per_s: The same of `tokens`.
        throughput: The same in full, by name, with the steps and ranks that
            logged it; without an entry for what no rank logged.
        warmup_steps: Steps left out as warm-up.
        redone_steps: Steps left out because a later attempt did them again.
        step_ranges: The rated steps.
        phases: Phases by name, in display order, with `other`.
        step: Global step numbers.
        wall: Wall, nanoseconds.
        training: Training time, nanoseconds.
        micro_batches: Micro-batches a step.
    """

    rank: int
    ranks: int
    clock: str
    has_timeline: bool
    has_wall: bool = True
    steps: int
    wall_ns: int
    mean_ns: int
    median_ns: int
    p95_ns: int
    spread: float
    steps_per_s: float | None
    samples_per_s: float | None
    tokens_per_s: float | None
    warmup_steps: int
    redone_steps: int
    step_ranges: tuple[StepRange, ...]
    phases: Mapping[str, PhaseTiming]
    throughput: Mapping[str, Throughput] = attrs.field(factory=dict)
    step: Column = attrs.field(repr=False)
    wall: Column = attrs.field(repr=False)
    training: Column = attrs.field(repr=False)
    micro_batches: Column = attrs.field(repr=False)

    @property
    def measured(self) -> str:
        """What the durations of steps are: `wall`, or `recorded time` without a timeline."""
        return "wall" if self.has_timeline else "recorded time"

    def phase(self, name: str) -> PhaseTiming:
        """A phase, all zero when no rated step has it."""
        if name in self.phases:
            return self.phases[name]
        return PhaseTiming(name, 0, 0, 0, 0.0, 0, Column(np.zeros(self.steps, np.int64)))

    def share(self, name: str) -> float:
        """A phase's share of the rated steps' wall, 0 to 1; 0.0 for an absent phase."""
        return self.phase(name).share

    def excess_ns(self, mask: Bools) -> dict[str, int]:
        """How much longer some steps spend in each training phase than the rest do.

        Args:
            mask: The steps, one value for every rated step.

        Returns:
            By phase, the sum over those steps of what exceeds the median of
            the other steps; largest first.
        """
        excess = {
            name: int((phase.each.values[mask] - np.median(phase.each.values[~mask])).sum())
            for name, phase in self.phases.items()
            if name not in NOT_TRAINING and not mask.all()
        }
        return dict(sorted(excess.items(), key=lambda item: -item[1]))

    def panel(self) -> Panel:
        """The TIMING panel."""
        return Panel("timing", "TIMING", self._headline(), self._status(), self._rows(), order=10)

    def _headline(self) -> str:
        every = f"{duration(self.mean_ns)}/step" + ("" if self.has_timeline else " recorded")
        rates = [
            rate(value, what)
            for value, what in (
                (self.steps_per_s, "steps"),
                (self.samples_per_s, "samples"),
                (self.tokens_per_s, "tokens"),
            )
            if value is not None
        ]
        typical = f"median {duration(self.median_ns)} · p95 {duration(self.p95_ns)}"
        whose = [f"rank {self.rank} of {self.ranks:,}"] if self.ranks > 1 else []
        shown = " · ".join([*whose, count(self.steps, "step"), every, *rates])
        return f"{shown}   ({typical} · spread {percent(self.spread)})"

    def _status(self) -> Status:
        data = self.share("data")
        if data >= DATA_BAD:
            return Status.BAD
        unnamed = self.share("other") >= UNNAMED_WATCH
        return Status.WATCH if unnamed or data >= DATA_WATCH else Status.OK

    def _rows(self) -> Iterator[Row]:
        caption = f"{self.measured} of rated steps"
        yield Spark("step time", _thinned(self.wall.values / 1e6), caption)
        for name, phase in self.phases.items():
            rare = phase.steps < RARE * self.steps
            each = duration(phase.total_ns / (phase.steps if rare else self.steps))
            some = f"in {count(phase.steps, 'step')}" if phase.steps < self.steps else ""
            note = f"each, {some}" if rare and phase.steps > 1 else some
            if name == "comm" and rare and self.ranks > 1:
                note += "; exchanges inside other phases are not measured"
            yield Meter(name, phase.share, each, note, group="timing")
        lone = int(np.argmax(self.training.values))
        longest = int(self.training.values[lone])
        if longest >= LONE_STEP * max(self.median_ns, 1):
            times = f"{longest / max(self.median_ns, 1):.0f} times the median"
            yield Text(f"slowest: step {int(self.step.values[lone])}, {duration(longest)}, {times}")
        yield Text(" · ".join(self._notes()))

    def _notes(self) -> Iterator[str]:
        yield f"{self.clock} clock"
        if self.has_timeline and any(name in self.phases for name in NOT_TRAINING):
            yield "shares are of rated steps, those of the budget of the whole wall"
        if self.ranks > 1:
            whole = "wall" if self.has_wall else "recorded time"
            yield f"rank {self.rank} of {self.ranks} shown, the one of median {whole}"
            yield f"checks of timing look at this rank alone, but for {listed(EVERY_RANK)}"
        for what, throughput in self.throughput.items():
            yield from throughput.notes(what, self.steps, self.rank, self.ranks)
        if not self.has_timeline:
            yield "recorded time, not wall: the source knows only durations"
            rates = "steps/s are over the wall of the whole run, its start included"
            yield rates if self.has_wall else "throughput is not measured"
        yield (
            "amounts are means a step, or of the steps that have them where few do; median, p95 "
            "and spread are of training time"
        )


def _thinned(values: Floats) -> tuple[float, ...]:
    """The series, or the maxima of its pieces when it is long."""
    if len(values) <= SPARK_VALUES:
        return tuple(values.tolist())
    starts = np.arange(SPARK_VALUES) * len(values) // SPARK_VALUES
    return tuple(np.maximum.reduceat(values, starts).tolist())
