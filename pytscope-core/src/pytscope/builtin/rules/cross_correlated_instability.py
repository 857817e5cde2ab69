"""CROSS.CORRELATED_INSTABILITY."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from pytscope.analyses import AxisSet, AxisSpikes, Instability, Moment, Spikes
from pytscope.analyses.instability import ALPHA, MANY, PLAIN
from pytscope.analyses.spikes import GRAD_NORM, LOSS, STEP_TIME, TITLES
from pytscope.analyses.units import count
from pytscope.model.errors import Inconclusive, NotMeasured
from pytscope.model.findings import Confidence, Evidence, Finding, Severity
from pytscope.model.wording import listed
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds
from pytscope.signals.spikes import Spike

NEEDS = "`loss` and `grad_norm` of each step: log(loss=..., grad_norm=...)"
HIGH_RATIO = 2.0
"""Multiple of the usual loss from which a spike of loss and gradient norm is high."""
HIGHEST_RATE = 0.995
"""Part of the highest learning rate from which it is called that."""
_THREE = 3
LEAST_SAID = 1e-4
"""Smallest chance that is put into words."""
_NAMED = 6
_MOST_STEPS = 100


@rule("CROSS.CORRELATED_INSTABILITY", since="0.3.0")
def correlated_instability(
    instability: Instability,
    spikes: Spikes,
    *,
    max_chance: Annotated[float, Bounds(gt=0, le=ALPHA)] = ALPHA,
) -> Iterator[Finding]:
    """Loss, gradient norm, step time or memory begin to stand out at the same moment.

    Detects:
        Moments at which two or more axes leave what was usual together, and for which
        no known event accounts: which axes, in which order, how far, for how long, and
        whether they came back.

    Why it matters:
        One odd value is a bad batch or a busy machine. Several measurements that have
        nothing to do with each other and move at once have a common cause: an update
        that blew up, a batch that is broken, a machine that failed.

    How it decides:
        An axis stands out where a value is above the median of what came before it by
        more than 8 noise units, and by a ratio: 1.2 for loss and memory, 1.3 for step
        time, 1.5 for the gradient norm (analysis `spikes`). Onsets that a known event
        accounts for (warm-up, resume, restart, end of an epoch, evaluation, checkpoint,
        compilation, raised learning rate, skipped update; analysis `event_mask`) are
        left out, and so are those of an axis whose onsets keep a period. What is left is
        judged for each set of axes that all have an onset. Onsets are joint when they
        are within 5 logged points of the coarsest axis.
        One joint onset: the chance is bounded by the number of joint onsets, as close as
        that one, that the axes' own rates of onsets would bring. Two or more: the share
        of 4,000 circular shifts of the axes against each other under which their onsets
        come as near. Larger sets go first and keep their onsets; of three axes and more
        each has to add something: one that would by itself be at a joint onset of the
        others with a chance above 0.01, by its onsets as tall as that one, is no part of
        it unless these are four or fewer. NaN in a loss or a gradient norm is above
        everything, as infinity is, unless more than a tenth of the values before the last
        finite one are NaN: then the loop logs it for no value.
        Finding when the chance, after Holm over the sets, is at most max_chance. Above
        0.001 one or two joint onsets also need two spikes that are severe (of two points
        and more, or three times the level and 20 noise units), and three or more have to
        be three times as many as expected.
        cost_s is what the step time has above its usual value there; null where step
        time is not among the axes. Severity: high with the loss and two other axes, or
        with loss and gradient norm where the loss doubles for more than one step, doubles
        three times, or does not come back; medium with loss and gradient norm, or three
        other axes; else low.
        False-positive rate: at most 1 % (95 % upper bound) in 473 runs each of 100 and of
        1,000 steps, three and four unrelated axes, of nineteen families of noise:
        lognormal up to 50 %, AR(1) up to rho 0.99, Student's t3 and t4, mixtures, drift,
        periods, ticks of a clock, changes of level. Where axes upset themselves all the
        time, in bursts, the chance alone is bounded, by twice max_chance, for the number
        of joint onsets decides which of two ways it is judged; seen there were up to 4 of
        473 runs. `python bench/rates_signals.py` prints every family.

    Fix:
        Where the gradient norm leads, the update is at fault: lower the learning rate,
        lengthen its warm-up, clip. Where both come in one step and go at once, look at
        that batch.

    Limits:
        `docs/accuracy.md` has the rates and the power on simulated runs. The first 16
        values of an axis are never judged. Two axes need 100 judged points: in fewer, one
        coincidence is within chance, and the rule is inconclusive. Axes that are logged
        every n steps are seen every n steps. A learning rate that is raised at once, and
        its five steps after, count as known: the panel EVENTS lists them.

    References:
        Chowdhery et al., "PaLM" (2022), and Le Scao et al., "BLOOM" (2022), on loss
        spikes; Donges et al., "Event coincidence analysis" (2016), on the shift null.
    """
    if not {LOSS, GRAD_NORM} & set(instability.axes):
        few = [why for why in spikes.missing if ":" in why]
        raise NotMeasured("; ".join([NEEDS, *few]))
    found = instability.beyond_chance(max_chance)
    if not found:
        _undecided(instability, max_chance)
        return
    for one in found:
        yield _finding(one, spikes, instability.tested)


def _undecided(instability: Instability, most: float) -> None:
    """Abstain where nothing could have been found, or something nearly was.

    Raises:
        Inconclusive: So it is.
    """
    axes, points = len(instability.axes), instability.points
    if axes < 2:  # noqa: PLR2004  # together takes two
        raise NotMeasured(NEEDS)
    if instability.too_few(most):
        needed = round(most ** (-1 / (axes - 1)))
        msg = f"one coincidence of {axes} axes says something from {needed} judged points on"
        msg += f", there are {points}"
        raise Inconclusive(msg)
    near = instability.unclear(most)
    if near:
        one = min(near, key=lambda each: each.corrected)
        where = listed((m.steps for m in one.moments), 3)
        limit = f"up to {most:g}" if one.telling else f"up to {min(most, PLAIN):g} for odd points"
        msg = f"{one.titles} stand out together at {where}; the chance of that is"
        msg += f" {one.corrected:.2g} (a finding {limit})"
        raise Inconclusive(msg)


def _finding(one: AxisSet, spikes: Spikes, tested: int) -> Finding:
    axes = [axis for name in one.axes if (axis := spikes.axis(name)) is not None]
    return Finding(
        severity=_severity(one, axes),
        confidence=Confidence.CONFIRMED if LOSS in one.axes else Confidence.SUGGESTIVE,
        title=_title(one),
        detail=" ".join(_detail(one, axes, tested)),
        cost_s=_cost_s(one, spikes.axis(STEP_TIME)),
        evidence=tuple(_evidence(one, axes)),
        fix=_fix(one, axes),
        verify="record the run again: TOGETHER no longer lists these axes",
        steps=tuple((m.first, m.last) for m in one.moments[:_MOST_STEPS]),
        ranks=tuple(sorted({axis.rank for axis in axes})),
        explains=("TIMING.JITTER",) if STEP_TIME in one.axes else (),
    )


def _severity(one: AxisSet, axes: list[AxisSpikes]) -> Severity:
    if LOSS in one.axes:
        if len(one.axes) >= _THREE:
            return Severity.HIGH
        if GRAD_NORM in one.axes:
            # A value of every step that is back in the next one is a batch: no instability yet.
            often = one.number >= MANY or any(axis.gap > 1 for axis in axes)
            grave = any(
                spike.recovered is False
                or ((spike.ratio or 0.0) >= HIGH_RATIO and (often or spike.points > 1))
                for spike in one.spikes(LOSS)
            )
            return Severity.HIGH if grave else Severity.MEDIUM
        return Severity.LOW
    return Severity.MEDIUM if len(one.axes) >= _THREE else Severity.LOW


def _title(one: AxisSet) -> str:
    what = "Correlated instability"
    if not {LOSS, GRAD_NORM} & set(one.axes):
        what = "Step time and memory stand out together"
    if one.number == 1:
        return f"{what} at {one.moments[0].steps}"
    return f"{what}, {one.number} times: {one.titles}"


def _detail(one: AxisSet, axes: list[AxisSpikes], tested: int) -> Iterator[str]:
    names = [TITLES[name] for name in one.axes]
    together = f"{', '.join(names[:-1])} and {names[-1]}"
    if one.number == 1:
        moment = one.moments[0]
        values = (_value(axis, spike) for axis, spike in zip(axes, moment.spikes, strict=True))
        yield f"At {moment.steps}, {together} stand out together: {'; '.join(values)}."
    else:
        where = listed((m.steps for m in one.moments), _NAMED)
        yield f"{together} stand out together {one.number} times: {where}."
    yield from _order(one, axes)
    sets = f", all {count(tested, 'axis set')} counted" if tested > 1 else ""
    at_most = "at most " if one.corrected < LEAST_SAID else ""
    share = f"{at_most}{100 * max(one.corrected, LEAST_SAID):.2g}% of such runs{sets}"
    if one.by == "rates":
        first, *others = zip(one.onsets, names, strict=True)
        own = [f"{count(first[0], 'onset')} of {first[1]}", *(f"{n} of {t}" for n, t in others)]
        yield f"With {listed(own)} in {one.points:,} points, chance brings this in {share}."
    else:
        yield f"Chance would bring {one.expected:.2g} of them, and as many in {share}."
    yield from _rate(one.moments)


def _value(axis: AxisSpikes, spike: Spike) -> str:
    usual = f", usually {axis.amount(spike.level)}"
    if spike.ratio is not None and math.isfinite(spike.ratio):
        usual = f", {spike.ratio:.3g} times the usual {axis.amount(spike.level)}"
    after = {True: "back after", False: "not back after", None: "the run ends after"}
    lasted = f"{after[spike.recovered]} {count(spike.points, 'point')}"
    lasted += ", a new level" if spike.shift and math.isfinite(spike.value) else ""
    return f"{TITLES[axis.name]} {axis.amount(spike.value)}{usual}, {lasted}"


def _order(one: AxisSet, axes: list[AxisSpikes]) -> Iterator[str]:
    lead = _lead(one, axes)
    if lead is not None and abs(lead) >= 1:
        first, second = ("Grad norm", "loss") if lead > 0 else ("Loss", "grad norm")
        yield f"{first} comes {count(round(abs(lead)), 'point')} before the {second}."


def _lead(one: AxisSet, axes: list[AxisSpikes]) -> float | None:
    """Points by which the gradient norm begins before the loss."""
    return one.lead(GRAD_NORM, LOSS, max((axis.gap for axis in axes), default=1))


def _rate(moments: tuple[Moment, ...]) -> Iterator[str]:
    first = moments[0]
    if first.lr is not None and first.lr_share is not None:
        share = f"{first.lr_share:.0%} of its highest"
        share = "its highest" if first.lr_share >= HIGHEST_RATE else share
        yield f"The learning rate was {first.lr:.3g} there, {share}."


def _fix(one: AxisSet, axes: list[AxisSpikes]) -> str:
    where = one.moments[0].steps
    if LOSS not in one.axes and GRAD_NORM not in one.axes:
        return f"Look at what allocates in {where}: retries of the allocator, larger inputs."
    lead = _lead(one, axes)
    if lead is not None and lead >= 1:
        return (
            "The gradient norm leads, so the update is at fault: lower the learning rate or "
            "lengthen its warm-up, clip gradients, and look at the second moment's decay."
        )
    batch = f"the batch of step {one.moments[0].first}"
    if LOSS in one.axes and all(s.points == 1 and s.recovered for s in one.spikes(LOSS)):
        return f"It is gone at once: look at {batch}, then at gradient clipping."
    return (
        f"Look at {batch}, at the learning rate around {where} and at gradient clipping; a "
        "second run with the same data order tells data from optimizer (pytscope diff)."
    )


def _evidence(one: AxisSet, axes: list[AxisSpikes]) -> Iterator[Evidence]:
    for axis in axes:
        tallest = max(one.spikes(axis.name), key=lambda spike: spike.z)
        title, steps = TITLES[axis.name], (tallest.start, tallest.end)
        yield Evidence(f"{title}, highest", axis.amount(tallest.value), steps=steps)
        yield Evidence(f"{title}, usual", axis.amount(tallest.level))
        yield Evidence(f"{title}, height", round(min(tallest.z, 1e9), 1), "noise units")
    yield Evidence("joint onsets", one.number)
    yield Evidence("joint onsets expected by chance", float(f"{one.expected:.3g}"))
    yield Evidence("chance, corrected", float(f"{one.corrected:.3g}"))


def _cost_s(one: AxisSet, step_time: AxisSpikes | None) -> float | None:
    """What the steps of the moments take beyond the usual."""
    if step_time is None or STEP_TIME not in one.axes:
        return None
    total = 0.0
    for spike in one.spikes(STEP_TIME):
        there = (step_time.step.values >= spike.start) & (step_time.step.values <= spike.end)
        total += float(np.maximum(step_time.each.values[there] - spike.level, 0.0).sum())
    return total / 1e9
