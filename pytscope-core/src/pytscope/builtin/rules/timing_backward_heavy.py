"""TIMING.BACKWARD_HEAVY."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

import attrs
import numpy as np

from pytscope.analyses import Budget, Coverage, Timing
from pytscope.analyses.coverage import FEW_STEPS
from pytscope.analyses.units import count, duration, percent
from pytscope.builtin.rules.missing_phase import meant
from pytscope.builtin.rules.rise import Rise, find_rise, log_median_error
from pytscope.builtin.rules.severities import severity_of, whole_ns
from pytscope.model.errors import Inconclusive, NotApplicable, NotMeasured
from pytscope.model.findings import Confidence, Cost, Evidence, Finding, Severity
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds
from pytscope.runs.run import Bools, Floats
from pytscope.stats import quantile_interval, ranges

HEALTHY = (2.0, 3.0, 4.0)
"""Backward over forward of a healthy model: least, assumed, most."""
MOST_STEPS = 0.9
"""Part of the steps in which `comm` is there when gradients are exchanged in it."""
ERRORS = 4.0
"""Standard errors by which the median ratio has to be above its limit."""
SMALLER = 0.5
"""Part of the ratio's rise (in logarithms) that backward itself has to show."""
LEVEL_FIX = (
    "Possible causes: dense gradients of large embeddings (sparse=True); backward run more than "
    "once through a graph that is kept (retain_graph=True), or through a state carried over steps "
    "without detach(); a second derivative; torch.autograd.set_detect_anomaly left on; hooks on "
    "gradients that wait for the device; a host clock that books the device's work where it is "
    "waited for (sync=True tells)."
)
GROWING_FIX = (
    "Possible causes: a graph that grows with every step (a hidden state or a loss carried over "
    "without detach()); inputs that get larger; memory that runs short."
)
STEP_FIX = (
    "Look at what changed there: a second backward (retain_graph=True), a part of the model that "
    "was unfrozen, another loss term, anomaly detection or a profiler switched on, larger inputs."
)


@attrs.frozen(eq=False)
class Both:
    """Forward and backward, nanoseconds, in the steps that have both.

    Attributes:
        rows: Which of the rated steps those are.
        forward: Forward with loss.
        backward: Backward without recomputation, as far as that is known.
    """

    rows: Bools
    forward: Floats
    backward: Floats

    @property
    def ratio(self) -> Floats:
        """Backward over forward."""
        return self.backward / self.forward


@rule("TIMING.BACKWARD_HEAVY", since="0.3.0")
def backward_heavy(
    timing: Timing,
    budget: Budget | None,
    coverage: Coverage | None,
    *,
    max_ratio: Annotated[float, Bounds(gt=1)] = 5.0,
    min_rise: Annotated[float, Bounds(gt=1)] = 1.5,
    min_share: Annotated[float, Bounds(gt=0, lt=1)] = 0.05,
) -> Iterator[Finding]:
    """Backward takes far longer than forward explains, or began to within the run.

    Detects:
        A backward pass that takes several times what healthy models show in
        relation to their forward pass, and a rise of that relation inside the run,
        with the step from which it is higher.

    Why it matters:
        Backward is most of a step. Where it is out of proportion, something beside
        the gradients is computed in it: checks that were left on, a graph that
        should have been let go, gradients that need not be dense.

    How it decides:
        ratio(step) = (backward - recomputation) / (forward + loss), over the rated
        steps of the shown rank that have both; what was recorded as `comm` or `gc`
        inside backward is no part of it, and recomputation is what the budget knows
        of it. Matrix products make the ratio about 2; one recomputed forward makes it
        3, and so do small batches on a CPU; fused attention with recomputation
        reaches 4.
        Level: finding when the lower end of the 95 % interval of the median ratio is
        at least max_ratio, and the median itself by four standard errors from the
        effective number of steps. cost_s = sum(backward - 3 x forward), its interval
        from 4 and from 2 instead of 3: the counterfactual is backward in a healthy
        relation.
        Rise: finding when the medians of the ratio before and after some step differ
        by at least min_rise times, and by 3 + sqrt(2 ln n) standard errors (5 where a
        straight line fits better) from the
        effective number of steps on each side (a side has at least 20 steps and a
        tenth of all, worth six independent ones), and backward itself rose by half of
        that or more (in logarithms), so that a forward pass that became faster is none.
        cost_s = sum over the later steps of backward - earlier ratio x forward, its
        interval from that of the earlier median: the counterfactual is the earlier
        relation kept.
        Either way cost_s has to be at least min_share of the rated wall. Severity by
        cost over the rated wall: medium from 0.08, low below; never high, and always
        suggestive, because the causes are guesses. At least 20 steps; not applicable
        where the run times compute as a whole. In a job of several ranks backward
        holds the exchange of gradients and the wait for slower ranks, unless nine of
        ten steps have `comm`: what would be a finding is inconclusive then.
        False-positive rate: at most 1 % (95 % upper bound) in 628 runs each of 20,
        50, 200 and 1,000 steps, at a true ratio of 2 and of 4, whose ratio varies by
        itself as lognormal noise up to 30 %, AR(1) noise with rho up to 0.9,
        Student's t noise, in periods, in warm-up ramps, in drifts of a third and in
        whole milliseconds. `python bench/rates.py` prints every family.

    Fix:
        The finding lists what is known to do this; look in that order.

    Limits:
        The ratio of a model is its own: layers without parameters, convolutions and
        sparse layers differ from 2. Where the host's clock times a device that runs
        on by itself, each phase holds what was waited for in it; record with
        sync=True before changing the model. Of several rises the clearest is named;
        one that is over again long before the end, or lies within the first or last
        tenth of the steps, is not seen. Noise that remembers costs power: in AR(1)
        noise of 10 % with rho 0.9 on both phases, a doubling is found and placed within
        10 steps in 68 of 100 runs of 200 steps and in 91 of 100 of 1,000, and growth to
        four times over 300 steps in 33 of 100.

    References:
        Kaplan et al., "Scaling Laws for Neural Language Models" (2020), on two
        operations of backward for one of forward; Chen et al., "Training Deep Nets
        with Sublinear Memory Cost" (2016); PyTorch documentation, "Anomaly
        detection".
    """
    both = _both(timing, budget)
    rise = _rise(both, min_rise)
    ratio, low, high = quantile_interval(both.ratio, 0.5)
    finding = None
    if rise is not None and math.exp(rise.before) < max_ratio:
        finding = _risen(timing, both, rise)
    elif low >= max_ratio and ratio >= max_ratio * math.exp(
        ERRORS * log_median_error(np.log(both.ratio))
    ):
        finding = _heavy(timing, both, (ratio, low, high))
    if finding is None or finding.cost_s is None:
        return
    if finding.cost_s.value * 1e9 < min_share * timing.wall_ns:
        return
    world = max(timing.ranks, coverage.world if coverage else 1)
    if world > 1 and timing.phase("comm").steps < MOST_STEPS * timing.steps:
        msg = (
            f"backward may hold the exchange of gradients and the wait for slower ranks, of "
            f"{world} ranks; record that as `comm`"
        )
        raise Inconclusive(msg)
    severity = severity_of(finding.cost_s.value * 1e9, timing.wall_ns, whole_ns(budget))
    yield attrs.evolve(finding, severity=max(severity, Severity.MEDIUM, key=lambda s: s.order))


def _both(timing: Timing, budget: Budget | None) -> Both:
    backward, forward = timing.phase("backward"), timing.phase("forward")
    if not (backward.steps and forward.steps):
        if timing.phase("compute").steps:
            msg = "the run times compute as a whole, as `compute`"
            raise NotApplicable(msg)
        raise NotMeasured(_missing(timing))
    first = (forward.each.values + timing.phase("loss").each.values).astype(np.float64)
    second = backward.each.values.astype(np.float64)
    again = budget.ns("recompute") if budget is not None else 0
    if 0 < again < second.sum():
        second = second * (1.0 - again / second.sum())
    rows: Bools = (first > 0) & (second > 0)
    if int(rows.sum()) < FEW_STEPS:
        msg = f"{FEW_STEPS} steps with forward and backward are needed, there are {rows.sum()}"
        raise Inconclusive(msg)
    return Both(rows, first[rows], second[rows])


def _missing(timing: Timing) -> str:
    """What to record, of the two phases that the rule needs."""
    names = [name for name in ("forward", "backward") if not timing.phase(name).steps]
    marks = " and ".join(f'mark("{name}")' for name in names)
    named = " and ".join(f"`{name}`" for name in names)
    return f"{named} as a phase of its own: {marks}{meant(names, timing.phases)}"


def _rise(both: Both, min_rise: float) -> Rise | None:
    rise = find_rise(np.log(both.ratio), min_rise)
    if rise is None:
        return None
    before = np.median(both.backward[: rise.at])
    after = np.median(both.backward[rise.at :])
    return rise if math.log(after / before) >= SMALLER * math.log(rise.times) else None


def _heavy(timing: Timing, both: Both, ratio: tuple[float, float, float]) -> Finding:
    most, cost, least = (float((both.backward - h * both.forward).sum()) / 1e9 for h in HEALTHY)
    return _finding(
        timing,
        Cost(cost, least, most),
        title=f"Backward takes {ratio[0]:.1f} times as long as forward",
        detail=(
            f"{duration(float(np.median(both.backward)))} a step after "
            f"{duration(float(np.median(both.forward)))} of forward; healthy models show 2 to 4 "
            f"times. What exceeds 3 times is {percent(cost * 1e9 / timing.wall_ns)} of step time."
        ),
        evidence=[
            Evidence("backward over forward, median", *_interval(ratio), rank=timing.rank),
            *_evidence(timing, both),
        ],
        fix=LEVEL_FIX,
        steps=timing.step_ranges,
    )


def _risen(timing: Timing, both: Both, rise: Rise) -> Finding:
    step = timing.step.values[both.rows]
    before = quantile_interval(both.ratio[: rise.at], 0.5)
    after = quantile_interval(both.ratio[rise.at :], 0.5)
    later = both.backward[rise.at :], both.forward[rise.at :]
    cost, most, least = (float((later[0] - r * later[1]).sum()) / 1e9 for r in before)
    how = "grew over the run, most clearly" if rise.gradual else "went up"
    first, at, last = (int(step[i]) for i in (0, rise.at, -1))
    return _finding(
        timing,
        Cost(cost, least, most),
        title=(f"Backward went from {before[0]:.1f} to {after[0]:.1f} times forward at step {at}"),
        detail=(
            f"The relation {how} at step {at}; it was {before[0]:.1f} in "
            f"{count(rise.at, 'step')} before it. What the later steps take beyond that is "
            f"{percent(cost * 1e9 / timing.wall_ns)} of step time."
        ),
        evidence=[
            Evidence(
                "backward over forward, before",
                *_interval(before),
                steps=(first, int(step[rise.at - 1])),
                rank=timing.rank,
            ),
            Evidence(
                "backward over forward, after",
                *_interval(after),
                steps=(at, last),
                rank=timing.rank,
            ),
            *_evidence(timing, both),
        ],
        fix=GROWING_FIX if rise.gradual else STEP_FIX,
        steps=ranges(step[rise.at :]),
    )


def _finding(
    timing: Timing,
    cost: Cost,
    *,
    title: str,
    detail: str,
    evidence: list[Evidence],
    fix: str,
    steps: tuple[tuple[int, int], ...],
) -> Finding:
    return Finding(
        severity=Severity.LOW,  # the rule sets it by the cost
        confidence=Confidence.SUGGESTIVE,
        title=title,
        detail=detail,
        cost_s=cost,
        evidence=evidence,
        fix=fix,
        verify="record the run again: backward over forward in TIMING comes down",
        steps=steps,
        ranks=(timing.rank,),
    )


def _interval(of: tuple[float, float, float]) -> tuple[float, str, float, float]:
    value, low, high = (round(number, 2) for number in of)
    return value, "times", low, high


def _evidence(timing: Timing, both: Both) -> Iterator[Evidence]:
    rank = timing.rank
    yield Evidence("forward, median", float(np.median(both.forward)) / 1e6, "ms", rank=rank)
    yield Evidence("backward, median", float(np.median(both.backward)) / 1e6, "ms", rank=rank)
    yield Evidence("backward share", round(timing.share("backward") * 100, 2), "%", rank=rank)
    yield Evidence("steps with both", len(both.forward), "steps", rank=rank)
