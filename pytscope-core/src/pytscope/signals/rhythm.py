"""Onsets that keep a period of their own, which needs no other reason."""

from __future__ import annotations

import numpy as np

from pytscope.stats import Bools, Ints, period

_MOST = 64
_FEWEST = 3
_NEAR = 3
_SHORTEST = 5
_FILLED = 0.75


def in_rhythm(starts: Ints, every: int) -> Bools:
    """Which onsets have another one, two or three periods away, to within a tenth of one.

    Args:
        starts: Ascending steps of the onsets.
        every: The period in steps.
    """
    slack = every // 10
    kept = np.zeros(len(starts), np.bool_)
    for distance in (-3, -2, -1, 1, 2, 3):
        there = starts + distance * every
        first = np.searchsorted(starts, there - slack)
        kept |= np.searchsorted(starts, there + slack, side="right") > first
    return kept


def on_grid(starts: Ints) -> Bools:
    """Which onsets lie on a grid of which hardly a point is missing, whatever is beside it.

    Three do when they are the first three multiples of their distance. Of more than 64
    onsets all or none do.

    Args:
        starts: Ascending steps of the onsets.
    """
    found = np.zeros(len(starts), np.bool_)
    if len(starts) > _MOST:
        return found | (period(starts) is not None)
    if len(starts) < _FEWEST:
        return found
    for every in np.unique(np.abs(np.subtract.outer(starts, starts))):
        if every < _SHORTEST:
            continue
        for start in starts:
            ahead = starts - start
            places = np.rint(ahead / every).astype(np.int64)
            on = (ahead >= 0) & (np.abs(ahead - places * every) <= 1)
            hits = np.unique(places[on])
            full = len(hits) >= _FILLED * (hits[-1] + 1)
            whole = len(hits) > _FEWEST or abs(start - every) <= _NEAR
            if len(hits) >= _FEWEST and full and whole:
                found |= on
    return found
