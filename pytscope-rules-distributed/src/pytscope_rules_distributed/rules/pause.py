"""DIST.PAUSE."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pytscope.analyses import Budget
from pytscope.analyses.units import count, duration, percent
from pytscope.model.findings import Confidence, Evidence, Finding
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds
from pytscope_rules_distributed.columns import COMPUTE_PHASES
from pytscope_rules_distributed.pauses import Pauses
from pytscope_rules_distributed.rules.recoverable import line_of, phase_rules, recoverable
from pytscope_rules_distributed.rules.severities import severity_of
from pytscope_rules_distributed.stragglers import Stragglers

COMMON = COMPUTE_PHASES | {"data", "h2d", "gc", "compile", "other"}
"""Phases that every rank has at times; a pause in one is nothing that one rank is there for."""

DUTY_FIXES = {
    "eval": "Let all ranks evaluate, a shard each, or evaluate less often.",
    "checkpoint": "Save from all ranks, sharded, or asynchronously, or less often.",
}
DUTY_FIX = "Do what this rank alone does in {0} less often, or in a thread."
FIXES = {
    "data": (
        "Look at this rank's input in those steps: its shard, its disk or network mount, workers "
        "that start anew."
    ),
    "gc": (
        "Collect garbage on all ranks in the same step: gc.disable(), then gc.collect() every N "
        "steps; gc.freeze() after setting up."
    ),
    "compile": (
        "Have all ranks compile in the same steps, or for shapes that do not change: pad, or mark "
        "dimensions as dynamic."
    ),
}
PAUSE_FIX = (
    "Look at what the rank and its host did in those steps: garbage collection, logging, saving, "
    "swapping, a mount that hangs, another process; name it with phase(...) to see it here."
)
MOVING_FIX = (
    "Ranks that pause at different steps add up: collect garbage on all of them in the same step "
    "(gc.disable(), then gc.collect() every N steps), and log and save in the same steps."
)


@rule("DIST.PAUSE", since="0.3.0")
def pause(
    stragglers: Stragglers,
    budget: Budget | None = None,
    *,
    min_share: Annotated[float, Bounds(gt=0, lt=1)] = 0.02,
) -> Iterator[Finding]:
    """In single steps one rank takes far longer, and all others wait for it.

    Detects:
        A rank that alone evaluates, saves or logs now and then; one that stopped once, for
        ten seconds say; pauses that go round the ranks, as garbage collection does.

    Why it matters:
        Whatever one rank does between two collectives, all ranks pay for. The rank itself
        is as fast as the others: replacing it changes nothing.

    How it decides:
        A step stands out when a rank that DIST.STRAGGLER does not find slow takes at least
        1.5 times the median own time of its peers, and more than about seven robust
        standard deviations of what it differs by in other steps (by more values, more), and
        either 20 times the median or, in logarithms, six times as far above it as the
        second farthest value is below: noise with heavy tails has them on both sides. All
        steps compared count, those with an evaluation too; where more than a quarter of them
        stand out, twice the median counts. One rank is named when half of the excess is its
        own and either no other rank has any or pauses that strike at random would give some
        rank so much in at most 0.1 % of runs (Chernoff's bound); else the one step that makes
        up half. Its phase is named when that explains half. Finding when having those ranks like
        their peers in those steps saves at least min_share of the steps' time, which is
        cost_s. Confirmed when it lies in a phase of its own (`eval`, `checkpoint`, `log`),
        else suggestive. Severity by cost over the steps' time: high from 0.20, medium from
        0.08, low from 0.02; low at most below 10 ms. It accounts for TIMING.JITTER, for the
        rule on its phase (EVAL_HEAVY, CHECKPOINT_HEAVY, DATALOADER_BOUND, H2D_BOUND,
        GC_PAUSES, RECOMPILATION) where that is of the same rank, and for
        EFFICIENCY.RECOVERABLE where the largest line of that is `straggler_wait` or, on the
        rank named, its phase. A sum of
        measured times; whether it will happen again is not said.
        False-positive rate: at most 1 % (95 % upper bound) in 300 runs each of 2, 4, 8 and
        64 ranks and of 60, 300 and 1,000 steps: independent and AR(1) noise up to rho 0.9,
        Student's t added with 4 degrees of freedom (10 %) and 3 (5 %), steps that all ranks
        evaluate in, last batches, shared cores. Where pauses strike all ranks at random, one
        is named in at most 1 % of runs of 300 steps or more.
        `python bench/rates_distributed.py` prints every family.

    Fix:
        By phase: share the work among ranks, do it in a thread or less often. A pause
        without a phase: the host's log at that time. Pauses that go round: all at once.

    Limits:
        Pauses shorter than half of a step are not seen, nor those of two or three times a
        step where own times vary by 10 %. Noise that is skewed, or whose logarithm has heavy
        tails, does have such steps. A rank that pauses so often that it is slow on average
        is DIST.STRAGGLER's. What all ranks do together is no pause.

    References:
        Jiang et al., "MegaScale: Scaling Large Language Model Training to More Than 10,000
        GPUs" (2024), on garbage collection that drifts apart over ranks.
    """
    found = stragglers.pauses
    cost = found.saving.value * 1e9 if found else 0.0
    if found is None or cost < min_share * stragglers.wall_ns:
        return
    steps = [(step, step) for step in found.steps]
    duty = found.rank is not None and bool(found.phase) and found.phase not in COMMON
    yield Finding(
        severity=severity_of(cost, stragglers.wall_ns),
        confidence=Confidence.CONFIRMED if duty else Confidence.SUGGESTIVE,
        title=_title(found),
        detail=" ".join(_detail(stragglers, found)),
        cost_s=found.saving,
        evidence=[
            Evidence("longer", one.excess_ns / 1e6, "ms", steps=(one.step, one.step), rank=one.rank)
            for one in found.longest
        ],
        fix=_fix(found, duty=duty),
        verify="record the run again: RANKS no longer tells of single steps that stand out",
        steps=steps,
        ranks=() if found.rank is None else (found.rank,),
        explains=tuple(_explained(found, budget)),
    )


def _title(found: Pauses) -> str:
    where = f", mostly in {found.phase}" if found.phase else ""
    if found.rank is None:
        return f"Pauses go round {count(found.ranks, 'rank')}{where}, and all others wait each time"
    if len(found.steps) == 1:
        longest = duration(found.longest[0].excess_ns)
        return f"Rank {found.rank} held the others up for {longest} in step {found.steps[0]}{where}"
    if found.every == 1:
        often = f"in steps {found.steps[0]} to {found.steps[-1]}"
    elif found.every:
        often = f"every {found.every} steps"
    else:
        return f"Rank {found.rank} held the others up in {len(found.steps):,} single steps{where}"
    return f"Rank {found.rank} holds the others up {often}{where}"


def _detail(stragglers: Stragglers, found: Pauses) -> Iterator[str]:
    share = percent(found.saving.value * 1e9 / max(stragglers.wall_ns, 1))
    steps = count(len(found.steps), "step")
    each = duration(found.saving.value * 1e9 / len(found.steps))
    where = f", {percent(found.phase_part)} of it in {found.phase}" if found.phase else ""
    who = "one rank or another" if found.rank is None else f"rank {found.rank}"
    yield (
        f"In {steps} of {stragglers.ranks.steps:,}, {who} makes the step {each} longer, on "
        f"average{where}; that is {share} of the steps' time."
    )
    if found.rank is not None:
        yield "In its other steps it does not stand out."
    yield f"Compared were {stragglers.ranks.said()}."


def _fix(found: Pauses, *, duty: bool) -> str:
    if duty:
        return DUTY_FIXES.get(found.phase, DUTY_FIX.format(found.phase))
    if found.rank is None:
        return MOVING_FIX
    return FIXES.get(found.phase, PAUSE_FIX)


def _explained(found: Pauses, budget: Budget | None) -> Iterator[str]:
    """Rules whose findings are of the same seconds."""
    yield "TIMING.JITTER"
    shown = budget is not None and found.rank in (None, budget.shown_rank)
    yield from recoverable(budget, "straggler_wait", *([line_of(found.phase)] if shown else ()))
    yield from phase_rules(found.phase, shown=shown)
