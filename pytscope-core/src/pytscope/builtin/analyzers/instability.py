"""The analyzer of axes that stand out together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import attrs
import numpy as np

from pytscope.analyses.event_mask import EventMask
from pytscope.analyses.instability import (
    ALPHA,
    MOST_WRITTEN,
    AxisSet,
    Instability,
    KnownMoment,
    Moment,
)
from pytscope.analyses.spikes import AxisSpikes, Spikes
from pytscope.builtin.analyzers.event_mask import logged
from pytscope.plugins.declare import analyzer
from pytscope.runs.run import Floats, Ints, Run
from pytscope.signals.coincidence import (
    Joint,
    chance_of_many,
    chance_of_one,
    joint_onsets,
)
from pytscope.signals.names import LR
from pytscope.signals.spikes import Spike
from pytscope.stats import holm

REACH = 5
"""Logged points from the first onset of a joint one to its last, at most."""
MANY = 3
"""Joint onsets from which shifts say what chance is."""


@attrs.frozen(eq=False)
class _Onsets:
    """The unexplained spikes of an axis that no larger set has claimed."""

    axis: AxisSpikes
    spikes: tuple[Spike, ...]

    @property
    def starts(self) -> Ints:
        return np.array([spike.start for spike in self.spikes], np.int64)


@analyzer("instability")
def instability(run: Run, spikes: Spikes, mask: EventMask) -> Instability:
    """Find moments at which several axes begin to stand out, and judge them by chance."""
    onsets = {
        axis.name: _Onsets(axis, tuple(known.spike for known in axis.unexplained))
        for axis in spikes.axes
    }
    names = [name for name in onsets if onsets[name].spikes]
    sets = [s for k in range(len(names), 1, -1) for s in itertools.combinations(names, k)]
    found: list[AxisSet] = []
    for axes in sets:
        judged = _judged([onsets[name] for name in axes], mask)
        if judged is None:
            continue
        found.append(judged)
        if judged.chance * len(sets) <= ALPHA:
            _claim(onsets, judged)
    without = [1.0] * (len(sets) - len(found))  # sets without a joint onset were asked about, too
    corrected = holm([*(one.chance for one in found), *without])[: len(found)]
    known = tuple(_known(spikes))
    rates = logged(run, LR)
    found = [_with_rates(one, rates) for one in found]
    return Instability(
        axes=tuple(axis.name for axis in spikes.axes),
        points=min(axis.judged for axis in spikes.axes),
        tested=len(sets),
        sets=tuple(
            attrs.evolve(one, corrected=chance)
            for one, chance in zip(found, corrected, strict=True)
        ),
        known=known[:MOST_WRITTEN],
        known_number=len(known),
    )


def _judged(members: Sequence[_Onsets], mask: EventMask) -> AxisSet | None:
    """A set of axes with its chance; None without a joint onset."""
    grid = _grid([member.axis for member in members], mask)
    places = [np.searchsorted(grid, member.starts) for member in members]
    inside = [np.flatnonzero(each < len(grid)) for each in places]
    places = [each[kept] for each, kept in zip(places, inside, strict=True)]
    joints = joint_onsets(places, REACH)
    if not joints:
        return None
    counts = [len(np.unique(each)) for each in places]
    if len(joints) >= MANY:
        by, chance = "shifts", chance_of_many(places, len(grid), REACH)
    else:
        closest = min(joint.spread for joint in joints)
        by, chance = "rates", chance_of_one(counts, len(grid), closest)
    k = len(members)
    ways = (REACH + 1) ** k - REACH**k
    return AxisSet(
        axes=tuple(member.axis.name for member in members),
        onsets=tuple(map(len, inside)),
        points=len(grid),
        number=len(joints),
        moments=tuple(_moment(joint, members, inside) for joint in joints),
        expected=len(grid) * ways * math.prod(number / len(grid) for number in counts),
        chance=chance,
        corrected=chance,
        by=by,
    )


def _grid(axes: Sequence[AxisSpikes], mask: EventMask) -> Ints:
    """Steps of the coarsest axis at which every axis could have had an onset."""
    coarsest = min(axes, key=lambda axis: axis.points)
    grid: Ints = coarsest.unmasked.values
    ends = [axis.step.values for axis in axes]
    first = max(int(axis.unmasked.values[0]) if axis.judged else 0 for axis in axes)
    last = min(int(steps[-1]) for steps in ends)
    grid = grid[(grid >= first) & (grid <= last)]
    for axis in axes:
        if axis is not coarsest:
            grid = grid[~mask.masked(axis.name, grid, coarsest.gap)]
    return grid


def _moment(joint: Joint, members: Sequence[_Onsets], inside: Sequence[Ints]) -> Moment:
    spikes = tuple(
        member.spikes[int(kept[pick])]
        for member, kept, pick in zip(members, inside, joint.picks, strict=True)
    )
    return Moment(
        first=sorted(spike.start for spike in spikes)[(len(spikes) - 1) // 2],
        last=sorted(spike.end for spike in spikes)[len(spikes) // 2],
        starts=tuple(spike.start for spike in spikes),
        spikes=spikes,
        spread=joint.spread,
    )


def _with_rates(one: AxisSet, rates: tuple[Ints, Floats] | None) -> AxisSet:
    """The set, its moments with the learning rate there."""
    if rates is None:
        return one
    steps, values = rates
    finite = np.isfinite(values)
    steps, values = steps[finite], values[finite]
    highest = float(values.max(initial=0.0))

    def rated(moment: Moment) -> Moment:
        place = int(np.searchsorted(steps, moment.first, side="right")) - 1
        if place < 0 or highest <= 0:
            return moment
        lr = float(values[place])
        return attrs.evolve(moment, lr=lr, lr_share=lr / highest)

    return attrs.evolve(one, moments=tuple(map(rated, one.moments)))


def _claim(onsets: dict[str, _Onsets], found: AxisSet) -> None:
    """Take a set's joint onsets from the axes: smaller sets are judged by what is left."""
    for i, name in enumerate(found.axes):
        claimed = {moment.spikes[i].start for moment in found.moments}
        kept = tuple(spike for spike in onsets[name].spikes if spike.start not in claimed)
        onsets[name] = attrs.evolve(onsets[name], spikes=kept)


def _known(spikes: Spikes) -> Iterator[KnownMoment]:
    """Moments at which two axes or more stand out and at least one is accounted for."""
    every = sorted(
        (known.spike.start, axis.name, known.explained, axis.gap)
        for axis in spikes.axes
        for known in axis.spikes
    )
    for near in _together(every):
        kinds = [kind for _, _, kind, _ in near if kind]
        axes: Mapping[str, None] = dict.fromkeys(name for _, name, _, _ in near)
        if kinds and len(axes) > 1:
            yield KnownMoment(near[0][0], tuple(axes), kinds[0])


def _together(
    every: Sequence[tuple[int, str, str, int]],
) -> Iterator[list[tuple[int, str, str, int]]]:
    """Spikes in groups that begin within a logged point of each other."""
    group: list[tuple[int, str, str, int]] = []
    for one in every:
        if group and one[0] - group[-1][0] > max(one[3], group[-1][3]):
            yield group
            group = []
        group.append(one)
    if group:
        yield group
