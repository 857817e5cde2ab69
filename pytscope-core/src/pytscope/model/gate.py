"""What a gate says of a run: its budgets, each judged, as values that reporters can draw."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs

from pytscope.model.panels import Panel
from pytscope.model.report import Problem, Report


class Standing(enum.Enum):
    """What became of a budget."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_MEASURED = "not measured"
    SKIPPED = "skipped"
    NOT_JUDGED = "not judged"


FAILING = frozenset({Standing.FAILED, Standing.NOT_MEASURED})
"""Standings that fail the gate: what nobody measured has kept no budget."""


@attrs.frozen
class Place:
    """Where a budget is written.

    Attributes:
        file: The settings file, relative to the root of the sources where it lies below it.
        line: Its line, from 1, or None when it was not found there.
    """

    file: str
    line: int | None = None


@attrs.frozen(kw_only=True)
class Judged:
    """One budget, and what the run makes of it.

    Attributes:
        budget: The budget as it is written.
        metric: What it is about.
        unit: Unit of the numbers: `ms`, `s`, `share`, `bytes`, `1/s`, `count` or empty.
        op: `<=`, `>=`, `<`, `>` or `==`.
        limit: What the value is held against, or None where the baseline has no such value.
        value: What was measured, or None.
        low: Lower end of its 95 % interval, or None.
        high: Upper end, or None.
        baseline: The baseline's value, for budgets that are relative to it, or None.
        standing: What became of it.
        reason: A sentence on it, or an empty string.
        place: Where it is written, or None for the command line.
    """

    budget: str
    metric: str
    unit: str = ""
    op: str
    limit: float | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    standing: Standing
    reason: str = ""
    place: Place | None = None

    @property
    def fails(self) -> bool:
        """Whether it fails the gate."""
        return self.standing in FAILING


@attrs.frozen(kw_only=True)
class BaselineFacts:
    """The run that others are held against.

    Attributes:
        path: File it was read from.
        run: Name of the run.
        tool_version: Version of pytscope-core that wrote it.
        made_with: Versions, device and number of ranks, as far as known.
    """

    path: str
    run: str = ""
    tool_version: str = ""
    made_with: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(eq=False, kw_only=True)
class Gate:
    """The result of checking a run against its budgets.

    Attributes:
        report: The analysis of the run.
        judged: The budgets, in the order in which they are written.
        panel: The same as a section.
        fail_on: Severity from which a finding fails the gate, or None.
        baseline: What relative budgets are held against, or None.
        written: Baseline file that this run was written to, or an empty string.
        notes: What else has to be said, as sentences.
        script: Training script, relative to the root of the sources, where it
            lies below it; else an empty string.
        run_place: The run, relative to the root of the sources where it lies below
            it; an empty string where that is not known.
    """

    report: Report
    judged: tuple[Judged, ...]
    panel: Panel
    fail_on: str | None = None
    baseline: BaselineFacts | None = None
    written: str = ""
    notes: tuple[str, ...] = ()
    script: str = ""
    run_place: str = ""

    @property
    def passed(self) -> bool:
        """Whether every budget is kept."""
        return not any(one.fails for one in self.judged)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Plugin failures."""
        return self.report.problems

    def to_json(self, *, reproducible: bool = False) -> str:
        """The `pytscope.check/1` document as text.

        Args:
            reproducible: Leave out times of day and paths.
        """
        from pytscope.model.gate_document import gate_json  # the document module imports this one

        return gate_json(self, reproducible=reproducible)
