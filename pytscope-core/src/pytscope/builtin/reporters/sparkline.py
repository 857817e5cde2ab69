"""Sparklines of any series in at most 60 cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

MOST_CELLS = 60
ODD = "!"
"""Stands for a cell with a value that is not finite."""

_GLYPHS = "▁▂▃▄▅▆▇█"
_ASCII = "_.:-=+*#"


def buckets(values: Sequence[float], most: int) -> list[float]:
    """The largest value of each of at most `most` equal stretches; NaN if one is not finite."""
    count = min(most, len(values))
    edges = [i * len(values) // count for i in range(count + 1)] if count else []
    return [_peak(values[a:b]) for a, b in pairwise(edges)]


def _peak(values: Sequence[float]) -> float:
    return max(values) if all(map(math.isfinite, values)) else math.nan


def sparkline(values: Sequence[float], most: int = MOST_CELLS, *, ascii_only: bool = False) -> str:
    """A series as one row of glyphs, lowest to highest value.

    Args:
        values: The series.
        most: Cells at most; a longer series shows the maximum of each stretch.
        ascii_only: Draw with ASCII signs.
    """
    glyphs = _ASCII if ascii_only else _GLYPHS
    peaks = buckets(values, min(most, MOST_CELLS))
    finite = [p for p in peaks if not math.isnan(p)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    return "".join(ODD if math.isnan(p) else glyphs[_level(p, low, high)] for p in peaks)


def _level(value: float, low: float, high: float) -> int:
    """0 to 7; halves keep the span finite for the widest range of floats."""
    span = high / 2 - low / 2
    if not span > 0:
        return 0
    return min(7, math.floor((value / 2 - low / 2) / span * 7 + 0.5))
