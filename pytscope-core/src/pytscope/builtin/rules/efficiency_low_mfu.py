"""EFFICIENCY.LOW_MFU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pytscope.analyses import Budget, Interruptions, Timing
from pytscope.analyses.budget import TARGET_MFU
from pytscope.analyses.coverage import FEW_STEPS
from pytscope.analyses.units import duration, percent
from pytscope.builtin.rules.line_fixes import device, fix_for
from pytscope.builtin.rules.lone_step import lone_step, without
from pytscope.model.errors import Inconclusive, NotMeasured
from pytscope.model.findings import Confidence, Evidence, Finding, Severity
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds

LEAST_OF_SHORT = 0.01
"""Part of the time above the target that a line has to hold to be named as its cause."""
NAME_THEM = 'Name what the step does: mark("forward"), mark("backward"), mark("optimizer").'


@rule("EFFICIENCY.LOW_MFU", since="0.3.0")
def low_mfu(
    budget: Budget,
    timing: Timing | None,
    interruptions: Interruptions | None,
    *,
    target: Annotated[float, Bounds(gt=0, le=1)] = TARGET_MFU,
) -> Iterator[Finding]:
    """The model's FLOPs use little of the device's peak.

    Detects:
        A model FLOPs utilisation (MFU) below what tuned training reaches, and the
        line of the budget that takes most of the rest.

    Why it matters:
        The device is paid for by the hour. MFU is the one ratio that counts every
        cause of waiting and of slow kernels alike, so it says whether there is
        something to win at all, and the budget says where.

    How it decides:
        useful = FLOPs per step x counted steps / peak, a counted step being
        neither warm-up nor done again. Finding when useful / wall of the counted
        steps < target; set-up and warm-up of a short run cannot fire it. The title
        prints useful / whole measured wall, as the budget does. The default target
        of 0.40 is the lower end of what well-tuned dense training reports.
        Severity: the recoverable lines' share of the wall, or (1 - MFU / target) x
        the counted steps' share of the wall where that is more: high from 0.20,
        medium from 0.08, low from 0.02.
        cost_s is the largest recoverable line, the one that the finding says to start
        with: the counterfactual is that line at zero. It is not the sum, because the
        lines have different causes. Which line is largest is decided without the
        rated step that waits longest, so that one hiccup sets no course. Where no
        line is recoverable it is what the counted steps take beyond useful / target.
        Suggestive below 20 counted steps. A ratio of measured
        time and given figures, with no noise to be wrong about; impossible figures
        make it inconclusive (BUDGET.IMPOSSIBLE tells).
        It accounts for EFFICIENCY.RECOVERABLE where both start with the same line.

    Fix:
        Start with the largest recoverable line; the finding names it. For
        compute_overhead: larger batches, bf16 or fp16 with tensor cores,
        torch.compile, fused optimizers, fewer small kernels and host syncs.

    Limits:
        As good as its two figures. The peak has to be the dense one of the dtype in
        use; FLOPs are per rank and step, without recomputation. Memory-bound models
        (embeddings, small batches) have a lower ceiling than 0.40: set `target`.

    References:
        Chowdhery et al., "PaLM" (2022), appendix B, for MFU; Korthikanti et al.,
        "Reducing Activation Recomputation in Large Transformer Models" (2022).
    """
    if budget.mfu is None or budget.mfu_steps is None:
        raise NotMeasured(budget.mfu_reason)
    if budget.impossible:
        msg = "figures that do not contradict each other (see BUDGET.IMPOSSIBLE)"
        raise Inconclusive(msg)
    if budget.mfu_steps >= target:
        return
    short_ns = budget.steps_wall_ns * (1 - budget.mfu_steps / target)
    share = max(budget.recoverable_share, short_ns / budget.wall_ns)
    name = without(budget, lone_step(timing) if timing is not None else None)
    if name is not None and budget.ns(name) < LEAST_OF_SHORT * short_ns:
        name = None  # it explains nothing: compute has no name
    first = " No phase of compute was named, so the budget cannot say where it goes."
    if name is not None:
        share_of = percent(budget.share(name))
        first = f" The largest recoverable line is {name}, {share_of} of wall."
    yield Finding(
        severity=Severity.of_share(share),
        confidence=Confidence.CONFIRMED if budget.steps >= FEW_STEPS else Confidence.SUGGESTIVE,
        title=(
            f"MFU is {percent(budget.mfu)}; {percent(budget.recoverable_share)} "
            "of wall is recoverable"
        ),
        detail=(
            f"Over the counted steps alone MFU is {percent(budget.mfu_steps)}; the target is "
            f"{percent(target)}, which would take {duration(short_ns)} less.{first}"
        ),
        cost_s=(budget.ns(name) if name is not None else short_ns) / 1e9,
        evidence=_evidence(budget),
        fix=fix_for(name, device(interruptions)) if name is not None else NAME_THEM,
        verify="record the run again: MFU in the budget rises",
        steps=budget.step_ranges,
        ranks=(budget.shown_rank,),
        explains=("EFFICIENCY.RECOVERABLE",) if name and budget.led_by(name) else (),
    )


def _evidence(budget: Budget) -> Iterator[Evidence]:
    rank = budget.shown_rank
    for metric, mfu in (("MFU of wall", budget.mfu), ("MFU of counted steps", budget.mfu_steps)):
        yield Evidence(metric, round((mfu or 0.0) * 100, 2), "%", rank=rank)
    yield Evidence("FLOPs per step", budget.flops_per_step or 0.0, "FLOPs", rank=rank)
    yield Evidence("peak", (budget.peak_flops or 0.0) / 1e12, "TFLOP/s", rank=rank)
    yield Evidence("steps counted", budget.steps, "steps", rank=rank)
    for line in budget.recoverable[:5]:
        yield Evidence(line.name, line.ns / 1e9, "s", rank=rank)
