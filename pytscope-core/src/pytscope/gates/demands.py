"""Budgets as they are written: `step_ms.median <= 1.1 * baseline`, `mfu >= 0.35 if measured`."""

from __future__ import annotations

import math
import re

import attrs

from pytscope.gates.units import NUMBER, quantity

OPERATORS = ("<=", ">=", "==", "<", ">")
FORM = "METRIC <= LIMIT, with <=, >=, <, > or =="
_SIGNS = {"\u2264": "<=", "\u2265": ">="}
"""Operators that are a sign of their own elsewhere."""
_SHAPE = re.compile(
    rf"(?P<metric>.*)(?P<op><=|>=|==|<|>|[{''.join(_SIGNS)}])(?P<bound>.*)", re.DOTALL
)
"""The last operator is the one: names of phases may hold the others, limits hold none."""
_ODD = re.compile(r"[<>=!]+$")
_LIMIT_FIRST = re.compile(rf"{NUMBER}(?<!\.)\s*[A-Za-z%/]*")
_OPTIONAL = re.compile(r"\s+if\s+measured\s*$")
_RELATIVE = re.compile(
    rf"(?:(?P<before>{NUMBER})\s*\*\s*)?baseline(?:\s*\*\s*(?P<after>{NUMBER}))?"
    r"(?:\s*(?P<sign>[+-])\s*(?P<offset>.+))?"
)


@attrs.frozen(kw_only=True)
class Demand:
    """One budget.

    Attributes:
        text: As it is written.
        metric: Name of what is measured.
        op: One of `OPERATORS`.
        factor: Multiple of the baseline's value; None for a limit of its own.
        amount: The limit, or what is added to the multiple.
        unit: Unit the amount is written in; empty for the metric's own.
        optional: Whether it is kept by a run that lacks the measurement.
    """

    text: str
    metric: str
    op: str
    factor: float | None = None
    amount: float = 0.0
    unit: str = ""
    optional: bool = False

    @property
    def relative(self) -> bool:
        """Whether it is held against the baseline."""
        return self.factor is not None

    def holds(self, value: float, limit: float) -> bool:
        """Whether a value keeps a limit; one that is not a number never does."""
        return {
            "<=": value <= limit,
            ">=": value >= limit,
            "==": value == limit,
            "<": value < limit,
            ">": value > limit,
        }[self.op]


def demand(text: str) -> Demand:
    """Read a budget.

    Args:
        text: `METRIC OP LIMIT`. A limit is a number, with or without a unit, or
            `F * baseline`, with a number added or taken away or without.
            `if measured` at the end makes it optional.

    Raises:
        ValueError: It is none; a sentence says what is wrong.
    """
    body, optional = _OPTIONAL.subn("", str(text))
    found = _SHAPE.fullmatch(body)
    metric, bound = (found["metric"].strip(), found["bound"].strip()) if found else ("", "")
    if found is None or not metric or not bound:
        msg = f"{text!r} is not {FORM}, such as 'step_ms.median <= 120'"
        raise ValueError(msg)
    _refuse_misread(metric, found["op"], text)
    factor, amount, unit = _bound(bound, text)
    return Demand(
        text=" ".join(text.split()),
        metric=metric,
        op=_SIGNS.get(found["op"], found["op"]),
        factor=factor,
        amount=amount,
        unit=unit,
        optional=bool(optional),
    )


def _refuse_misread(metric: str, op: str, text: str) -> None:
    """Say what is wrong with an operator or with the order of a budget."""
    if odd := _ODD.search(metric):
        msg = f"{text!r} compares with {odd[0] + op!r}; it must be {FORM}"
    elif _LIMIT_FIRST.fullmatch(metric):
        msg = f"{text!r} begins with its limit; it must be {FORM}"
    else:
        return
    raise ValueError(msg)


def _bound(bound: str, text: str) -> tuple[float | None, float, str]:
    if "baseline" not in bound:
        return None, *_number(bound, text)
    found = _RELATIVE.fullmatch(bound)
    if found is None or (found["before"] and found["after"]):
        msg = f"{text!r}: the limit must be 'F * baseline', or that with + or - a number"
        raise ValueError(msg)
    factor = float((found["before"] or found["after"] or "1").replace("_", ""))
    if not math.isfinite(factor):
        msg = f"{text!r}: the factor of the baseline is too large for a number"
        raise ValueError(msg)
    if not found["offset"]:
        return factor, 0.0, ""
    amount, unit = _number(found["offset"], text)
    if unit == "%":
        multiple = 1 + amount / 100 if found["sign"] == "+" else 1 - amount / 100
        msg = (
            f"{text!r}: write '{multiple:g} * baseline' for {amount:g}% of the baseline, or "
            f"'baseline {found['sign']} {amount / 100:g}' for percentage points of a share"
        )
        raise ValueError(msg)
    return factor, amount if found["sign"] == "+" else -amount, unit


def _number(bound: str, text: str) -> tuple[float, str]:
    try:
        return quantity(bound)
    except ValueError as error:
        msg = f"{text!r}: the limit {error}"
        raise ValueError(msg) from None
