"""Units of budgets: reading `120 ms`, `20%`, `1.5 GiB`, and writing values beside limits."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from pytscope.analyses.units import size
from pytscope.model.wording import listed

NUMBER = r"[+-]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?"
_QUANTITY = re.compile(rf"({NUMBER})\s*([A-Za-z\u00b5\u03bc%/]*)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6, "ms": 1e-3, "s": 1.0}
"""Seconds in a unit of time; both signs for micro are typed."""
_LONGER = {"min": 60.0, "h": 3600.0}
_BYTES = {"B": 1.0} | {
    f"{letter}{suffix}": float(base**power)
    for power, letters in enumerate(("kK", "M", "G", "T"), 1)
    for letter in letters
    for suffix, base in (("B", 1000), ("iB", 1024))
}
_SCALES: Mapping[str, Mapping[str, float]] = {
    "ms": {name: seconds * 1e3 for name, seconds in (_SECONDS | _LONGER).items()},
    "s": _SECONDS | _LONGER,
    "bytes": _BYTES,
    "share": {"%": 0.01},
    "1/s": {"/s": 1.0, "/min": 1 / 60, "/h": 1 / 3600},
}
"""By unit of a metric, what a number with another unit is worth in it."""

_MOST_DIGITS = 17
_FEWEST_DIGITS = 4


def quantity(text: str) -> tuple[float, str]:
    """A number and the unit after it, which may be empty.

    Raises:
        ValueError: It is no finite number.
    """
    found = _QUANTITY.fullmatch(text.strip())
    value = float(found[1].replace("_", "")) if found else math.nan
    if found is None or not math.isfinite(value):
        msg = f"{text.strip()!r} is not a number, such as 120, 120 ms or 20%"
        raise ValueError(msg)
    return value, found[2]


def converted(value: float, unit: str, into: str) -> float:
    """A number in a metric's own unit.

    Args:
        value: The number.
        unit: The unit it was written with; empty for the metric's own.
        into: The metric's unit.

    Raises:
        ValueError: The unit does not fit the metric, or a share has none and is
            more than a whole, which is a forgotten percent sign.
    """
    if not unit:
        if into == "share" and abs(value) > 1:
            msg = f"a share is a fraction: {value:g} is {value:,.0%}; {value:g}% is {value / 100:g}"
            raise ValueError(msg)
        return value
    scales = _SCALES.get(into, {})
    if unit not in scales:
        fits = (
            f"units that fit: {listed(_typed(scales))}"
            if scales
            else "it is a number without a unit"
        )
        msg = f"a limit in {unit!r} does not fit it; {fits}"
        raise ValueError(msg)
    scaled = value * scales[unit]
    if not math.isfinite(scaled):
        msg = f"{value:g} {unit} is too large for a number"
        raise ValueError(msg)
    # 20 % is 0.2, and not what binary fractions make of the product.
    return float(f"{scaled:.15g}")


def _typed(scales: Mapping[str, float]) -> list[str]:
    """Units as they are offered: one of those that look the same, and what people type."""
    return [name for name in scales if name.isascii() and not name.startswith("ki")]


def told(value: float, unit: str, beside: float | None = None) -> str:
    """A value as text, with as many digits as it takes to tell it from another.

    Args:
        value: The value; it need not be finite.
        unit: Unit of the metric.
        beside: The other value, such as the limit.
    """
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS):
        text = _told(value, unit, digits)
        if beside is None or beside == value or text != _told(beside, unit, digits):
            return text
    return _told(value, unit, _MOST_DIGITS)


def _told(value: float, unit: str, digits: int) -> str:
    if not math.isfinite(value):
        return str(value)
    if unit == "share":
        return f"{_plain(value * 100, digits - 1)}%"
    if unit == "bytes":
        return size(value) if digits == _FEWEST_DIGITS else f"{_plain(value, digits)} B"
    number = _plain(value, digits)
    if unit in ("", "count"):
        return number
    return f"{number}{unit[1:]}" if unit.startswith("1/") else f"{number} {unit}"


def _plain(value: float, digits: int) -> str:
    """Significant digits, and whole numbers of up to nine digits in full."""
    if abs(value) < 1e9 and value == int(value):  # noqa: PLR2004  # nine digits
        return f"{int(value):,}"
    if 1e4 <= abs(value) < 1e9:  # noqa: PLR2004  # where %g would write a power of ten
        return f"{value:,.{max(0, digits - 4)}f}"
    return f"{value:.{digits}g}"
