"""Of thousands of ranks three: what a report keeps of each rank's own figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

MOST_RANKS = 64
"""Ranks that are listed one by one."""

T = TypeVar("T")


def few(ranks: Iterable[T], by: Callable[[T], tuple[float, ...]]) -> tuple[T, ...]:
    """All, or of more than 64 the least, the median and the greatest.

    Args:
        ranks: One value a rank.
        by: What they are ordered by; the rank last, so that there are no ties.
    """
    kept = tuple(ranks)
    if len(kept) <= MOST_RANKS:
        return kept
    ordered = sorted(kept, key=by)
    return (ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1])
