"""Shapes: steps with the same keys share a plan and are packed column by column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, sub
from typing import Any

from pytscope.recording.columns import INT64, Pattern
from pytscope.recording.keys import COUNTS, LOG, LOG_NAMES, Sample
from pytscope.recording.plans import Plan, meta_of
from pytscope.recording.tile import Tiling, sum_segments

MAX_PLANS = 4096
NUMBERS = ({float}, {int})
Column = tuple[str, str, Sequence[Any]]
"""Kind, name, values."""


class Step:
    """One step as it came.

    Attributes:
        at: The stamp it began with, the end of the step before.
        end: The stamp of its end.
        keys: Its keys.
        values: Their values.
        plan: The plan of its shape, or None for a very long step.
        tiling: The tiling of a very long step, or None.
    """

    __slots__ = ("at", "end", "keys", "plan", "tiling", "values")

    def __init__(
        self,
        at: int,
        end: int,
        keys: tuple[object, ...],
        values: list[Any],
        *,
        plan: Plan | None = None,
        tiling: Tiling | None = None,
    ) -> None:
        self.at = at
        self.end = end
        self.keys = keys
        self.values = values
        self.plan = plan
        self.tiling = tiling

    def signature(self) -> tuple[object, ...]:
        """What steps must share to be packed together: shape, presence and types of logs."""
        if self.plan is None:
            return (id(self),)
        kinds: list[object] = [id(self.plan), self.keys]
        for i in self.plan.logs:
            value = self.values[i]
            if isinstance(value, dict):
                kinds.append((tuple(value), tuple(map(type, value.values()))))
            else:
                kinds.append(tuple(map(type, value)))
        return tuple(kinds)


class Shapes:
    """Plans by shape, and the names seen so far.

    Args:
        phase: A phase's name on disk.
        scalar: A scalar's name on disk, or None when there are too many.
        warn: Takes a sentence on a value that is left out.
    """

    def __init__(
        self,
        phase: Callable[[str], str],
        scalar: Callable[[str], str | None],
        warn: Callable[[str], None],
    ) -> None:
        self._warn = warn
        self._phase = phase
        self._scalar = scalar
        self._plans: dict[tuple[tuple[str, ...], tuple[object, ...]], Plan] = {}

    def plan(self, blocks: tuple[str, ...], keys: tuple[object, ...]) -> Plan:
        """The plan of a shape, made on first sight."""
        shape = (blocks, keys)
        plan = self._plans.get(shape)
        if plan is None:
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            plan = self._plans[shape] = Plan(blocks, keys, self._phase)
        return plan

    def pattern(
        self, plan: Plan, keys: tuple[object, ...], values: Sequence[Sequence[Any]], at: list[int]
    ) -> Pattern | None:
        """Pack the steps of one shape.

        Args:
            plan: The shape's plan.
            keys: The shape.
            values: Per key, its value in each step.
            at: Per step, the stamp it began with.

        Returns:
            The pattern, or None when the logged values differ in presence or
            type, so that the steps are not of one kind.
        """
        logged = self._logged([(keys[i], values[i]) for i in plan.logs])
        if logged is None:
            return None
        stamps = [at, *(values[i] for i in plan.stamps)]
        columns: list[Column] = []
        for name, spans in plan.phases:
            (start, end), *more = spans
            lengths = list(map(sub, stamps[end], stamps[start]))
            for start, end in more:
                lengths = list(map(int.__add__, lengths, map(sub, stamps[end], stamps[start])))
            columns.append(("p", name, lengths))
        columns += logged
        for i, key in plan.samples:
            columns += _sampled(key, values[i])
        return Pattern(len(at), columns, plan.meta)

    def group(self, steps: Sequence[Step]) -> Pattern:
        """Pack steps of one signature."""
        first = steps[0]
        if first.plan is None:
            tiling = first.tiling or Tiling()
            return self._literal(tiling, list(zip(first.keys, first.values, strict=True)))
        values = list(zip(*(step.values for step in steps), strict=True))
        pattern = self.pattern(first.plan, first.keys, values, [step.at for step in steps])
        return pattern or Pattern(0, [], {})  # one signature: never None

    def _literal(self, tiling: Tiling, values: list[tuple[object, Any]]) -> Pattern:
        """Pack one very long step from its tiling, summed by phase."""
        phases = sum_segments((self._phase(n), ns) for n, ns in tiling.segments())
        columns: list[Column] = [("p", name, [ns]) for name, ns in phases]
        columns += self._logged([(k, [v]) for k, v in values if not isinstance(k, Sample)]) or []
        for key, value in values:
            if isinstance(key, Sample):
                columns += _sampled(key, [value])
        columns = columns or [("p", "other", [0])]  # a step without a byte would not be read
        return Pattern(1, columns, meta_of(tiling))

    def _logged(self, logs: list[tuple[object, Sequence[Any]]]) -> list[Column] | None:
        columns: dict[str, Column] = {}
        for key, rows in logs:
            if key is LOG:
                named = zip(LOG_NAMES, zip(*rows, strict=True), strict=True)
            else:
                names = tuple(rows[0])
                if any(tuple(row) != names for row in rows):
                    return None
                named = zip(names, zip(*(row.values() for row in rows), strict=True), strict=True)
            for name, column in named:
                types = set(map(type, column))
                if types == {type(None)}:
                    continue
                if types not in NUMBERS:
                    return None
                known = self._scalar(name)
                before = columns.get(name) if name in COUNTS else None
                total = column if before is None else tuple(map(add, before[2], column))
                if type(total[0]) is int and not _fits(total):
                    columns.pop(name, None)
                    self._warn("a logged integer does not fit 64 bits; it is left out")
                elif known is not None:
                    columns[known] = ("s" if type(total[0]) is float else "i", known, total)
        return list(columns.values())


def _fits(column: Sequence[int]) -> bool:
    return INT64[0] <= min(column) and max(column) <= INT64[1]


def _sampled(key: Sample, rows: Sequence[Sequence[Any]]) -> list[Column]:
    columns = zip(*rows, strict=True)
    return [(key.kind, name, c) for name, c in zip(key.columns, columns, strict=True)]
