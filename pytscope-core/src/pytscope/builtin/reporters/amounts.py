"""Values and steps of findings as text; durations and shares are `analyses.units`'."""

from __future__ import annotations

from pytscope.analyses.units import duration
from pytscope.model.findings import StepRange

_SHOWN_RANGES = 6


def seconds(value: float) -> str:
    """Seconds in the unit that suits them."""
    return duration(value * 1e9)


def number(value: float | str) -> str:
    """A value of evidence: whole numbers as they are, others to four digits."""
    return str(value) if isinstance(value, int | str) else f"{value:.4g}"


def ranges(values: tuple[StepRange, ...]) -> str:
    """Step ranges, the first few of them."""
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in values[:_SHOWN_RANGES]]
    more = len(values) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
