"""TIMING.H2D_BOUND."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from pytscope.analyses import Budget, Interruptions, Timing
from pytscope.analyses.coverage import FEW_STEPS
from pytscope.analyses.interruptions import UNWATCHED
from pytscope.analyses.units import duration, percent
from pytscope.builtin.rules.severities import severity_of, whole_ns
from pytscope.builtin.rules.slow_steps import slow_steps
from pytscope.model.errors import Inconclusive, NotApplicable, NotMeasured
from pytscope.model.findings import Confidence, Evidence, Finding
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds
from pytscope.runs.run import Ints
from pytscope.stats import quantile_interval

FEWEST = 5
_EVERY_STEP = 0.5
FIX = (
    "DataLoader(..., pin_memory=True) and batch.to(device, non_blocking=True); start the copy of "
    "the next batch while this one computes, on a stream of its own; send what is small (uint8 "
    "images, token ids) and convert, normalise and augment on the device."
)


@rule("TIMING.H2D_BOUND", since="0.3.0")
def h2d_bound(
    timing: Timing,
    interruptions: Interruptions,
    budget: Budget | None,
    *,
    min_share: Annotated[float, Bounds(gt=0, lt=1)] = 0.05,
    min_stall_ms: Annotated[float, Bounds(ge=0)] = 0.2,
    healthy_ms: Annotated[float, Bounds(ge=0)] = 0.1,
) -> Iterator[Finding]:
    """Training waits while batches are copied to the device.

    Detects:
        Steps that spend a notable part of their wall in `h2d`: the training thread
        stands in a copy from the host's memory to the device, and nothing computes.

    Why it matters:
        A copy from pinned memory runs beside compute and costs the training thread
        the microseconds of asking for it. From pageable memory the thread waits until
        the copy is done, and the device idles for as long.

    How it decides:
        stall(step) = max(0, h2d - healthy_ms x micro-batches), over the rated steps of
        the shown rank. Finding when sum(stall) / sum(step wall) >= min_share and mean
        stall >= min_stall_ms, both without the step that stalls longest. healthy_ms is
        what asking for the copies of a batch may take; a twentieth of the step is where
        pinning and overlapping them pays for the change.
        A copy from pageable memory also waits for everything that was queued before
        it, so on the host's clock `h2d` may hold the forward and backward passes of
        the step before. Only where every stamp waited for the device (sync=True, as
        the recording says) is it the copy alone: elsewhere a small share passes, for
        it bounds the copies too, and what would be a finding is inconclusive.
        Fewer than 5 rated steps are inconclusive; fewer than 20 make the finding
        suggestive. Not applicable where instrumentation saw no accelerator, not
        measured where nobody looked for copies and no step has the phase.
        cost_s = sum(stall), all steps: the counterfactual is the same run with every
        batch on the device when it is needed. Severity by the stall's share of the
        rated wall: high from 0.20, medium from 0.08, low below and where it is under
        10 ms or a thousandth of the measured wall. A measured sum is
        compared, no estimate; on simulated healthy runs, whose copies take 3 % of the
        step and vary by half (see `python bench/rates.py`), it gives no finding in 628
        runs each of 20, 50, 200 and 1,000 steps, which bounds its false-positive rate
        by 1 % (95 % confidence).
        It accounts for EFFICIENCY.RECOVERABLE where h2d is the largest stall, for
        EFFICIENCY.LOW_MFU where it is the largest recoverable line, and for
        TIMING.JITTER where the slow steps are slow in `h2d`.

    Fix:
        pin_memory=True in the loader and non_blocking=True in the copy, both: one
        without the other changes little. Then overlap: copy the next batch on a stream
        of its own. Then send less: integers instead of floats, with conversion and
        augmentation on the device.

    Limits:
        AutoProfiler sees `Tensor.to` and `Tensor.cuda` of host tensors outside of
        forward and backward passes; `copy_` into a buffer that is kept on the device
        needs a phase of its own. With sync=True nothing overlaps, so shares are those
        of a slower run; the seconds of a copy that blocks are the same. That the input
        is late is TIMING.DATALOADER_BOUND, a different cause with a different fix: both
        can hold in one run.

    References:
        PyTorch documentation, "A guide on good usage of non_blocking and pin_memory()";
        NVIDIA CUDA C++ Best Practices Guide, on pinned memory and overlapping
        transfers.
    """
    h2d = timing.phase("h2d")
    if not h2d.steps:
        if interruptions.accelerator == "":
            msg = "no accelerator: nothing is copied to one"
            raise NotApplicable(msg)
        if not interruptions.watches("h2d"):
            raise NotMeasured(UNWATCHED)
    if timing.steps < FEWEST:
        msg = f"{FEWEST} rated steps are needed, there are {timing.steps}"
        raise Inconclusive(msg)
    asking = round(healthy_ms * 1e6) * timing.micro_batches.values
    stall = np.maximum(h2d.each.values - asking, 0)
    rest = np.arange(timing.steps) != np.argmax(stall)
    without_longest = int(stall[rest].sum()) / max(int(timing.wall.values[rest].sum()), 1)
    if without_longest < min_share or stall[rest].mean() < min_stall_ms * 1e6:
        return
    if not interruptions.sync:
        msg = (
            f"`h2d` is {percent(h2d.share)} of step time by the host's clock, and such a copy also "
            "waits for the work queued before it: record some steps with sync=True"
        )
        raise Inconclusive(msg)
    yield _finding(timing, stall, budget)


def _finding(timing: Timing, stall: Ints, budget: Budget | None) -> Finding:
    h2d = timing.phase("h2d")
    return Finding(
        severity=severity_of(int(stall.sum()), timing.wall_ns, whole_ns(budget)),
        confidence=Confidence.CONFIRMED if timing.steps >= FEW_STEPS else Confidence.SUGGESTIVE,
        title="Training waits while batches are copied to the device",
        detail=(
            f"{percent(h2d.share)} of step time is spent copying to the device, "
            f"{duration(h2d.total_ns / timing.steps)} a step. {_spread(timing, stall)}"
        ),
        cost_s=float(stall.sum()) / 1e9,
        evidence=_evidence(timing, stall),
        fix=FIX,
        verify="record the run again: the h2d share in TIMING and the h2d line of the budget fall",
        steps=timing.step_ranges,
        ranks=(timing.rank,),
        explains=_explained(timing, budget),
    )


def _spread(timing: Timing, stall: Ints) -> str:
    if np.median(stall) >= _EVERY_STEP * stall.mean():
        return "Nearly every step waits for it."
    held = stall > stall.mean()
    part = percent(float(stall[held].sum() / stall.sum()))
    return (
        f"{int(held.sum()):,} of {timing.steps:,} steps hold {part} of it: "
        "look for larger batches, or memory that is not pinned, in those."
    )


def _evidence(timing: Timing, stall: Ints) -> Iterator[Evidence]:
    h2d, rank = timing.phase("h2d"), timing.rank
    median, low, high = quantile_interval(h2d.each.values / 1e6, 0.5)
    share = round(h2d.share * 100, 2)
    yield Evidence(f"h2d share of step {timing.measured}", share, "%", rank=rank)
    yield Evidence("h2d, median", median, "ms", low, high, rank=rank)
    yield Evidence("h2d, 95th percentile", h2d.p95_ns / 1e6, "ms", rank=rank)
    yield Evidence("stall beyond asking for the copies", float(stall.sum()) / 1e9, "s", rank=rank)
    yield Evidence("steps rated", timing.steps, "steps", rank=rank)


def _explained(timing: Timing, budget: Budget | None) -> Iterator[str]:
    if budget is not None and budget.stalls and budget.stalls[0].name == "h2d":
        yield "EFFICIENCY.RECOVERABLE"
    if budget is not None and budget.recoverable and budget.recoverable[0].name == "h2d":
        yield "EFFICIENCY.LOW_MFU"
    if slow_steps(timing).carrier == "h2d":
        yield "TIMING.JITTER"
