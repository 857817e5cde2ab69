"""Metrics of time: the step, its phases, and the lines of the efficiency budget."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from pytscope.analyses.budget import LINE_OF, LINES, RECOVERABLE, Budget
from pytscope.analyses.interruptions import Interruptions
from pytscope.analyses.timing import PhaseTiming, Timing
from pytscope.analyses.units import count
from pytscope.gates.reading import Facts, Metric, Reading, absent, given
from pytscope.model.records import NOT_TRAINING, PHASES
from pytscope.model.wording import closest
from pytscope.runs.run import Ints
from pytscope.stats import quantile_interval

PHASE_METRICS = {"share": "share", "ms.mean": "ms", "ms.median": "ms", "ms.p95": "ms"}
"""Endings of the metrics of a phase, with their units."""

_OF_PHASE = {
    "share": "part of the step time that is",
    "ms.mean": "mean time a step of",
    "ms.median": "median of",
    "ms.p95": "95th percentile of",
}
_REGIONS = frozenset(
    ("startup", "warmup", "profiled", "redone", "lost", "shutdown", "other", "failed")
)
"""Lines that need nobody to record them: absent, they are zero."""
NO_TIMING = "no step counts in rates"
NO_BUDGET = "the run has no budget of its wall"


def step_metrics(facts: Facts) -> Iterator[Metric]:
    """Metrics of whole steps."""
    timing = facts.analysis(Timing)
    for name, unit, about in (
        ("step_ms.median", "ms", "median training time of a step"),
        ("step_ms.p95", "ms", "95th percentile of it"),
        ("step_ms.mean", "ms", "mean wall time of a step"),
        ("step.spread", "share", "robust spread of training time over its median"),
        ("steps_per_s", "1/s", "steps a second"),
        ("samples_per_s", "1/s", "logged samples a second, of the rank shown"),
        ("samples_per_s.sum", "1/s", "the same, summed over the ranks that logged them"),
        ("tokens_per_s", "1/s", "logged tokens a second, of the rank shown"),
        ("tokens_per_s.sum", "1/s", "the same, summed over the ranks that logged them"),
    ):
        yield Metric(name, unit, about, partial(_step, timing, name))


def _step(timing: Timing | None, name: str) -> Reading:
    if timing is None:
        return absent(NO_TIMING)
    if name == "step_ms.median":
        return _quantile(timing.median_ns, timing.training.values, 0.5)
    if name == "step_ms.p95":
        return _quantile(timing.p95_ns, timing.training.values, 0.95)
    if name == "step_ms.mean":
        return Reading(timing.mean_ns / 1e6)
    if name == "step.spread":
        return Reading(timing.spread)
    if name == "steps_per_s":
        return given(timing.steps_per_s, "the source knows no wall time")
    what = name.partition("_")[0]
    found = timing.throughput.get(what)
    if name.endswith(".sum"):
        return given(
            found.sum_per_s if found else None, f"no counted step of any rank logged `{what}`"
        )
    missing = f"no counted step of rank {timing.rank} logged `{what}`"
    if found is not None:
        missing += f"; `{name}.sum` has the {count(found.ranks, 'rank')} that did"
    return given(found.per_s if found else None, missing)


def _quantile(told_ns: int, each: Ints, q: float) -> Reading:
    """A quantile as the report tells it, in milliseconds; one step has no interval."""
    value = told_ns / 1e6
    if len(each) == 1:
        return Reading(value)
    _, low, high = quantile_interval(each, q)
    return Reading(value, low=min(low / 1e6, value), high=max(high / 1e6, value))


def phase_metrics(facts: Facts, phase: str) -> Iterator[Metric]:
    """Metrics of one phase: one for every ending of `PHASE_METRICS`."""
    timing = facts.analysis(Timing)
    for ending, unit in PHASE_METRICS.items():
        about = f"{_OF_PHASE[ending]} {phase}"
        if ending in ("ms.median", "ms.p95"):
            about += ", of the steps that have it"
        if ending == "share" and phase in NOT_TRAINING:
            about += f"; of the whole wall: budget.{phase}.share"
        name = f"{phase}.{ending}" if ending == "share" else f"{phase}_{ending}"
        yield Metric(name, unit, about, partial(_phase, facts, timing, phase, ending))


def _phase(facts: Facts, timing: Timing | None, phase: str, ending: str) -> Reading:
    if timing is None:
        return absent(NO_TIMING)
    if phase not in timing.phases:
        return _absent_phase(facts, timing, phase)
    found: PhaseTiming = timing.phases[phase]
    if ending == "share":
        return Reading(found.share)
    if ending == "ms.mean":
        return Reading(found.total_ns / timing.steps / 1e6)
    return Reading((found.median_ns if ending == "ms.median" else found.p95_ns) / 1e6)


def _absent_phase(facts: Facts, timing: Timing, phase: str) -> Reading:
    """Zero where its absence was seen; else nobody can tell."""
    if looked_for(facts, timing, phase):
        return Reading(0.0)
    own = [name for name in timing.phases if name not in PHASES]
    close = closest(phase, own)
    meant = f"; `{close[0]}` was recorded" if close else ""
    return absent(f"no counted step has a phase `{phase}`{meant}")


def looked_for(facts: Facts, timing: Timing | None, phase: str) -> bool:
    """Whether the absence of a phase means that it did not happen."""
    watched = facts.analysis(Interruptions)
    if watched is not None and watched.watches(phase):
        return True
    return phase in ("other", "failed") and timing is not None and timing.has_timeline


def wall_metrics(facts: Facts) -> Iterator[Metric]:
    """Metrics of the measured wall and of the lines that it is made of."""
    budget = facts.analysis(Budget)
    for name, unit, about in (
        ("mfu", "share", "model FLOPs utilisation over the wall"),
        ("mfu.steps", "share", "the same over the counted steps alone"),
        ("recoverable.share", "share", "part of the wall on recoverable lines"),
        ("stall.share", "share", "part of the wall on recoverable lines without compute"),
        ("wall_s", "s", "measured wall"),
        ("downtime_s", "s", "time between attempts, beside the wall"),
    ):
        yield Metric(name, unit, about, partial(_wall, budget, name))
    own = [line.name for line in budget.lines] if budget else []
    for line in dict.fromkeys((*LINES, *own)):
        for ending, unit in (("share", "share"), ("s", "s")):
            about = f"the budget's line {line}" + (", of the wall" if ending == "share" else "")
            read = partial(_line, facts, budget, line, ending)
            yield Metric(f"budget.{line}.{ending}", unit, about, read)


def _wall(budget: Budget | None, name: str) -> Reading:
    if budget is None:
        return absent(NO_BUDGET)
    if name in ("mfu", "mfu.steps"):
        value = budget.mfu if name == "mfu" else budget.mfu_steps
        return given(value, f"it needs {budget.mfu_reason or 'FLOPs and a peak'}")
    if name == "wall_s" and not budget.has_wall:
        return absent("the source knows no wall time")
    values = {
        "recoverable.share": budget.recoverable_share,
        "stall.share": budget.stall_share,
        "wall_s": budget.wall_ns / 1e9,
        "downtime_s": budget.downtime_ns / 1e9,
    }
    return Reading(values[name])


def _line(facts: Facts, budget: Budget | None, line: str, ending: str) -> Reading:
    if budget is None:
        return absent(NO_BUDGET)
    there = any(one.name == line for one in budget.lines)
    if not there and not _zero(facts, line):
        return absent(f"the budget has no line {line}: nothing was recorded for it")
    note = ""
    if line == "communication" and budget.exchange_measured is False:
        note = "only what has a phase; the rest of the exchange is not measured"
    value = budget.share(line) if ending == "share" else budget.ns(line) / 1e9
    return Reading(value, note=note)


def _zero(facts: Facts, line: str) -> bool:
    """Whether a line that is not there is a measured zero."""
    if line in _REGIONS:
        return True
    phase = next((p for p, of in LINE_OF.items() if of == line), line)
    return line in RECOVERABLE and looked_for(facts, facts.analysis(Timing), phase)
