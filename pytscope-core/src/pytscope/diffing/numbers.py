"""Recorded values and measured differences as text."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from pytscope.analyses.units import duration
from pytscope.model.comparison import Difference, Measured
from pytscope.model.jsonable import jsonable
from pytscope.model.wording import listed

_FEWEST_DIGITS, _MOST_DIGITS = 6, 17
_SHOWN_DIGITS = 4
_LONGEST = 44
_ROW = 3
ROUNDING = 1e-9
"""A change smaller than this share of the values is that of the arithmetic, not of the runs."""
_PER_UNIT_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}


def recorded(value: Any, longest: int = _LONGEST) -> str:
    """A recorded value on one line, cut where it is long.

    Args:
        value: Any plain value.
        longest: Characters it may take.
    """
    plain = jsonable(value)
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    text = " ".join(text.split())
    if not text:
        return '""'
    return _cut(text, longest)


def recorded_apart(values: Sequence[Any], longest: int = _LONGEST) -> tuple[str, ...]:
    """Recorded values such that those that differ look it: `4` and `"4"`, or two long texts.

    Args:
        values: Plain values.
        longest: Characters that each may take, about.
    """
    texts = tuple(recorded(value, longest) for value in values)
    whole = [json.dumps(jsonable(value), ensure_ascii=False) for value in values]
    if len(set(texts)) == len(set(whole)):
        return texts
    columns = enumerate(zip(*whole, strict=False))
    alike = next((place for place, column in columns if len(set(column)) > 1), 0)
    start = max(0, alike - longest // 2) if max(map(len, whole)) > longest else 0
    return tuple("…" * bool(start) + _cut(text[start:], longest) for text in whole)


def are(differences: Sequence[Difference], most: int = 4) -> str:
    """What two runs recorded where they differ: `config.lr is 0.1 and 0.2`.

    Args:
        differences: Of two runs.
        most: Differences to tell of; the others are counted.
    """
    told = ((one.key, *recorded_apart(one.values)) for one in differences)
    return listed((f"{key} is {first} and {second}" for key, first, second in told), most)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def told_apart(first: float, second: float) -> tuple[str, str]:
    """Two values with as many digits as it takes to see that they differ, at least six."""
    if isinstance(first, int) and isinstance(second, int):
        return str(first), str(second)
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        texts = f"{first:.{digits}g}", f"{second:.{digits}g}"
        if texts[0] != texts[1]:
            return texts
    return repr(first), repr(second)


def small(value: float) -> str:
    """A number to a few digits."""
    return f"{value:.2g}" if math.isfinite(value) else str(value)


def quantity(value: float, unit: str, digits: int = _SHOWN_DIGITS) -> str:
    """A measured value with its unit."""
    if unit in _PER_UNIT_NS and math.isfinite(value):
        return duration(value * _PER_UNIT_NS[unit])
    return f"{value:.{digits}g} {unit}".rstrip()


def together(labels: Sequence[str]) -> str:
    """Labels of runs; three or more single letters in a row as `A-F`."""
    said: list[str] = []
    rows: list[list[str]] = []
    for label in labels:
        follows = rows and len(label) == 1 and ord(label) == ord(rows[-1][-1][0]) + 1
        if follows and len(rows[-1][-1]) == 1:
            rows[-1].append(label)
        else:
            rows.append([label])
    for row in rows:
        said += [f"{row[0]}-{row[-1]}"] if len(row) >= _ROW else row
    return ", ".join(said)


def centre(values: Sequence[float], unit: str) -> str:
    """The mean of an arm's values, with their spread where there are several."""
    if not values:
        return ""
    mean = math.fsum(values) / len(values)
    shown = quantity(mean, unit, _SHOWN_DIGITS if unit else _FEWEST_DIGITS)
    if len(values) == 1:
        return shown
    spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
    if not spread > ROUNDING * abs(mean):
        return shown
    number, _, of = shown.partition(" ")
    own, _, same = quantity(spread, unit, 2).partition(" ")
    return f"{number} ±{own} {of}".rstrip() if of == same else f"{shown} ±{own} {same}"


def named(measured: Measured) -> str:
    """The metric, with the runs that it is of where they are not the arms."""
    return f"{measured.metric} ({measured.between})" if measured.between else measured.metric


def sized(measured: Measured) -> str:
    """The same with its relative change, where there is one."""
    name = named(measured)
    return name if measured.relative is None else f"{name} {relative(measured.relative)}"


def change(measured: Measured) -> str:
    """A difference; what arithmetic alone makes of equal values is none."""
    largest = max(map(abs, (*measured.first, *measured.second)), default=0.0)
    if abs(measured.difference) <= ROUNDING * largest:
        return "none"
    shown = _signed(measured.difference, measured.unit)
    return shown if measured.relative is None else f"{shown} ({relative(measured.relative)})"


def interval(measured: Measured) -> str:
    """The interval of a difference, or an empty string where there is none."""
    if measured.low is None or measured.high is None:
        return ""
    if measured.low == measured.high == 0:
        return "0"
    low, high = (_signed(v, measured.unit) for v in (measured.low, measured.high))
    unit = high.partition(" ")[2]
    return f"{low.removesuffix(f' {unit}') if unit else low} to {high}"


def relative(share: float) -> str:
    """A relative change, with a sign and two digits."""
    value = share * 100.0
    if not math.isfinite(value):
        return f"{value}%"
    digits = 1 if abs(value) >= 1 else 2
    text = f"{value:+.{digits}f}%"
    return text if float(text[:-1]) or not value else f"{value:+.1e}%"


def _signed(value: float, unit: str) -> str:
    """A change; only of durations has the unit a say in how the number is written."""
    text = quantity(abs(value), unit if unit in _PER_UNIT_NS else "", 3)
    return ("+" if value > 0 else "-" if value < 0 else "") + text
