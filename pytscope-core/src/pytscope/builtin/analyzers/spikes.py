"""The analyzer of spikes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs
import numpy as np

from pytscope.analyses.column import Column
from pytscope.analyses.event_mask import EventMask
from pytscope.analyses.spikes import (
    AXES,
    GRAD_NORM,
    LOSS,
    MEMORY,
    STEP_TIME,
    TITLES,
    AxisSpikes,
    KnownSpike,
    Spikes,
)
from pytscope.builtin.analyzers.event_mask import logged_by
from pytscope.builtin.analyzers.phases import eval_fetches_ns
from pytscope.model.errors import NotMeasured
from pytscope.model.records import Flag
from pytscope.model.wording import listed
from pytscope.plugins.declare import analyzer
from pytscope.runs.last_pass import counting, last_pass
from pytscope.runs.run import Floats, Ints, Run, Timeline
from pytscope.signals.names import GRAD_NORM as GRAD_NORM_NAMES
from pytscope.signals.names import LOSS as LOSS_NAMES
from pytscope.signals.rhythm import in_rhythm
from pytscope.signals.spikes import (
    FEWEST,
    GRADIENT_RATIO,
    RATIO,
    Spike,
    find_spikes,
    judged_places,
)
from pytscope.stats import period

RATIOS = {LOSS: RATIO, GRAD_NORM: GRADIENT_RATIO, STEP_TIME: 1.3, MEMORY: 1.2}
"""Least multiple of the level, by axis."""
BESIDE = 1
"""Points apart at which spikes of two axes are of one moment."""
REACH = 5
"""Points after its beginning in which another axis may follow into a spike that lasts."""
ASSOCIATED = 0.8
"""Part of an axis's spikes that an event of another kind must hold to account for them."""
ALPHA = 0.01
"""Largest chance that so many spikes are there by accident."""
FEWEST_ASSOCIATED = 3
HELD = ("allocated", "active", "resident", "reserved", "anonymous", "rss")
"""Columns of memory, the most telling first; `peak` before them where it is reset."""

NOT_LOGGED = 0.1
"""Part of the values before the last finite one that may be NaN; more stand for no value."""

Series = tuple[str, int, Ints, Floats]
"""Name of a column, its rank, steps and values."""


@analyzer("spikes")
def spikes(run: Run, mask: EventMask) -> Spikes:
    """Find what stands out on each axis.

    Raises:
        NotMeasured: No axis has more than 16 values.
    """
    found: list[AxisSpikes] = []
    missing: list[str] = []
    absent: list[str] = []
    for name in AXES:
        series = _series(run, name)
        if series is None:
            absent.append(TITLES[name])
        elif int(np.isfinite(series[3]).sum()) <= FEWEST:
            missing.append(f"{TITLES[name]}: {FEWEST} values or fewer")
        elif not len(judged_places(series[3])):
            missing.append(f"{TITLES[name]}: {FEWEST} values or fewer that are not 0")
        else:
            found.append(_axis(name, series, mask))
    if not found:
        msg = f"more than {FEWEST} steps, with `loss` and `grad_norm` logged"
        raise NotMeasured(msg)
    if absent:
        missing.append(f"{listed(absent)} not recorded")
    return Spikes(
        rank=run.shown.rank,
        axes=tuple(_beside(found)),
        missing=tuple(missing),
        ranks=len(run.timelines),
        redone=int(run.shown.has(Flag.REDONE).sum()),
    )


def _series(run: Run, name: str) -> Series | None:
    if name in (LOSS, GRAD_NORM):
        names = LOSS_NAMES if name == LOSS else GRAD_NORM_NAMES
        return logged_by(run, names)
    if name == STEP_TIME:
        return _step_time(run.shown)
    return _memory(run.shown)


def _step_time(timeline: Timeline) -> Series | None:
    """Training time without collections, which have a name and a rule of their own."""
    rated = timeline.rated
    if not rated.any():
        return None
    training = timeline.training_ns - eval_fetches_ns(timeline) - timeline.phase_ns("gc")
    rows = np.flatnonzero(rated)
    steps, values = last_pass(timeline, rows, training[rows].astype(np.float64))
    return "training time", timeline.rank, steps, values


def _memory(timeline: Timeline) -> Series | None:
    for name in ("peak", *HELD):
        if name in timeline.memory:
            steps, values = counting(timeline, name, "memory")
            each = values.astype(np.float64)
            if len(each) and (name != "peak" or (np.diff(each) < 0).any()):
                return name, timeline.rank, steps, each
    return None


def _axis(name: str, series: Series, mask: EventMask) -> AxisSpikes:
    column, rank, steps, logged = series
    values = _broken_is_high(logged) if name in (LOSS, GRAD_NORM) else logged
    found = _as_logged(find_spikes(steps, values, ratio=RATIOS[name]), steps, logged)
    gap = int(np.median(np.diff(steps))) if len(steps) > 1 else 1
    starts = np.array([spike.start for spike in found], np.int64)
    explained = mask.explained(name, starts, gap)
    covered = mask.masked(name, steps, gap)
    kind = _associated(starts[[not kind for kind in explained]], steps, mask, name, gap)
    if kind is not None:
        event = mask.event(kind)
        at = event.covers(starts, gap) if event is not None else np.zeros(len(starts), np.bool_)
        explained = [
            was or (kind if there else "") for was, there in zip(explained, at, strict=True)
        ]
    left = starts[[not kind for kind in explained]]
    own = period(left)
    if own is not None:
        regular = set(left[in_rhythm(left, own)].tolist())
        explained = [
            was or ("period" if start in regular else "")
            for was, start in zip(explained, starts.tolist(), strict=True)
        ]
    finite = np.flatnonzero(np.isfinite(logged))
    ends = int(finite[-1]) + 1
    judged = judged_places(values)
    unmasked = steps[judged[~covered[judged]]]
    return AxisSpikes(
        name=name,
        rank=rank,
        series=column,
        points=len(values),
        gap=gap,
        judged=len(unmasked),
        not_finite=len(values) - len(finite),
        lost_from=int(steps[ends]) if ends < len(steps) else None,
        number=len(found),
        spikes=tuple(map(KnownSpike, found, explained)),
        period=own,
        step=Column(steps),
        each=Column(logged),
        unmasked=Column(unmasked),
    )


def _broken_is_high(values: Floats) -> Floats:
    """The values, NaN and negative infinity above everything, where they do not mean "none".

    A loss that is NaN is broken. A loop that has no value in many steps may log NaN there.
    """
    broken = np.isnan(values) | np.isneginf(values)
    finite = np.flatnonzero(np.isfinite(values))
    if not len(finite) or broken[: finite[-1]].mean() > NOT_LOGGED:
        return values
    return np.where(broken, np.inf, values)


def _as_logged(found: tuple[Spike, ...], steps: Ints, values: Floats) -> tuple[Spike, ...]:
    """The spikes, with the value that was logged at their peak."""
    at = np.searchsorted(steps, [spike.peak for spike in found])
    return tuple(
        spike if np.isfinite(spike.value) else attrs.evolve(spike, value=value)
        for spike, value in zip(found, values[at].tolist(), strict=True)
    )


def _associated(starts: Ints, steps: Ints, mask: EventMask, name: str, gap: int) -> str | None:
    """An event that need not make this axis stand out, and yet holds its spikes."""
    if len(starts) < FEWEST_ASSOCIATED:
        return None
    for event in mask.events:
        if event.explains and name not in event.explains:
            hits = int(event.covers(starts, gap).sum())
            share = float(event.covers(steps, gap).mean())
            if hits >= max(FEWEST_ASSOCIATED, ASSOCIATED * len(starts)):
                chance = math.comb(len(starts), hits) * share**hits
                if chance <= ALPHA:
                    return event.kind
    return None


def _beside(axes: list[AxisSpikes]) -> Iterator[AxisSpikes]:
    """The axes, each spike with the others that stand out when it does."""
    for axis in axes:
        others = [(other, _extents(other)) for other in axes if other is not axis]
        yield attrs.evolve(
            axis,
            spikes=tuple(
                attrs.evolve(
                    known,
                    beside=tuple(
                        other.name
                        for other, extents in others
                        if _touches(known.spike, extents, max(axis.gap, other.gap))
                    ),
                )
                for known in axis.spikes
            ),
        )


def _extents(axis: AxisSpikes) -> tuple[Ints, Ints]:
    starts = np.array([known.spike.start for known in axis.unexplained], np.int64)
    return starts, np.array([known.spike.end for known in axis.unexplained], np.int64)


def _touches(spike: Spike, extents: tuple[Ints, Ints], gap: int) -> bool:
    """Whether a spike begins in, or next to, one of some stretches, or one soon begins in it."""
    starts, ends = extents
    reach = BESIDE * gap
    place = int(np.searchsorted(starts, spike.start + reach, side="right")) - 1
    if place >= 0 and ends[place] >= spike.start - reach:
        return True
    soon = min(spike.start + REACH * gap, spike.end + reach)
    return bool(place + 1 < len(starts) and starts[place + 1] <= soon)
