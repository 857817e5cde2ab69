"""Amounts as text: durations and sizes in the unit that suits them, shares in percent."""

from __future__ import annotations

import math

from pytscope.model.wording import listed

_MICROSECOND = 1e3
_UNITS = ((1e6, "µs", 1e3), (1e9, "ms", 1e6))
_MINUTES_FROM_S = 600
_HOURS_FROM_S = 7200
_SIGNIFICANT = 3
_KIB = 1024


def duration(ns: float) -> str:
    """A duration as text.

    Three digits below a second, hundredths of a second below ten minutes,
    then minutes and seconds, then hours and minutes.

    Args:
        ns: Nanoseconds; below zero is printed as such.
    """
    if ns < 0:
        return "-" + duration(-ns)
    if ns < _MICROSECOND:
        return f"{ns:.0f} ns"
    for limit, unit, scale in _UNITS:
        if ns < limit * 0.9995:  # beyond, three digits round up to the next unit
            return f"{_three(ns / scale)} {unit}"
    seconds = ns / 1e9
    if not seconds < _MINUTES_FROM_S:
        return _long(seconds) if math.isfinite(seconds) else f"{seconds} s"
    return f"{seconds:.2f} s"


def _three(value: float) -> str:
    """Three digits, without decimals that say nothing."""
    if value == 0:
        return "0"
    digits = max(0, _SIGNIFICANT - 1 - math.floor(math.log10(max(value, 1e-9) * 1.0005)))
    return f"{value:.{min(digits, 2)}f}"


def _long(seconds: float) -> str:
    if seconds < _HOURS_FROM_S:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} m {rest:02d} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02d} m"


def percent(share: float) -> str:
    """A share in percent: one decimal, powers of ten where that would be endless."""
    value = share * 100.0
    return f"{value:.1f}%" if abs(value) < 1e6 else f"{value:.1e}%"  # noqa: PLR2004  # seven digits are enough


def rate(per_second: float, what: str) -> str:
    """A rate, per minute or hour where the second is too short: `43.3 steps/s`."""
    for unit, scale in (("s", 1.0), ("min", 60.0)):
        if per_second * scale >= 1:
            return f"{_grouped(per_second * scale)} {what}/{unit}"
    return f"{_grouped(per_second * 3600)} {what}/h"


def _grouped(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else _three(value)  # noqa: PLR2004  # a thousand


def size(number: float) -> str:
    """Bytes as text, in powers of 1024: `512 B`, `1.50 GiB`; a sign for what shrinks."""
    if number < 0:
        return "-" + size(-number)
    if number < _KIB * 0.9995:
        return f"{number:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        number /= _KIB
        if number < _KIB * 0.9995:  # beyond, it rounds up to the next unit
            return f"{_three(number) if number < 1000 else round(number)} {unit}"  # noqa: PLR2004  # three digits
    return f"{number / _KIB:,.2f} TiB"


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 step`, `1,200 steps`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def ranks_named(ranks: tuple[int, ...]) -> str:
    """`rank 3`, `ranks 3, 5`."""
    return ("rank " if len(ranks) == 1 else "ranks ") + listed(map(str, ranks), most=8)
