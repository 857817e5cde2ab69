"""Variants that take turns: a slow moment of the machine hits all of them."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

Timed = Callable[[], tuple[float, ...]]
"""Runs a slice; returns nanoseconds a step: of this thread, and of the process."""


class Middle(NamedTuple):
    """A median with the interval that holds the true one in 95 of 100 repetitions."""

    value: float
    low: float
    high: float


def interleaved(variants: dict[str, Timed], rounds: int) -> dict[str, list[tuple[float, ...]]]:
    """What each variant took in each round; the order is drawn anew every round."""
    names, rng = list(variants), random.Random(0)
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in names}
    for warm_up in (*variants.values(), *variants.values()):
        warm_up()
    for _ in range(rounds):
        rng.shuffle(names)
        for name in names:
            found[name].append(variants[name]())
    return found


def middle(values: Sequence[float]) -> Middle:
    """The median, with the binomial interval of order statistics."""
    ordered, n = sorted(values), len(values)
    low = max(0, math.floor(n / 2 - 0.98 * math.sqrt(n)))
    high = min(n - 1, math.ceil(n / 2 + 0.98 * math.sqrt(n)))
    return Middle(statistics.median(ordered), ordered[low], ordered[high])


def ratio(above: Sequence[float], below: Sequence[float]) -> Middle:
    """Median over the rounds of the ratios of two variants in one round."""
    return middle([a / b for a, b in zip(above, below, strict=True)])


def difference(more: Sequence[float], less: Sequence[float]) -> Middle:
    """Median over the rounds of the differences of two variants in one round."""
    return middle([a - b for a, b in zip(more, less, strict=True)])
