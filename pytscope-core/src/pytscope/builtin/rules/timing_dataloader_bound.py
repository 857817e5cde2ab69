"""TIMING.DATALOADER_BOUND."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NoReturn

import attrs
import numpy as np

from pytscope.analyses import Budget, Interruptions, Timing
from pytscope.analyses.coverage import FEW_STEPS
from pytscope.analyses.timing import DATA_WATCH
from pytscope.analyses.units import duration, percent, ranks_named
from pytscope.builtin.analyzers.timing import rank_timing
from pytscope.builtin.rules.loader_fixes import Loader, fix, recorded_loader
from pytscope.builtin.rules.loader_waits import (
    FEWEST,
    TOO_FEW,
    Floors,
    Waiting,
    Waits,
    waits,
)
from pytscope.builtin.rules.missing_phase import meant
from pytscope.builtin.rules.severities import severity_of
from pytscope.builtin.rules.slow_steps import beside, slow_steps
from pytscope.model.errors import Inconclusive, NotMeasured
from pytscope.model.findings import Confidence, Evidence, Finding
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds
from pytscope.runs.run import Ints, Run
from pytscope.stats import period, quantile_interval

MOST_WORKERS = 64
"""Longest period that is put down to too few workers rather than to epochs."""
_EVERY_STEP = 0.5


@attrs.frozen
class Pattern:
    """How the waiting is spread over the steps: a sentence, and what helps against it."""

    said: str
    fix: str
    every: int | None = None


@rule("TIMING.DATALOADER_BOUND", since="0.3.0")
def dataloader_bound(
    timing: Timing,
    run: Run,
    budget: Budget | None,
    interruptions: Interruptions | None,
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
        steps (neither warm-up nor done again) of every rank. Finding when on some
        rank sum(stall) / sum(step wall) >= min_share and mean stall >= min_stall_ms,
        both without the step that stalls longest, so that one hiccup in a long
        run is none. The shown rank is judged by these floors alone; of many ranks
        one may pass them by chance, so each other one has to pass min_share by
        sqrt(2 ln ranks) standard errors as well, from the effective number of steps.
        The rank shown is described, or another one that waits at least 1.25 times
        as long. Inconclusive when no rank waits and some could not be judged.
        healthy_ms is what handing over a batch that is ready may take; min_share is
        a tenth because less is within what a loader's own bookkeeping costs small
        models. Fewer than 5 rated steps are inconclusive; fewer than 20 make the
        finding suggestive.
        cost_s = sum(stall), all steps, in seconds of the rank described: the
        counterfactual is the same run with every batch ready when it is asked for.
        Severity by the stall's share of the rated steps' wall: high from 0.20,
        medium from 0.08; low where it is under 10 ms or a thousandth of the rank's
        measured wall. The threshold
        compares a measured sum, not an estimate; on simulated healthy loaders
        (see `python bench/rates.py`) it gives no finding in 628 runs, which
        bounds its false-positive rate by 1 % (95 % confidence).
        It accounts for EFFICIENCY.RECOVERABLE where data_stall is the largest
        stall, for EFFICIENCY.LOW_MFU where it is the largest recoverable line, and
        for TIMING.JITTER where the slow steps are slow in `data`, each only where
        the shown rank is among those that wait.

    Fix:
        More loader workers, kept alive over epochs, with pinned memory and a
        deeper prefetch; decoding and augmentation out of the training thread;
        data on a faster disk, in larger files, or in memory. The finding names
        which of these its pattern points to: waiting in every step, in every
        k-th step (k workers that together are too slow), in the steps of an
        evaluation or at long regular distances (another loader, or workers
        started anew), or irregularly. Numbers in it are of the loader, the CPUs and
        the device that the run recorded, as AutoProfiler does; where they were not
        recorded, the advice is general and says so.

    Limits:
        Only time recorded as `data` counts: loops that fetch outside
        `iter_data()` or `steps(loader)` show it as `other`. What an evaluation
        fetches from a wrapped loader of its own counts as `eval`, except in a step of
        more than a thousand segments, which no longer shows where it was fetched. The
        pattern is a hint: a short epoch looks like as many workers. In a distributed
        run other ranks wait for the slow one in `comm`, or in `backward` where that is
        not recorded; those seconds are not in cost_s.

    References:
        PyTorch documentation, torch.utils.data, "Single- and Multi-process Data
        Loading"; PyTorch Performance Tuning Guide, "Enable asynchronous data
        loading and augmentation".
    """
    found = waits(run, Floors(min_share, min_stall_ms * 1e6, round(healthy_ms * 1e6)))
    if len(found.unjudged) == found.ranks:
        _abstain(found, timing)
    if not found.waiting:
        if found.unjudged:
            msg = f"not judged on {found.not_judged()}; the other ranks do not wait"
            raise Inconclusive(msg)
        return
    one = found.described(timing.rank)
    timeline = run.rank(one.rank)
    own = timing if one.rank == timing.rank else rank_timing(run, timeline)
    accelerator = interruptions.accelerator if interruptions else None
    pattern = _pattern(own, one.stall, recorded_loader(run, timeline, accelerator))
    shown_waits = any(each.rank == timing.rank for each in found.waiting)
    yield Finding(
        severity=severity_of(one.cost_ns, own.wall_ns, timeline.measured_ns),
        confidence=Confidence.CONFIRMED if own.steps >= FEW_STEPS else Confidence.SUGGESTIVE,
        title=f"Training waits for its input pipeline{found.where()}",
        detail=_detail(own, pattern, found),
        cost_s=one.cost_ns / 1e9,
        evidence=_evidence(own, one, pattern),
        fix=pattern.fix,
        verify="record the run again: the data share in TIMING and data_stall in the budget fall"
        if one.rank == timing.rank
        else f"record the run again: rank {one.rank} waits less",
        steps=own.step_ranges,
        ranks=tuple(each.rank for each in found.waiting),
        explains=_explained(timing, budget) if shown_waits else (),
    )


def _abstain(found: Waits, timing: Timing) -> NoReturn:
    if TOO_FEW in found.unjudged.values():
        msg = f"{FEWEST} rated steps are needed, there are {timing.steps}"
        raise Inconclusive(msg)
    msg = 'a `data` phase: fetch with iter_data() or steps(loader), or mark("data")'
    raise NotMeasured(msg + meant(("data",), timing.phases))


def _detail(own: Timing, pattern: Pattern, found: Waits) -> str:
    data = own.phase("data")
    whose = f" of rank {own.rank}" if found.ranks > 1 else ""
    sentences = [
        (
            f"{percent(data.share)} of step time{whose} is spent fetching data, "
            f"{duration(data.total_ns / own.steps)} a step. {pattern.said}"
        ),
    ]
    others = tuple(each.rank for each in found.waiting if each.rank != own.rank)
    if others:
        sentences.append(f"So {'do' if len(others) > 1 else 'does'} {ranks_named(others)}.")
    elif found.ranks > 1:
        sentences.append("Ranks that exchange gradients with it wait for it in every such step.")
    if found.unjudged:
        sentences.append(f"Not judged: {found.not_judged()}.")
    return " ".join(sentences)


def _pattern(timing: Timing, stall: Ints, loader: Loader) -> Pattern:
    if np.median(stall) >= _EVERY_STEP * stall.mean():
        said = "Nearly every step waits: batches are made slower than they are used."
        return Pattern(said, fix(loader, anew=False))
    held = stall > stall.mean()
    part = percent(float(stall[held].sum() / stall.sum()))
    few = f"{int(held.sum()):,} of {timing.steps:,} steps hold {part} of it"
    every = period(timing.step.values[held])
    pause = beside(timing, held)
    if pause:
        said = (
            f"{few}, the steps that hold {pause} as well: as a loader of its own shows, or "
            "workers that start anew after it."
        )
        return Pattern(said, fix(loader, anew=True), every)
    if every is None:
        said = f"{few}, at irregular distances: single batches are slow to come."
        return Pattern(said, fix(loader, anew=False, bursts=True))
    said = f"{few}, one in every {every} steps: {_cause(loader, every)}."
    return Pattern(said, fix(loader, anew=loader.workers != every), every)


def _cause(loader: Loader, every: int) -> str:
    """What makes one in so many steps wait, as far as the record tells."""
    if loader.workers == every:
        return f"as the {every} recorded workers show that are too few"
    if loader.workers == 0 or loader.persistent:
        return "as batches show that are longer to make than the others, or the ends of epochs"
    if loader.restarts or every > MOST_WORKERS:
        return "as workers show that start anew with every epoch"
    return "as workers show that are too few, or that start anew with short epochs"


def _evidence(timing: Timing, one: Waiting, pattern: Pattern) -> Iterator[Evidence]:
    data = timing.phase("data")
    median, low, high = quantile_interval(data.each.values / 1e6, 0.5)
    rank = timing.rank
    yield Evidence(
        f"data share of step {timing.measured}", round(data.share * 100, 2), "%", rank=rank
    )
    yield Evidence("data, median", median, "ms", low, high, rank=rank)
    yield Evidence("data, 95th percentile", data.p95_ns / 1e6, "ms", rank=rank)
    yield Evidence("stall beyond handing over", one.cost_ns / 1e9, "s", rank=rank)
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
