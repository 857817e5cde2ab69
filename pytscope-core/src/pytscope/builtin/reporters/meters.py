"""Bars, and percentages that add up."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytscope.builtin.reporters.lines import Span, Tone
from pytscope.model.panels import Meter

FULL = 1000
"""Tenths of a percent in a whole."""

_WHOLE_WITHIN = 1e-6
_LONG = 1e6


def percentages(meters: Sequence[Meter]) -> list[str]:
    """The share of every meter in percent, to one decimal.

    Those of a group whose shares sum to 1 sum to exactly 100.0: each is
    rounded down, and what is missing goes to the largest remainders.
    """
    shown = [_percent(meter.share * 100) for meter in meters]
    for group in {meter.group for meter in meters if meter.group is not None}:
        members = [i for i, meter in enumerate(meters) if meter.group == group]
        shares = [meters[i].share for i in members]
        if abs(math.fsum(shares) - 1) <= _WHOLE_WITHIN:
            for i, tenths in zip(members, largest_remainder(shares, FULL), strict=True):
                shown[i] = _percent(tenths / 10)
    return shown


def largest_remainder(shares: Sequence[float], total: int) -> list[int]:
    """Whole numbers in the proportion of shares that sum to 1; they sum to `total`."""
    exact = [share * total for share in shares]
    floors = [math.floor(value) for value in exact]
    each, extra = divmod(total - sum(floors), len(floors))
    by_remainder = sorted(range(len(exact)), key=lambda i: (floors[i] - exact[i], i))
    lucky = set(by_remainder[:extra])
    return [floor + each + (i in lucky) for i, floor in enumerate(floors)]


def _percent(value: float) -> str:
    if not math.isfinite(value):
        return "NaN%" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity%"
    if abs(value) >= _LONG:
        return f"{value:.1e}%"
    return f"{round(value, 1) + 0.0:.1f}%"


def bar(share: float, length: int, *, ascii_only: bool = False) -> list[Span]:
    """A bar of a length in cells; brighter to the right."""
    full, empty = ("#", "-") if ascii_only else ("█", "░")
    within = min(1.0, max(0.0, share)) if math.isfinite(share) else 0.0
    lit = math.floor(within * length + 0.5)
    third = -(-length // 3)
    tones = (Tone.BAR_LOW, Tone.BAR_MIDDLE, Tone.BAR_HIGH)
    spans = [Span(full * max(0, min(lit - i * third, third)), tone) for i, tone in enumerate(tones)]
    return [*(s for s in spans if s.text), Span(empty * (length - lit), Tone.FAINT)]
