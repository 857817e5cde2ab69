"""One record of a 0.2.x step file: what can be used of it, and why the rest cannot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

MOST_STEP = 1 << 53
LONGEST_S = 366 * 86_400.0
"""Seconds from which a duration is taken for nonsense: a year."""
_NUMBER = frozenset((int, float))
_FLOAT = frozenset((float,))
_decode = json.JSONDecoder().raw_decode
_NONE: Mapping[str, Any] = {}

Numbers = tuple[float, ...]


class Unusable(Exception):
    """A record that is no step.

    Args:
        reason: Why, as a clause.
        step: The step it says it is, or None.
    """

    def __init__(self, reason: str, step: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.step = step


class Record(NamedTuple):
    """What a line says of one step; a tuple, because a run may have millions of them.

    Attributes:
        step: Number of the step.
        phases: Names of its phases.
        seconds: Their durations.
        recorded_s: Sum of the durations.
        scalars: Names of its values.
        values: The values.
        memory: Names of its memory samples.
        sizes: The samples, in bytes.
        stamp: Time of day it says, or None; good for nothing but order.
        left_out: Values that are none, each as a clause.
    """

    step: int
    phases: tuple[str, ...]
    seconds: Numbers
    recorded_s: float
    scalars: tuple[str, ...]
    values: Numbers
    memory: tuple[str, ...]
    sizes: Numbers
    stamp: float | None
    left_out: tuple[str, ...]


def parse(line: bytes) -> Record:
    """Read one line.

    Args:
        line: The line, without spaces around it.

    Raises:
        Unusable: It is no record of a step.
    """
    record = _object(line)
    step = _step(record)
    phases = record.get("phases", _NONE)
    if type(phases) is not dict and phases is not _NONE:
        reason = "phases that are no object"
        raise Unusable(reason, step)
    seconds = tuple(phases.values())
    if fault := _fault(seconds):
        raise Unusable(fault, step)
    left_out: list[str] = []
    scalars, values = _named(record, "scalars", left_out)
    memory, sizes = _named(record, "memory", left_out)
    if sizes and not (min(sizes) >= 0 and sum(sizes) < MOST_STEP):
        memory, sizes = _sizes(memory, sizes, left_out)
    return Record(
        step,
        tuple(phases),
        seconds,
        sum(seconds),
        scalars,
        values,
        memory,
        sizes,
        _stamp(record.get("timestamp")),
        tuple(left_out),
    )


def _object(line: bytes) -> dict[str, Any]:
    try:
        text = line.decode()
        record, end = _decode(text)
    except UnicodeDecodeError:
        reason = "not UTF-8"
    except RecursionError:
        reason = "JSON nested too deeply"
    except ValueError:  # an integer of too many digits as well
        reason = "not JSON"
    else:
        if type(record) is dict and end == len(text):
            return record
        reason = "no JSON object" if end == len(text) else "not JSON"
    raise Unusable(reason)


def _step(record: Mapping[str, Any]) -> int:
    step = record.get("step")
    if type(step) is int and 0 <= step < MOST_STEP:
        return step
    reason = "no step number" if "step" not in record else "a step that is no whole number from 0"
    raise Unusable(reason)


def _stamp(given: object) -> float | None:
    if type(given) is float or (type(given) is int and abs(given) < MOST_STEP):
        return float(given)
    return None


def _fault(seconds: tuple[Any, ...]) -> str:
    """Why these are no durations; empty when they are."""
    if not seconds:
        return ""
    if not _NUMBER.issuperset(map(type, seconds)):
        return "a phase that is no number"
    low, high = min(seconds), max(seconds)
    if low >= 0 and high <= LONGEST_S and sum(seconds) >= 0:
        return ""
    if any(value != value for value in seconds):  # noqa: PLR0124 - NaN, which an int cannot be asked for when it is huge
        return "a phase that is NaN"
    return "a phase below zero" if low < 0 else "a phase longer than a year"


def _named(
    record: Mapping[str, Any], kind: str, left_out: list[str]
) -> tuple[tuple[str, ...], Numbers]:
    """Names and numbers of one kind; what is no number is left out."""
    given = record.get(kind, _NONE)
    if given is _NONE:
        return (), ()
    if type(given) is not dict:
        left_out.append(f"{kind} that are no object")
        return (), ()
    values = tuple(given.values())
    if _FLOAT.issuperset(map(type, values)):
        return tuple(given), values
    kept: dict[str, float] = {}
    for name, value in given.items():
        if type(value) not in _NUMBER:
            left_out.append(f"{name} that is no number")
        elif type(value) is int and abs(value) >= MOST_STEP:
            left_out.append(f"{name} that is too large")
        else:
            kept[name] = float(value)
    return tuple(kept), tuple(kept.values())


def _sizes(
    names: tuple[str, ...], sizes: Numbers, left_out: list[str]
) -> tuple[tuple[str, ...], Numbers]:
    kept = {}
    for name, size in zip(names, sizes, strict=True):
        if 0 <= size < MOST_STEP:
            kept[name] = size
        else:
            left_out.append(f"memory {name} that is no size")
    return tuple(kept), tuple(kept.values())
