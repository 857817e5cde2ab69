"""A metric, and what a run gives for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import attrs

from pytscope.model.report import Report
from pytscope.runs.run import Run

_T = TypeVar("_T")


@attrs.frozen(eq=False)
class Facts:
    """What metrics are read from.

    Attributes:
        report: The analysis.
        run: The run as it was analysed.
    """

    report: Report
    run: Run

    def analysis(self, kind: type[_T]) -> _T | None:
        """The report's analysis of a type, or None without one."""
        every = self.report.analyses.values()
        return next((one for one in every if isinstance(one, kind)), None)


@attrs.frozen
class Reading:
    """The value of a metric, or why there is none.

    Attributes:
        value: The value, or None when it was not measured.
        missing: What is missing then, as a clause.
        low: Lower end of its 95 % interval, or None.
        high: Upper end, or None.
        note: What has to be known of the value, as a clause, or an empty string.
    """

    value: float | None
    missing: str = ""
    low: float | None = None
    high: float | None = None
    note: str = ""


def absent(missing: str) -> Reading:
    """The reading of what was not measured."""
    return Reading(None, missing)


@attrs.frozen(eq=False)
class Metric:
    """Something that can have a budget.

    Attributes:
        name: As budgets write it.
        unit: Unit of its values: `ms`, `s`, `share`, `bytes`, `1/s`, `count` or empty.
        about: What it is, in a few words.
        read: Gives its value; called only when it is asked for.
    """

    name: str
    unit: str
    about: str
    read: Callable[[], Reading]


def given(value: float | None, missing: str) -> Reading:
    """A value that may not be there."""
    return absent(missing) if value is None else Reading(float(value))
