"""Do the onsets of several series come together by chance?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from pytscope.stats import Floats, Ints

SHIFTS = 4_000
"""Circular shifts that make the distribution under chance."""
_SEED = 70_72
_MOST_ANCHORS = 2_000


@attrs.frozen
class Joint:
    """Onsets of all series of a set within a few points.

    Attributes:
        picks: Which onset of each series takes part.
        spread: Points from the first of them to the last.
    """

    picks: tuple[int, ...]
    spread: int


def joint_onsets(places: Sequence[Ints], reach: int) -> tuple[Joint, ...]:
    """Find joint onsets; each onset takes part in one at most, the closest first.

    Args:
        places: Ascending places of the onsets, one array a series.
        reach: Most points from the first onset to the last.
    """
    candidates = sorted(_candidates(places, reach), key=lambda joint: (joint.spread, joint.picks))
    taken: list[set[int]] = [set() for _ in places]
    kept = []
    for joint in candidates:
        if not any(pick in mine for pick, mine in zip(joint.picks, taken, strict=True)):
            kept.append(joint)
            for pick, mine in zip(joint.picks, taken, strict=True):
                mine.add(pick)
    return tuple(sorted(kept, key=lambda joint: joint.picks))


def _candidates(places: Sequence[Ints], reach: int) -> Iterator[Joint]:
    """All onsets of the others that are near enough, about each onset of the rarest series."""
    rarest = min(range(len(places)), key=lambda i: len(places[i]))
    for pick, place in enumerate(places[rarest].tolist()):
        near = [
            np.flatnonzero(np.abs(others - place) <= reach) if i != rarest else np.array([pick])
            for i, others in enumerate(places)
        ]
        for picks in itertools.product(*(each.tolist() for each in near)):
            chosen = [int(others[p]) for others, p in zip(places, picks, strict=True)]
            spread = max(chosen) - min(chosen)
            if spread <= reach:
                yield Joint(picks, spread)


def chance_of_one(counts: Sequence[int], size: int, spread: int) -> float:
    """Bound on the chance that onsets come together as closely, at least once.

    It is the number of such joint onsets to be expected when series are shifted against
    each other at random, which bounds the chance of one however the onsets of a series
    cluster (Markov).

    Args:
        counts: Onsets of each series.
        size: Points at which an onset could have been.
        spread: Points from the first onset of the closest joint onset to its last.
    """
    if size <= 0:
        return 1.0
    k = len(counts)
    ways = (spread + 1) ** k - spread**k
    expected: float = size * ways * math.prod(count / size for count in counts)
    return min(1.0, expected)


def chance_of_many(places: Sequence[Ints], size: int, reach: int) -> float:
    """Share of circular shifts under which onsets come together at least as much.

    Each series is shifted as a whole, so that its own rhythm stays. What is compared is
    the sum, over the onsets of the rarest series, of the product of the nearness of the
    others: 1 at the same point, 1/2 one point apart, and so on up to `reach`.

    Args:
        places: Places of the onsets, one array a series, from 0 to below `size`.
        size: Points at which an onset could have been.
        reach: Most points apart.
    """
    order = sorted(places, key=len)
    anchors = order[0][:_MOST_ANCHORS]
    near = [_nearness(others, size, reach) for others in order[1:]]
    shifts = _shifts(len(near), size)
    scores = np.zeros(shifts.shape[1])
    for anchor in anchors.tolist():
        product = np.ones(shifts.shape[1])
        for nearness, shift in zip(near, shifts, strict=True):
            product *= nearness[(anchor + shift) % size]
        scores += product
    return float(np.mean(scores >= scores[0] - 1e-9))


def _shifts(others: int, size: int) -> Ints:
    """Shifts to try, the first of them none at all: of two series all of them if few."""
    if others == 1 and size <= SHIFTS:
        return np.arange(size)[np.newaxis]
    drawn = np.random.default_rng(_SEED).integers(0, size, (others, SHIFTS))
    drawn[:, 0] = 0
    return drawn


def _nearness(places: Ints, size: int, reach: int) -> Floats:
    nearness = np.zeros(size)
    for distance in range(min(reach, size - 1), -1, -1):
        for side in (-distance, distance):
            nearness[(places + side) % size] = 1.0 / (1.0 + distance)
    return nearness
