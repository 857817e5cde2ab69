"""The analyzer of axes that stand out together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

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
from pytscope.analyses.spikes import AXES, AxisSpikes, Spikes
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

CONSTANT = 0.995
"""Lowest learning rate, in highest ones, from which a run has but one."""
REACH = 5
"""Logged points from the first onset of a joint one to its last, at most."""
MANY = 2
"""Joint onsets from which shifts say what chance is."""
ADDS = 4
"""Ways to pair an axis with the others in all points up to which it always adds something."""


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
    by, chance = _chance(places, joints, len(grid))
    added = max(_added(i, members, inside, places, len(grid)) for i in range(len(members)))
    if added > max(ALPHA, 1 / len(grid)):
        chance = max(chance, added)
    k = len(members)
    ways = (REACH + 1) ** k - REACH**k
    return AxisSet(
        axes=tuple(member.axis.name for member in members),
        onsets=tuple(map(len, inside)),
        points=len(grid),
        number=len(joints),
        moments=tuple(_moment(joint, members, inside) for joint in joints),
        expected=len(grid) * ways * math.prod(len(np.unique(each)) / len(grid) for each in places),
        chance=chance,
        corrected=chance,
        by=by,
    )


def _chance(places: Sequence[Ints], joints: Sequence[Joint], size: int) -> tuple[str, float]:
    if len(joints) >= MANY:
        return "shifts", chance_of_many(places, size, REACH)
    counts = [len(np.unique(each)) for each in places]
    return "rates", chance_of_one(counts, size, min(joint.spread for joint in joints))


def _added(
    place: int,
    members: Sequence[_Onsets],
    inside: Sequence[Ints],
    places: Sequence[Ints],
    size: int,
) -> float:
    """Chance that one axis is at the joint onsets of the others, of which there are two or more.

    Axes of one cause, such as the loss and the gradient norm of a hard batch, do not make
    a third one part of it that stands out every twenty steps. Where it joins once, its
    onsets count that are as tall as the one that does.
    """
    rest = [each for i, each in enumerate(places) if i != place]
    if len(rest) < 2:  # noqa: PLR2004  # of two axes there are no others together
        return 0.0
    anchors = np.unique([int(np.median(_at(rest, joint))) for joint in joint_onsets(rest, REACH)])
    if not len(anchors):
        return 0.0
    mine = places[place]
    joints = joint_onsets([anchors, mine], REACH)
    if not joints:
        return 1.0
    if len(joints) < MANY:
        heights = np.array([members[place].spikes[int(i)].z for i in inside[place]])
        mine = mine[heights >= max(heights[joint.picks[1]] for joint in joints)]
        if len(anchors) * len(mine) <= ADDS:
            return 0.0
    return _chance([anchors, mine], joints, size)[1]


def _at(places: Sequence[Ints], joint: Joint) -> list[int]:
    return [int(each[pick]) for each, pick in zip(places, joint.picks, strict=True)]


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
    constant = not len(values) or float(values.min()) >= CONSTANT * highest

    def rated(moment: Moment) -> Moment:
        place = int(np.searchsorted(steps, moment.first, side="right")) - 1
        if place < 0 or constant:
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


_Begun = tuple[int, str, str, int]
"""Where a spike begins, its axis, what accounts for it, and the steps between two values."""


def _known(spikes: Spikes) -> Iterator[KnownMoment]:
    """Moments at which two axes or more stand out and at least one is accounted for."""
    every = sorted(
        (known.spike.start, axis.name, known.explained, axis.gap)
        for axis in spikes.axes
        for known in axis.spikes
    )
    for group in _together(every):
        known = [one for one in group if one[2]]
        near = [one for one in group if one[2] or any(_next_to(one, other) for other in known)]
        axes, accounted = _names(near), _names(known)
        if known and len(axes) > 1:
            yield KnownMoment(near[0][0], axes, known[0][2], accounted)


def _names(group: list[_Begun]) -> tuple[str, ...]:
    there = {one[1] for one in group}
    return tuple(name for name in AXES if name in there)


def _next_to(one: _Begun, other: _Begun) -> bool:
    return abs(one[0] - other[0]) <= max(one[3], other[3])


def _together(every: Sequence[_Begun]) -> Iterator[list[_Begun]]:
    """Spikes in groups that begin within a few logged points of the first."""
    group: list[_Begun] = []
    for one in every:
        if group and one[0] - group[0][0] > REACH * max(one[3], group[0][3]):
            yield group
            group = []
        group.append(one)
    if group:
        yield group
