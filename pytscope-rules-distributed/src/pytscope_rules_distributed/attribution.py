"""Who the waiting is owed to, and what it would save to have the slow ones like the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytscope.runs.run import Ints, exact_sum
from pytscope.stats import Bools, Floats


def held_up_ns(own: Ints) -> Ints:
    """Of every step, the longest own time less the median of all; of two ranks, the other.

    Args:
        own: Own times of one cohort, nanoseconds, a row a rank.
    """
    return np.asarray(own.max(axis=0) - _usual(own))


def attributed(own: Ints) -> Ints:
    """Split the time that all wait for the slowest among those it is owed to.

    Own times are taken as in the airport game: of what lies above the median, every
    stretch is shared equally by the ranks that reach it. Equals share equally, nobody
    below the median pays.

    Args:
        own: Own times of one cohort, nanoseconds, a row a rank.

    Returns:
        Nanoseconds of each rank; they sum to that of `held_up_ns`, exactly.
    """
    count = len(own)
    first = count // 2
    order = np.argsort(own, axis=0, kind="stable")[first:]
    above = np.maximum(np.take_along_axis(own, order, axis=0) - _usual(own), 0)
    steps = np.diff(above, axis=0, prepend=0)
    sharing = np.arange(count - first, 0, -1)[:, None]
    owed = np.cumsum(steps / sharing, axis=0)
    exact = np.asarray(np.bincount(order.ravel(), owed.ravel(), count), np.float64)
    return _whole(exact, exact_sum(held_up_ns(own)))


def _usual(own: Ints) -> Ints:
    """What the slowest is held against: the median, of two ranks the faster one."""
    return np.asarray(own.min(axis=0) if len(own) == 2 else _median(own))  # noqa: PLR2004  # two


def _median(own: Ints) -> Ints:
    """The median of every step as a whole number, rounded down between two."""
    low, high = (len(own) - 1) // 2, len(own) // 2
    ordered = np.partition(own, (low, high), axis=0)
    return np.asarray((ordered[low] + ordered[high]) // 2)


def _whole(shares: Floats, total: int) -> Ints:
    """Shares as whole numbers that sum to a total, by largest remainders."""
    floors: Ints = np.floor(shares).astype(np.int64)
    rest = total - exact_sum(floors)
    if 0 <= rest <= len(floors):
        floors[np.argsort(floors - shares, kind="stable")[:rest]] += 1
    else:  # beyond what a double holds exactly
        floors[int(np.argmax(floors))] += rest
    return floors


def saving_ns(
    own: Ints, members: Sequence[Ints], slow: Bools, expected: Floats | None = None
) -> Ints:
    """Nanoseconds a step that are saved when slow ranks take what their peers take.

    Args:
        own: Own times of all ranks, a row a rank.
        members: Rows of every cohort.
        slow: Which rank is slow in which step. Peers are the ranks of the cohort that
            are never slow: of two ranks the other one.
        expected: Multiple of their peers' time that ranks take for their load, or None.
    """
    instead = own.copy()
    for rows in members:
        never = rows[~slow[rows].any(axis=1)]
        if len(rows) == len(never) or not len(never):
            continue
        usual = np.broadcast_to(_median(own[never]), own[rows].shape)
        if expected is not None:
            usual = np.rint(usual * expected[rows]).astype(np.int64)
        instead[rows] = np.where(slow[rows], np.minimum(own[rows], usual), own[rows])
    return np.asarray(own.max(axis=0) - instead.max(axis=0))


def saved_at_once_ns(own: Ints, members: Sequence[Ints], cells: Bools) -> Ints:
    """Nanoseconds a step that are saved when single values are what the others are then.

    Args:
        own: Own times of all ranks, a row a rank.
        members: Rows of every cohort.
        cells: Which values; where all of a cohort are such, none of them changes.
    """
    touched = np.flatnonzero(cells.any(axis=0))
    some, instead = own[:, touched], own[:, touched].astype(np.float64)
    for rows in members:
        its = cells[np.ix_(rows, touched)]
        partly = its.any(axis=0) & ~its.all(axis=0)
        others = np.where(its, np.nan, some[rows])[:, partly]
        usual = np.nanmedian(others, axis=0) if others.size else np.zeros(0)
        values = instead[np.ix_(rows, partly)]
        instead[np.ix_(rows, partly)] = np.where(its[:, partly], np.minimum(values, usual), values)
    saved = np.zeros(own.shape[1], np.int64)
    saved[touched] = some.max(axis=0) - np.rint(instead.max(axis=0)).astype(np.int64)
    return saved
