"""TIMING.OPTIMIZER_HEAVY."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from pytscope.analyses import Budget, Coverage, Timing
from pytscope.analyses.coverage import FEW_STEPS
from pytscope.analyses.units import duration, percent
from pytscope.builtin.rules.missing_phase import meant
from pytscope.builtin.rules.severities import severity_of, whole_ns
from pytscope.builtin.rules.slow_steps import slow_steps
from pytscope.model.errors import Inconclusive, NotMeasured
from pytscope.model.findings import Confidence, Cost, Evidence, Finding
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds
from pytscope.runs.run import Floats
from pytscope.stats import Z95, effective_size, period, quantile_interval

COMPUTE = ("forward", "loss", "backward", "compute", "no_grad")
LEAST_HEALTHY = 0.05
"""What the update takes of compute in large models; lower end of the counterfactual."""
SEPARATE = ("clip", "unscale", "norm", "scaler")
"""Names of phases that keep such work apart from the update."""
NORM = ("grad_norm", "grad_scale", "loss_scale", "scale")
"""Logged values that tell of a norm or a scaler beside the update."""
ERRORS = 3.0
"""Standard errors by which the share has to be above its limit."""
_MOST_OF = 0.8


@rule("TIMING.OPTIMIZER_HEAVY", since="0.3.0")
def optimizer_heavy(
    timing: Timing,
    coverage: Coverage | None,
    budget: Budget | None,
    *,
    min_share: Annotated[float, Bounds(gt=0, lt=1)] = 0.25,
    healthy_share: Annotated[float, Bounds(gt=0, lt=1)] = 0.10,
    min_excess: Annotated[float, Bounds(gt=0, lt=1)] = 0.05,
    min_excess_ms: Annotated[float, Bounds(ge=0)] = 0.5,
) -> Iterator[Finding]:
    """The parameter update takes more of the step than fused optimizers need.

    Detects:
        An `optimizer` phase that takes a large part of the time spent computing,
        in every step or in every k-th.

    Why it matters:
        The update reads and writes every parameter once, whatever the batch; a fused
        one does that in one pass at the speed of memory. A loop over parameters
        starts several kernels for each of them instead, and takes many times as long.

    How it decides:
        compute = forward + loss + backward + optimizer (or what was timed as
        `compute` beside it), over the rated steps of the shown rank. Finding when
        sum(optimizer) / sum(compute) is at least min_share, by three standard errors
        from the effective number of steps, what exceeds healthy_share of the
        compute is at least min_excess of the rated wall and min_excess_ms a step, all
        without the step whose optimizer takes longest. A tenth is what a fused update
        takes in models of ordinary size and batch; a quarter leaves room for small
        batches, whose compute is short while the update is not.
        cost_s = sum(optimizer) - (h / (1 - h)) x sum(the rest of compute) with
        h = healthy_share: the counterfactual is an update of that share. Its interval
        takes min_share and 0.05 for h. Severity by cost over the rated wall: high from
        0.20, medium from 0.08, low below and where it is under 10 ms or a thousandth of
        the measured wall. At least 20 rated steps. Suggestive, for
        what is inside the phase is not seen. What would be a finding is inconclusive
        where gradient norms or a loss scaler are logged, or updates were skipped, and
        no phase keeps clipping and unscaling apart: then their waiting for the device
        may be what takes the time. It accounts for TIMING.JITTER where the slow steps
        are slow in `optimizer`.
        False-positive rate: at most 1 % (95 % upper bound) in 628 runs each of 20, 50,
        200 and 1,000 steps of an update that truly takes a sixteenth or a sixth of
        compute and varies by itself as lognormal noise up to 30 %, AR(1) noise with
        rho up to 0.9, Student's t noise, in periods, in ramps and in whole
        milliseconds. `python bench/rates.py` prints every family.

    Fix:
        fused=True (Adam, AdamW, SGD, on CUDA and on CPU), else foreach=True; few
        parameter groups with many parameters each; zero_grad(set_to_none=True);
        averaging of weights (EMA) with torch._foreach functions or less often. More
        samples for each update (gradient accumulation) make the same update a smaller
        part. Where one in k steps is slow: preconditioners and averages that are
        renewed every k steps.

    Limits:
        Sharded optimizers (ZeRO, FSDP) may exchange parameters in the same phase;
        record that as `comm`. Where the host's clock times a device that runs on by
        itself, the optimizer phase may hold the wait for backward: sync=True tells.
        Second-order optimizers take more by design.

    References:
        PyTorch documentation, torch.optim, on for-loop, foreach and fused
        implementations; PyTorch Performance Tuning Guide.
    """
    update = timing.phase("optimizer")
    rest = _rest(timing)
    if not (update.steps and rest.any()):
        msg = '`optimizer` and the rest of compute as phases: mark("optimizer") after the update'
        raise NotMeasured(msg + _meant(timing))
    if timing.steps < FEW_STEPS:
        msg = f"{FEW_STEPS} rated steps are needed, there are {timing.steps}"
        raise Inconclusive(msg)
    each = update.each.values.astype(np.float64)
    kept = np.arange(timing.steps) != np.argmax(each)
    wall = float(timing.wall.values[kept].sum())
    excess = _excess(each[kept], rest[kept], healthy_share)
    share, error = _share(each[kept], rest[kept])
    floor = max(min_excess * wall, min_excess_ms * 1e6 * (timing.steps - 1))
    if share - ERRORS * error < min_share or excess < floor:
        return
    mixed = _mixed(timing, coverage)
    if mixed:
        msg = f"{mixed}, which may be part of `optimizer`: give clipping and unscaling a phase"
        raise Inconclusive(msg)
    yield _finding(timing, each, rest, (min_share, healthy_share, LEAST_HEALTHY), whole_ns(budget))


def _meant(timing: Timing) -> str:
    return meant({"optimizer", "forward", "backward"} - timing.phases.keys(), timing.phases)


def _rest(timing: Timing) -> Floats:
    """Compute beside the update, nanoseconds, in every rated step."""
    rest = np.zeros(timing.steps, np.float64)
    for name in COMPUTE:
        rest += timing.phase(name).each.values
    return rest


def _share(each: Floats, rest: Floats) -> tuple[float, float]:
    """The update's part of compute, and the standard error of it."""
    compute = each + rest
    share = float(each.sum()) / max(float(compute.sum()), 1.0)
    off = each - share * compute
    error = float(off.std()) / math.sqrt(effective_size(off)) / max(float(compute.mean()), 1.0)
    return share, error


def _excess(each: Floats, rest: Floats, healthy: float) -> float:
    return float(each.sum() - healthy / (1.0 - healthy) * rest.sum())


def _mixed(timing: Timing, coverage: Coverage | None) -> str:
    """What tells that the phase may hold more than the update, or an empty string."""
    apart = any(word in name for name in timing.phases for word in SEPARATE)
    if apart or coverage is None:
        return ""
    logged = [name for name in NORM if name in coverage.scalars]
    if logged:
        return f"`{logged[0]}` is logged"
    return "updates were skipped by a loss scaler" if coverage.skipped_steps else ""


def _finding(
    timing: Timing,
    each: Floats,
    rest: Floats,
    healthy: tuple[float, float, float],
    wall_ns: int,
) -> Finding:
    least, cost, most = (_excess(each, rest, share) / 1e9 for share in healthy)
    share, error = _share(each, rest)
    low, high = ((share + sign * Z95 * error) * 100 for sign in (-1, 1))
    every = _period(timing, each)
    alone = f" It is slow in one of every {every} steps." if every else ""
    median = quantile_interval(each / 1e6, 0.5)
    rank = timing.rank
    return Finding(
        severity=severity_of(cost * 1e9, timing.wall_ns, wall_ns),
        confidence=Confidence.SUGGESTIVE,
        title=f"The optimizer takes {percent(share)} of compute",
        detail=(
            f"{duration(each.sum() / timing.steps)} a step, beside "
            f"{duration(rest.sum() / timing.steps)} of forward and backward.{alone} What exceeds "
            f"{percent(healthy[1])} of compute is {percent(cost * 1e9 / timing.wall_ns)} of step "
            "time."
        ),
        cost_s=Cost(cost, max(0.0, least), most),
        evidence=[
            Evidence("optimizer share of compute", share * 100, "%", low, high, rank=rank),
            Evidence("optimizer share of step wall", _percent(timing), "%", rank=rank),
            Evidence("optimizer, median", median[0], "ms", *median[1:], rank=rank),
            Evidence("micro-batches a step", float(timing.micro_batches.values.mean()), rank=rank),
            Evidence("steps rated", timing.steps, "steps", rank=rank),
        ],
        fix=_fix(every),
        verify="record the run again: the optimizer share in TIMING falls",
        steps=timing.step_ranges,
        ranks=(rank,),
        explains=("TIMING.JITTER",) if slow_steps(timing).carrier == "optimizer" else (),
    )


def _percent(timing: Timing) -> float:
    return round(timing.share("optimizer") * 100, 2)


def _period(timing: Timing, each: Floats) -> int | None:
    """Distance of the steps that hold most of the phase, when a few hold it and keep one."""
    held = each > 2 * np.median(each)
    if not held.any() or each[held].sum() < _MOST_OF * each.sum():
        return None
    return period(timing.step.values[held])


def _fix(every: int | None) -> str:
    if every:
        return (
            f"Look at what it does every {every} steps (preconditioners, averaged weights): do it "
            "less often, or with torch._foreach functions."
        )
    return (
        "fused=True, else foreach=True, in the optimizer's arguments; fewer parameter groups; "
        "zero_grad(set_to_none=True). Or more samples for each update: accumulate gradients."
    )
