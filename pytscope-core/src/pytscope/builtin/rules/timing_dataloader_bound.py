"""TIMING.DATALOADER_BOUND."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import attrs
import numpy as np

from pytscope.analyses import Budget, Timing
from pytscope.analyses.coverage import FEW_STEPS
from pytscope.analyses.timing import DATA_WATCH
from pytscope.analyses.units import duration, percent
from pytscope.builtin.rules.slow_steps import beside, slow_steps
from pytscope.model.errors import Inconclusive, NotMeasured
from pytscope.model.findings import Confidence, Evidence, Finding, Severity
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds
from pytscope.runs.run import Ints
from pytscope.stats import period, quantile_interval

FEWEST = 5
MOST_WORKERS = 64
"""Longest period that is put down to too few workers rather than to epochs."""
_EVERY_STEP = 0.5

FEW_WORKERS = 8


@attrs.frozen
class Pattern:
    """How the waiting is spread over the steps: a sentence, and what helps against it."""

    said: str
    fix: str
    every: int | None = None


@rule("TIMING.DATALOADER_BOUND", since="0.3.0")
def dataloader_bound(
    timing: Timing,
    budget: Budget | None,
    *,
    min_share: Annotated[float, Bounds(gt=0, lt=1)] = DATA_WATCH,
    min_stall_ms: Annotated[float, Bounds(ge=0)] = 0.5,
    healthy_ms: Annotated[float, Bounds(ge=0)] = 0.2,
) -> Iterator[Finding]:
    """Training waits for its input.

    Detects:
        Steps that spend a notable part of their wall in `data`: the training
        thread asks for a batch, and the batch is not there yet.

    Why it matters:
        The device idles meanwhile. The loss is plain time: with a tenth of the
        wall spent waiting, a loader that keeps up makes training 1.11 times as
        fast, and nothing about the model has to change.

    How it decides:
        stall(step) = max(0, data - healthy_ms x micro-batches), over the rated
        steps (neither warm-up nor done again) of the shown rank. Finding when
        sum(stall) / sum(step wall) >= min_share and mean stall >= min_stall_ms,
        both without the step that stalls longest, so that one hiccup in a long
        run is none. healthy_ms is what handing over a batch that is ready may
        take; min_share is a tenth because less is within what a loader's own
        bookkeeping costs small models. Fewer than 5 rated steps are
        inconclusive; fewer than 20 make the finding suggestive.
        cost_s = sum(stall), all steps: the counterfactual is the same run with
        every batch ready when it is asked for. Severity by the stall's share of
        the rated steps' wall: high from 0.20, medium from 0.08. The threshold
        compares a measured sum, not an estimate; on simulated healthy loaders
        (see `python bench/rates.py`) it gives no finding in 628 runs, which
        bounds its false-positive rate by 1 % (95 % confidence).
        It accounts for EFFICIENCY.RECOVERABLE where data_stall is the largest
        stall, for EFFICIENCY.LOW_MFU where it is the largest recoverable line, and
        for TIMING.JITTER where the slow steps are slow in `data`.

    Fix:
        More loader workers, kept alive over epochs, with pinned memory and a
        deeper prefetch; decoding and augmentation out of the training thread;
        data on a faster disk, in larger files, or in memory. The finding names
        which of these its pattern points to: waiting in every step, in every
        k-th step (k workers that together are too slow), in the steps of an
        evaluation or at long regular distances (another loader, or workers
        started anew), or irregularly.

    Limits:
        Only time recorded as `data` counts: loops that fetch outside
        `iter_data()` or `steps(loader)` show it as `other`. What an evaluation
        fetches from a wrapped loader of its own counts as `eval`, except in a step of
        more than a thousand segments, which no longer shows where it was fetched. The
        pattern is a hint; it does not see how many workers there are, and a short
        epoch looks like as many workers. In a distributed run other ranks may wait
        for this one in `comm`.

    References:
        PyTorch documentation, torch.utils.data, "Single- and Multi-process Data
        Loading"; PyTorch Performance Tuning Guide, "Enable asynchronous data
        loading and augmentation".
    """
    data = timing.phase("data")
    if not data.steps:
        msg = 'a `data` phase: fetch with iter_data() or steps(loader), or mark("data")'
        raise NotMeasured(msg)
    if timing.steps < FEWEST:
        msg = f"{FEWEST} rated steps are needed, there are {timing.steps}"
        raise Inconclusive(msg)
    handing_over = round(healthy_ms * 1e6) * timing.micro_batches.values
    stall = np.maximum(data.each.values - handing_over, 0)
    rest = np.arange(timing.steps) != np.argmax(stall)
    share = int(stall.sum()) / timing.wall_ns
    without_longest = int(stall[rest].sum()) / max(int(timing.wall.values[rest].sum()), 1)
    if without_longest < min_share or stall[rest].mean() < min_stall_ms * 1e6:
        return
    pattern = _pattern(timing, stall)
    yield Finding(
        severity=Severity.of_share(share),
        confidence=Confidence.CONFIRMED if timing.steps >= FEW_STEPS else Confidence.SUGGESTIVE,
        title="Training waits for its input pipeline",
        detail=(
            f"{percent(data.share)} of step time is spent fetching data, "
            f"{duration(data.total_ns / timing.steps)} a step. {pattern.said}"
        ),
        cost_s=float(stall.sum()) / 1e9,
        evidence=_evidence(timing, stall, pattern),
        fix=pattern.fix,
        verify="record the run again: the data share in TIMING and data_stall in the budget fall",
        steps=timing.step_ranges,
        ranks=(timing.rank,),
        explains=_explained(timing, budget),
    )


def _loader(workers: int = FEW_WORKERS) -> str:
    return (
        f"DataLoader(..., num_workers={workers}, persistent_workers=True, pin_memory=True, "
        "prefetch_factor=4)"
    )


def _pattern(timing: Timing, stall: Ints) -> Pattern:
    if np.median(stall) >= _EVERY_STEP * stall.mean():
        return Pattern(
            "Nearly every step waits: batches are made slower than they are used.",
            f"{_loader()}; then move decoding and augmentation off the training thread.",
        )
    held = stall > stall.mean()
    part = percent(float(stall[held].sum() / stall.sum()))
    few = f"{int(held.sum()):,} of {timing.steps:,} steps hold {part} of it"
    every = period(timing.step.values[held])
    pause = beside(timing, held)
    if pause:
        return Pattern(
            f"{few}, the steps that hold {pause} as well: as a loader of its own shows, or "
            "workers that start anew after it.",
            f"Keep the workers of every loader over epochs: {_loader()}.",
            every,
        )
    if every is None:
        return Pattern(
            f"{few}, at irregular distances: single batches are slow to come.",
            f"{_loader()}; a deeper prefetch_factor rides over slow batches. Look for samples of "
            "unusual size and for a disk shared with others.",
        )
    if every <= MOST_WORKERS:
        return Pattern(
            f"{few}, one in every {every} steps: as {every} workers show that are too few, or "
            f"workers that start anew with epochs of {every} steps.",
            f"More workers than now, if there are cores for them, kept over epochs: "
            f"{_loader(2 * every)}.",
            every,
        )
    return Pattern(
        f"{few}, one in every {every} steps: as workers show that start anew with every epoch.",
        f"Keep the workers over epochs: {_loader()}.",
        every,
    )


def _evidence(timing: Timing, stall: Ints, pattern: Pattern) -> Iterator[Evidence]:
    data = timing.phase("data")
    median, low, high = quantile_interval(data.each.values / 1e6, 0.5)
    rank = timing.rank
    yield Evidence(
        f"data share of step {timing.measured}", round(data.share * 100, 2), "%", rank=rank
    )
    yield Evidence("data, median", median, "ms", low, high, rank=rank)
    yield Evidence("data, 95th percentile", data.p95_ns / 1e6, "ms", rank=rank)
    yield Evidence("stall beyond handing over", float(stall.sum()) / 1e9, "s", rank=rank)
    yield Evidence("steps rated", timing.steps, "steps", rank=rank)
    if pattern.every is not None:
        yield Evidence("period of the waiting", pattern.every, "steps", rank=rank)


def _explained(timing: Timing, budget: Budget | None) -> Iterator[str]:
    if budget is not None and budget.stalls and budget.stalls[0].name == "data_stall":
        yield "EFFICIENCY.RECOVERABLE"
    if budget is not None and budget.recoverable and budget.recoverable[0].name == "data_stall":
        yield "EFFICIENCY.LOW_MFU"
    if slow_steps(timing).carrier == "data":
        yield "TIMING.JITTER"
