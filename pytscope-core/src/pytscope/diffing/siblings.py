"""The same bad step in sibling runs: what they have in common there is their data.

One run's spike has many possible causes. Runs whose weights went different ways and
that stumble at the same step of the same data order were fed something bad there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import attrs
import numpy as np

from pytscope.analyses.event_mask import EventMask
from pytscope.analyses.spikes import GRAD_NORM, LOSS
from pytscope.diffing.batches import BATCH
from pytscope.diffing.logged import Series, integers, names, series
from pytscope.diffing.metrics import metric
from pytscope.model.comparison import SharedStep
from pytscope.model.wording import listed
from pytscope.runs.run import Ints, Run
from pytscope.signals.rhythm import on_grid
from pytscope.signals.spikes import GRADIENT_RATIO, RATIO, Spike, find_spikes

ALPHA = 0.01
"""Largest chance of as many common steps in unrelated runs."""
FALSE_SHARE = 0.1
"""Largest part of the common steps that chance is expected to make."""
NEARBY = 50
"""Steps to either side in which other spikes make one more likely."""
_SAME_COURSE = 1e-4
_BEFORE = 10
_FEWEST_BEFORE = 3
_MOST = 64


@attrs.frozen(eq=False)
class _Sibling:
    """A series of one run, and where it stands out."""

    run: Run
    label: str
    series: Series
    spikes: Mapping[int, Spike]
    batches: tuple[Ints, Ints] | None


@attrs.frozen(eq=False)
class _Shared:
    """A step at which several runs stand out."""

    step: int
    siblings: tuple[_Sibling, ...]


def shared_steps(
    runs: Sequence[Run], labels: Sequence[str], masks: Sequence[EventMask | None]
) -> tuple[SharedStep, ...]:
    """Bad steps that several runs have in common, which only their data explain.

    A spike of a training loss or of the gradient norm counts where it begins. Left
    out are runs that took the same course before it, which are one witness and not
    two; runs whose batches were recorded there and differ; spikes that a known event
    accounts for, such as a raised learning rate, a resume or the end of an epoch; and
    spikes that come at a fixed period, as those at the ends of epochs do that nobody
    logged. What is left must be more than chance makes: given the spikes of the runs
    and how dense they are thereabouts, as many common steps have a probability of at
    most 1 %, and of those named at most a tenth are expected to be chance.

    Args:
        runs: The runs, at least two.
        labels: A label for each.
        masks: The known events of each; None where they could not be found, and then the
            run is no witness.

    Returns:
        By step; a step that shows in several series is named for the first.
    """
    found: dict[int, SharedStep] = {}
    for name in watched(runs):
        for shared in _of_series(runs, labels, masks, name):
            found.setdefault(shared.step, shared)
    return tuple(found[step] for step in sorted(found))[:_MOST]


def watched(runs: Sequence[Run]) -> list[str]:
    """Training losses, then gradient norms, that two runs or more logged."""
    every = dict.fromkeys(name for run in runs for name in names(run))
    shared = [name for name in every if sum(name in names(run) for run in runs) > 1]
    losses = [name for name in shared if _is_training_loss(name)]
    return losses + [name for name in shared if "grad_norm" in name.lower().replace("-", "_")]


def _is_training_loss(name: str) -> bool:
    known = metric(name)
    return bool(known and known.lower_is_better and not known.evaluated)


def _of_series(
    runs: Sequence[Run], labels: Sequence[str], masks: Sequence[EventMask | None], name: str
) -> Iterator[SharedStep]:
    siblings = [
        _sibling(run, label, mask, known, name)
        for run, label, mask in zip(runs, labels, masks, strict=True)
        if mask is not None and (known := series(run, name)) is not None
    ]
    candidates = sorted({step for one in siblings for step in one.spikes})
    groups = [group for step in candidates for group in _together(step, siblings)]
    steps = [_Shared(group_step, group) for group_step, group in groups]
    chances = _chances(steps, siblings)
    for shared in steps:
        chance = chances.get(len(shared.siblings), 1.0)
        if chance <= ALPHA:
            yield _told(shared, name, chance, len(siblings))


def _sibling(run: Run, label: str, mask: EventMask, known: Series, name: str) -> _Sibling:
    axis, ratio = (LOSS, RATIO) if metric(name) is not None else (GRAD_NORM, GRADIENT_RATIO)
    spikes = [s for s in find_spikes(known.steps, known.values, ratio=ratio) if not s.shift]
    starts = np.array([spike.start for spike in spikes], np.int64)
    gap = int(np.median(np.diff(known.steps))) if len(known) > 1 else 1
    explained = mask.masked(axis, starts, gap) | on_grid(starts)
    own = {s.start: s for s, why in zip(spikes, explained.tolist(), strict=True) if not why}
    return _Sibling(run, label, known, own, integers(run, BATCH))


def _together(
    step: int, siblings: Sequence[_Sibling]
) -> Iterator[tuple[int, tuple[_Sibling, ...]]]:
    """Groups of runs that stand out at a step, took courses of their own and share its batch."""
    bad = [one for one in siblings if step in one.spikes]
    by_batch: dict[int | None, list[_Sibling]] = {}
    for one in bad:
        by_batch.setdefault(_batch(one, step), []).append(one)
    unknown = by_batch.pop(None, [])
    groups = [[*group, *unknown] for group in by_batch.values()] or [unknown]
    for group in groups:
        apart: list[_Sibling] = []
        for one in group:
            if not any(_same_course(one.series, other.series, step) for other in apart):
                apart.append(one)
        if len(apart) > 1:
            yield step, tuple(apart)


def _batch(one: _Sibling, step: int) -> int | None:
    if one.batches is None:
        return None
    steps, values = one.batches
    at = int(np.searchsorted(steps, step))
    return int(values[at]) if at < len(steps) and steps[at] == step else None


def _same_course(one: Series, other: Series, step: int) -> bool:
    """Whether two runs had the same values before a step: one computation, done twice."""
    steps, mine, theirs = one.common(other)
    before = slice(
        max(0, int(np.searchsorted(steps, step)) - _BEFORE), np.searchsorted(steps, step)
    )
    a, b = mine[before], theirs[before]
    keep = np.isfinite(a) & np.isfinite(b)
    if keep.sum() < _FEWEST_BEFORE:
        return False
    return bool(np.all(np.abs(a[keep] - b[keep]) <= _SAME_COURSE * np.abs(a[keep])))


def _chances(steps: Sequence[_Shared], siblings: Sequence[_Sibling]) -> dict[int, float]:
    """By number of runs, the chance that unrelated runs have as many steps in common.

    Given one run's spikes, each other run has one at the same step with a probability
    of how dense its other spikes are there; Holm-like, over the levels that occur.
    """
    levels = sorted({len(shared.siblings) for shared in steps})
    candidates = sorted({step for one in siblings for step in one.spikes})
    chances = {}
    for level in levels:
        expected = math.fsum(_by_chance(step, siblings, level) for step in candidates)
        seen = sum(len(shared.siblings) >= level for shared in steps)
        if expected > FALSE_SHARE * seen:
            continue
        chances[level] = min(1.0, len(levels) * _poisson_tail(seen, expected))
    return chances


def _by_chance(step: int, siblings: Sequence[_Sibling], level: int) -> float:
    """Chance that all but one of `level` runs have a spike at a step that one run has it at."""
    there = [_density(one, step) for one in siblings if _logs(one, step)]
    if len(there) < level:
        return 0.0
    there = sorted(there)[1:]  # the run that has it, at worst the one with the fewest
    none = [1.0] + [0.0] * len(there)
    for p in there:
        for count in range(len(there), 0, -1):
            none[count] = none[count] * (1.0 - p) + none[count - 1] * p
        none[0] *= 1.0 - p
    return math.fsum(none[level - 1 :])


def _logs(one: _Sibling, step: int) -> bool:
    return int(one.series.steps[0]) <= step <= int(one.series.steps[-1])


def _density(one: _Sibling, step: int) -> float:
    """Spikes a logged step: over the whole run, or about a step without those at it."""
    places = np.searchsorted(one.series.steps, list(one.spikes))
    place = int(np.searchsorted(one.series.steps, step))
    nearby = int(((np.abs(places - place) <= NEARBY) & (places != place)).sum())
    overall = len(one.spikes) / max(len(one.series), 1)
    return min(1.0, max(overall, nearby / (2 * NEARBY)))


def _poisson_tail(seen: int, expected: float) -> float:
    """Probability of at least as many."""
    if seen <= 0:
        return 1.0
    if expected <= 0.0:
        return 0.0
    total, log_term = 0.0, -expected + seen * math.log(expected) - math.lgamma(seen + 1)
    for extra in range(_MOST):
        total += math.exp(log_term)
        log_term += math.log(expected) - math.log(seen + extra + 1)
    return min(1.0, total)


def _told(shared: _Shared, name: str, chance: float, of: int) -> SharedStep:
    spikes = [one.spikes[shared.step] for one in shared.siblings]
    ratios = tuple(math.nan if s.ratio is None else s.ratio for s in spikes)
    said = " to ".join(dict.fromkeys(f"{ratio:.3g}" for ratio in (min(ratios), max(ratios))))
    labels = tuple(one.label for one in shared.siblings)
    recovered = sum(spike.recovered is True for spike in spikes)
    back = "all recover" if recovered == len(spikes) else f"{recovered} of {len(spikes)} recover"
    detail = (
        f"{name} stands out at step {shared.step} in {len(labels)} of {of} runs ({said} times the "
        f"local level; {back}), which went different ways before it: the batch is bad or hard, "
        f"not the training. {_order(shared)}"
    )
    return SharedStep(
        step=shared.step, series=name, runs=labels, ratios=ratios, chance=chance, detail=detail
    )


def _order(shared: _Shared) -> str:
    known = [one for one in shared.siblings if _batch(one, shared.step) is not None]
    if len(known) == len(shared.siblings):
        return "Their batches there are the same by fingerprint."
    if known:
        without = listed(one.label for one in shared.siblings if one not in known)
        return f"Without batch fingerprints in {without}, their agreement is what shows it."
    return (
        "Their batches were not recorded; that they agree in the step shows that they share "
        "the order of the data."
    )
