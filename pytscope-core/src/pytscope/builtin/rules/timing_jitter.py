"""TIMING.JITTER."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from pytscope.analyses import Budget, Coverage, Timing
from pytscope.analyses.coverage import FEW_STEPS
from pytscope.analyses.units import count, percent
from pytscope.builtin.rules.severities import severity_of, whole_ns
from pytscope.builtin.rules.slow_steps import COMPUTE, MIN_RATIO, SlowSteps, slow_steps
from pytscope.model.errors import Inconclusive
from pytscope.model.findings import Confidence, Evidence, Finding
from pytscope.model.wording import listed
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds
from pytscope.stats import period, ranges

MOST_NAMED = 100
"""Slowest steps that a finding names."""
MOST_OF_IT = 0.6
"""Part of the excess from which a title names one phase alone."""
TOO_NOISY = 3.0
"""Multiple of the median that a step has to be able to stand out at."""
NONE_VISIBLE = 1_000
"""Multiple from which its size says nothing more."""

FIXES = {
    "data": "Deepen the loader's queue: more num_workers, a larger prefetch_factor.",
    "gc": (
        "gc.freeze() once set up, gc.disable(), and gc.collect() every few hundred steps, "
        "on all ranks at the same step."
    ),
    "comm": "Look at the other ranks in these steps: the slowest makes all others wait.",
    "optimizer": "Look for work done every few steps inside it: averaging, clipping, schedules.",
    "other": 'Name what runs there with phase("..."): nothing has named this time yet.',
    "failed": "Look at why these steps raised: their time was spent and thrown away.",
    "h2d": "Pin the loader's memory and copy with non_blocking=True.",
}
LINE_OF = {"data": "data_stall", "comm": "communication"}
"""Budget lines of the phases that a line of another name holds."""
COMPUTE_FIX = (
    "Compare the shapes of these batches with the others. If they are alike, look for "
    "recompilation, memory fragmentation, falling clocks and other jobs on the machine."
)


@rule("TIMING.JITTER", since="0.3.0")
def jitter(
    timing: Timing,
    budget: Budget | None,
    coverage: Coverage | None,
    *,
    min_ratio: Annotated[float, Bounds(gt=1)] = MIN_RATIO,
    min_share: Annotated[float, Bounds(gt=0, lt=1)] = 0.02,
    min_slow_steps: Annotated[int, Bounds(ge=2)] = 3,
    max_recording: Annotated[float, Bounds(gt=0, lt=1)] = 0.02,
) -> Iterator[Finding]:
    """Some steps take far longer than their neighbours.

    Detects:
        Steps that stand out as slow from the steps around them, which of them,
        whether they keep a period, and the phase that makes them slow.

    Why it matters:
        Slow steps have a cause of their own: garbage collection, a checkpoint's
        aftermath, a full queue, a neighbour on the machine. In a distributed run
        one rank's slow step is every rank's. A mean hides them.

    How it decides:
        On the training time (wall without eval, checkpoint, log and compile) of
        the rated steps. The level is a running median over 51 steps; the scale is
        1.4826 x the median absolute deviation of ln(time / level), at least 0.01.
        A step is slow when time >= min_ratio x level and
        ln(time / level) >= (3 + sqrt(2 ln n)) x scale, n being the number of
        steps. Finding when at least min_slow_steps are slow and their excess over
        the level, without the largest one, is at least min_share of the rated
        wall; so one outlier, however long, is no jitter (the TIMING panel names
        it). At least 20 rated steps; where the noise would hide steps of three
        times the level the rule is inconclusive rather than passed; so it is where
        recording itself takes more than max_recording of the wall, for then slow
        steps may be its own doing.
        cost_s = sum of the excess: the counterfactual is those steps at the
        median of their surroundings. Severity by cost over the rated wall: high
        from 0.20, medium from 0.08, low from 0.02, and low at most where it is under
        10 ms or a thousandth of the measured wall. Suggestive when what stands
        out is compute alone and keeps no period, for then larger batches may be
        the reason. A period is named when at least 80 % of the distances agree
        and chance explains that with p <= 0.01. It accounts for
        EFFICIENCY.RECOVERABLE where the phase that carries the excess is the
        largest stall of the budget.
        False-positive rate: at most 1 % (95 % upper bound) in 628 runs each of 20,
        50, 200 and 1,000 steps of lognormal noise up to 30 %, AR(1) noise with
        rho up to 0.9, Student's t noise of 10 % with 3 degrees of freedom,
        occasional wide noise, swings of 20 % with a period, a clock of six ticks a
        phase, warm-up, drift to twice the time, and a change of level.
        `python bench/rates.py` prints every family.

    Fix:
        By the phase that carries the excess; the finding says which. Garbage
        collection: freeze and collect on a schedule. Data: a deeper queue. Steps
        beside an evaluation or a checkpoint: what it leaves behind (caches,
        asynchronous writes). Unnamed time: give it a name.

    Limits:
        A stretch of more than 25 slow steps in a row becomes the level and is not
        jitter; nor is a pattern in which every second step is slow. Strongly
        skewed durations, never fast and often slow, are reported as what they are:
        slow steps. The 100 slowest steps are named.

    References:
        Hampel, "The influence curve and its role in robust estimation" (1974), on
        median and median absolute deviation; Jiang et al., "MegaScale" (2024), on
        garbage collection and other slow steps in large runs.
    """
    if timing.steps < FEW_STEPS:
        msg = f"{FEW_STEPS} rated steps are needed, there are {timing.steps}"
        raise Inconclusive(msg)
    slow = slow_steps(timing, min_ratio)
    few = int(slow.mask.sum()) < min_slow_steps
    if few or slow.cost_without_largest_ns < min_share * timing.wall_ns:
        visible = math.exp(slow.outliers.limit * slow.outliers.scale)
        if visible > TOO_NOISY:
            least = f"{visible:.1f}" if visible < NONE_VISIBLE else f"over {NONE_VISIBLE}"
            msg = f"steps vary so much that a slow one would have to take {least} times the median"
            raise Inconclusive(msg)
        return
    a_step = (coverage.overhead_ns_per_step if coverage else None) or 0.0
    recording = a_step * timing.steps / timing.wall_ns
    if recording > max_recording:
        msg = f"recording itself takes {percent(recording)} of so short steps"
        raise Inconclusive(msg)
    every = period(timing.step.values[slow.mask])
    share = slow.cost_ns / timing.wall_ns
    guess = slow.carrier in COMPUTE and every is None
    yield Finding(
        severity=severity_of(slow.cost_ns, timing.wall_ns, whole_ns(budget)),
        confidence=Confidence.SUGGESTIVE if guess else Confidence.CONFIRMED,
        title=_title(slow, every),
        detail=_detail(timing, slow, every, share),
        cost_s=slow.cost_ns / 1e9,
        evidence=_evidence(timing, slow, every),
        fix=_fix(slow),
        verify="record the run again: p95 in TIMING comes down towards the median",
        steps=ranges(_slowest(timing, slow)),
        ranks=(timing.rank,),
        explains=_explained(slow, budget),
    )


def _explained(slow: SlowSteps, budget: Budget | None) -> Iterator[str]:
    line = LINE_OF.get(slow.carrier, slow.carrier)
    if budget is not None and budget.stalls and budget.stalls[0].name == line:
        yield "EFFICIENCY.RECOVERABLE"


def _title(slow: SlowSteps, every: int | None) -> str:
    names = [slow.carrier, slow.second] if slow.carried < MOST_OF_IT else [slow.carrier]
    where = f" in {' and '.join(filter(None, names))}" if slow.carrier else ""
    if every is not None:
        return f"One in every {every} steps is slow{where}"
    return f"{count(int(slow.mask.sum()), 'step')} stand out as slow{where}"


def _detail(timing: Timing, slow: SlowSteps, every: int | None, share: float) -> str:
    steps = _slowest(timing, slow)
    named = listed([str(step) for step in sorted(steps)[:8]])
    more = len(slow.excess) - min(8, len(steps))
    who = f"{count(len(slow.excess), 'step')} of {timing.steps:,}"
    rest = f" and {more:,} more" if more > 0 else ""
    sentences = [
        f"{who} took {_times(timing, slow)} the median around them: {named}{rest}.",
        f"What they take beyond it is {percent(share)} of step time.",
    ]
    if every is not None:
        sentences.append(f"They keep a period of {every} steps.")
    if slow.carrier:
        second = f", {percent(slow.second_carried)} in {slow.second}" if slow.second else ""
        sentences.append(f"{percent(slow.carried)} of the excess is in {slow.carrier}{second}.")
    if slow.beside:
        sentences.append(f"They are the steps that hold {slow.beside} as well.")
    return " ".join(sentences)


def _times(timing: Timing, slow: SlowSteps) -> str:
    ratios = timing.training.values[slow.mask] / slow.outliers.level[slow.mask]
    least, most = (f"{float(ratio):.1f}" for ratio in (ratios.min(), ratios.max()))
    return f"{least} times" if least == most else f"{least} to {most} times"


def _slowest(timing: Timing, slow: SlowSteps) -> list[int]:
    """Numbers of the slowest steps, slowest first."""
    order = np.argsort(-slow.excess, kind="stable")[:MOST_NAMED]
    slowest: list[int] = timing.step.values[slow.mask][order].tolist()
    return slowest


def _evidence(timing: Timing, slow: SlowSteps, every: int | None) -> Iterator[Evidence]:
    times, rank = timing.training.values[slow.mask], timing.rank
    yield Evidence("slow steps", int(slow.mask.sum()), "steps", rank=rank)
    yield Evidence("slow steps, median", float(np.median(times)) / 1e6, "ms", rank=rank)
    yield Evidence("all steps, median", timing.median_ns / 1e6, "ms", rank=rank)
    yield Evidence("slowest step", float(times.max()) / 1e6, "ms", rank=rank)
    yield Evidence("spread of the others", round(slow.outliers.scale * 100, 2), "%", rank=rank)
    if every is not None:
        yield Evidence("period", every, "steps", rank=rank)
    if slow.carrier:
        name = f"part of the excess in {slow.carrier}"
        yield Evidence(name, round(slow.carried * 100, 1), "%", rank=rank)


def _fix(slow: SlowSteps) -> str:
    beside = ""
    if slow.beside:
        beside = f"Look at what {slow.beside} leaves behind in its step. "
    if slow.carrier in FIXES:
        return beside + FIXES[slow.carrier]
    if slow.carrier in COMPUTE or not slow.carrier:
        return beside + COMPUTE_FIX
    return f"{beside}Look at what {slow.carrier} does in these steps and not in the others."
