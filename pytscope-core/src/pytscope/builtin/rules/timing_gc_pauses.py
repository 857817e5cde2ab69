"""TIMING.GC_PAUSES."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import attrs
import numpy as np

from pytscope.analyses import Budget, Interruptions, Timing
from pytscope.analyses.coverage import FEW_STEPS
from pytscope.analyses.interruptions import UNWATCHED_GC
from pytscope.analyses.units import count, duration, percent
from pytscope.builtin.rules.severities import severity_of, whole_ns
from pytscope.builtin.rules.slow_steps import slow_steps
from pytscope.model.errors import Inconclusive, NotMeasured
from pytscope.model.findings import Confidence, Cost, Evidence, Finding
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds
from pytscope.runs.run import Ints
from pytscope.stats import period, ranges

MOST_NAMED = 100
"""Steps with the longest pauses that a finding names."""
APART = 1.5
"""How much longer all ranks' pauses together must be than one's to be at different steps."""
FIX = (
    "gc.collect() and gc.freeze() once model, optimizer and loaders are set up; then gc.disable() "
    "and gc.collect() every few hundred steps{together}. Find the reference cycles that make "
    "collections necessary: gc.set_debug(gc.DEBUG_SAVEALL), then look at gc.garbage."
)
TOGETHER = ", on all ranks at the same step"


@attrs.frozen(eq=False)
class Pauses:
    """Collections over the rated steps of the shown rank.

    Attributes:
        each: Nanoseconds in every rated step, on the shown rank.
        held: The longest of any rank in every rated step: what a job that waits
            for its slowest rank in each step is held up by.
        ranks: Ranks whose collections are known.
        apart: Whether the ranks pause at different steps.
    """

    each: Ints
    held: Ints
    ranks: int
    apart: bool

    def cost(self) -> Cost:
        """What the shown rank paused, and what the job may have been held up."""
        own, held = (float(ns.sum()) / 1e9 for ns in (self.each, self.held))
        return Cost(own, own, held) if self.apart else Cost(own)


@rule("TIMING.GC_PAUSES", since="0.3.0")
def gc_pauses(
    timing: Timing,
    interruptions: Interruptions,
    budget: Budget | None,
    *,
    min_share: Annotated[float, Bounds(gt=0, lt=1)] = 0.02,
    min_pauses: Annotated[int, Bounds(ge=2)] = 5,
) -> Iterator[Finding]:
    """Python's garbage collector stops training.

    Detects:
        `gc` segments that together hold a notable part of the step, how long the
        longest is, in which steps they are, and whether the ranks of a job pause at
        different steps.

    Why it matters:
        A full collection visits every object that Python tracks, and after the set-up
        of a large model or data set there are millions, none of which is garbage. It
        comes when enough objects were made, not when it suits, and at another step on
        every rank: where the ranks exchange gradients, each pause stops all of them.

    How it decides:
        On the rated steps of the shown rank. Finding when at least min_pauses steps
        hold a collection and sum(gc) is at least min_share of the wall, without the
        step that holds the longest. In a job of several recorded ranks the longest
        pause of any rank in each step counts as well, for it holds up the others: where
        only that sum reaches min_share, the finding is suggestive. Ranks pause at
        different steps when that sum is at least 1.5 times what any rank pauses itself.
        cost_s = sum(gc) of the shown rank: the counterfactual is the same run without
        collections; where ranks pause at different steps the upper end of its interval
        is the sum of the longest ones. Severity by the share of the rated wall, of
        whichever sum made the finding: high from 0.20, medium from 0.08, low from 0.02,
        and low at most where it is under 10 ms or a thousandth of the measured wall.
        At least 20 rated steps. On simulated healthy runs, whose collections take 0.5 %
        of the wall in pauses of a quarter of a step to eight steps that come at random
        (see `python bench/rates.py`), it gives no finding in 628 runs each of 20, 50, 200
        and 1,000 steps, which bounds its false-positive rate by 1 % (95 % confidence).
        Without any collection it passes where instrumentation looked for them, and is
        not measured where nobody did. It accounts for EFFICIENCY.RECOVERABLE where gc is
        the largest stall, for EFFICIENCY.LOW_MFU where it is the largest recoverable
        line, and for TIMING.JITTER where the slow steps are slow in `gc`.

    Fix:
        gc.freeze() after the set-up takes what exists out of every later collection;
        gc.disable() and a gc.collect() of your own at a fixed step, the same on all
        ranks, take the rest out of chance. Cycles that hold tensors keep device memory
        until then: break them (weak references, no tensors in exceptions that are kept).

    Limits:
        AutoProfiler records collections of at least 50 microseconds on the training
        thread; shorter ones stay in the phase they interrupt. What other ranks lose is
        an upper bound: a pause in a step in which a rank has to wait anyway costs
        nothing. Ranks are compared by step number, as far as they were recorded.

    References:
        Python documentation, module gc; Jiang et al., "MegaScale" (2024), and
        Chowdhery et al., "PaLM" (2022), on collections that are scheduled for all hosts.
    """
    pauses = _pauses(timing, interruptions)
    if not (pauses.held.any() or interruptions.gc or interruptions.watches("gc")):
        raise NotMeasured(UNWATCHED_GC)
    if timing.steps < FEW_STEPS:
        msg = f"{FEW_STEPS} rated steps are needed, there are {timing.steps}"
        raise Inconclusive(msg)
    own = _reaches(timing, pauses.each, min_share, min_pauses)
    if not (own or (pauses.apart and _reaches(timing, pauses.held, min_share, min_pauses))):
        return
    counted = pauses.each if own else pauses.held
    yield Finding(
        severity=severity_of(int(counted.sum()), timing.wall_ns, whole_ns(budget)),
        confidence=Confidence.CONFIRMED if own else Confidence.SUGGESTIVE,
        title=f"Garbage collection stops training, {_longest(interruptions)} at a time",
        detail=_detail(timing, pauses, interruptions),
        cost_s=pauses.cost(),
        evidence=_evidence(timing, pauses, interruptions),
        fix=FIX.format(together=TOGETHER if interruptions.world > 1 else ""),
        verify="record the run again: `gc` in TIMING shrinks, and p95 with it",
        steps=ranges(timing.step.values[_most(counted)]),
        ranks=tuple(one.rank for one in interruptions.gc) if pauses.apart else (timing.rank,),
        explains=_explained(timing, budget),
    )


def _pauses(timing: Timing, interruptions: Interruptions) -> Pauses:
    each = np.maximum(timing.phase("gc").each.values, 0)
    held = each.copy()
    most = int(each.sum())
    for one in interruptions.gc:
        if one.rank != timing.rank:
            here = np.isin(one.step.values, timing.step.values)
            at = np.searchsorted(timing.step.values, one.step.values[here])
            np.maximum.at(held, at, one.each.values[here])
            most = max(most, int(one.each.values[here].sum()))
    apart = int(held.sum()) >= APART * most > 0
    return Pauses(each, held, len(interruptions.gc), apart)


def _reaches(timing: Timing, each: Ints, min_share: float, min_pauses: int) -> bool:
    """Whether enough steps pause, and for long enough without the one that pauses longest."""
    rest = np.arange(timing.steps) != np.argmax(each)
    wall = max(int(timing.wall.values[rest].sum()), 1)
    return int((each > 0).sum()) >= min_pauses and int(each[rest].sum()) >= min_share * wall


def _most(each: Ints) -> Ints:
    """Rows of the steps that pause longest."""
    order: Ints = np.argsort(-each, kind="stable")[:MOST_NAMED]
    return order[each[order] > 0]


def _longest_ns(interruptions: Interruptions) -> int:
    own = [one.longest_ns for one in interruptions.gc if one.rank == interruptions.rank]
    return max(own or [one.longest_ns for one in interruptions.gc], default=0)


def _longest(interruptions: Interruptions) -> str:
    return f"up to {duration(_longest_ns(interruptions))}"


def _detail(timing: Timing, pauses: Pauses, interruptions: Interruptions) -> str:
    steps = int((pauses.each > 0).sum())
    own = int(pauses.each.sum())
    every = period(timing.step.values[pauses.each > 0])
    kept = f", one in every {every}" if every else ""
    who = f"{count(steps, 'step')} of {timing.steps:,}{kept}"
    share = percent(own / timing.wall_ns)
    sentences = [f"{who} hold a collection; together they take {share} of step time."]
    if pauses.apart:
        held = percent(int(pauses.held.sum()) / timing.wall_ns)
        sentences.append(
            f"{count(pauses.ranks, 'rank')} pause at different steps and hold each other up: the "
            f"longest pause of each step sums to {held}."
        )
    elif interruptions.world > 1 and pauses.ranks < interruptions.world:
        sentences.append(
            f"The job has {interruptions.world:,} ranks: where they pause at other steps, each "
            "pause holds up all of them."
        )
    return " ".join(sentences)


def _evidence(timing: Timing, pauses: Pauses, interruptions: Interruptions) -> Iterator[Evidence]:
    gc, rank = timing.phase("gc"), timing.rank
    share = round(gc.share * 100, 2)
    yield Evidence(f"gc share of step {timing.measured}", share, "%", rank=rank)
    yield Evidence("steps with a collection", gc.steps, "steps", rank=rank)
    yield Evidence("longest pause", _longest_ns(interruptions) / 1e6, "ms", rank=rank)
    yield Evidence("gc in such a step, median", gc.median_ns / 1e6, "ms", rank=rank)
    if pauses.apart:
        held = float(pauses.held.sum()) / 1e9
        yield Evidence("longest pause of any rank, summed over steps", held, "s")


def _explained(timing: Timing, budget: Budget | None) -> Iterator[str]:
    if budget is not None and budget.stalls and budget.stalls[0].name == "gc":
        yield "EFFICIENCY.RECOVERABLE"
    if budget is not None and budget.recoverable and budget.recoverable[0].name == "gc":
        yield "EFFICIENCY.LOW_MFU"
    if slow_steps(timing).carrier == "gc":
        yield "TIMING.JITTER"
