"""Shapes: steps with the same keys share a plan and are packed column by column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import add, countOf, sub
from typing import Any

from pytscope.recording.columns import INT64, Pattern
from pytscope.recording.keys import COUNTS, EXTRA, LOG, LOG_NAMES, Sample
from pytscope.recording.plans import Plan, meta_of, nested
from pytscope.recording.scalars import resolved
from pytscope.recording.steps import Letters, Steps, runs
from pytscope.recording.tile import Tiling, sum_segments

MAX_PLANS = 4096
NESTED = (
    "a step began while one was open: a step inside a step, as step() in a loop over steps(), "
    "or an exception between begin_step() and end_step(); each end counts as a step"
)
NUMBERS = (float, int)
Column = tuple[str, str, Sequence[Any]]
"""Kind, name, values."""


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
        self._letters = Letters()

    def runs(self, keys: list[Any]) -> Iterator[tuple[int, int]]:
        """Keys a step, and how many steps in a row have the same ones."""
        if self._letters.full:
            self._letters = Letters()
        return runs(keys, self._letters)

    def plan(self, blocks: tuple[str, ...], keys: tuple[object, ...]) -> Plan:
        """The plan of a shape, made on first sight."""
        shape = (blocks, keys)
        plan = self._plans.get(shape)
        if plan is None:
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            plan = self._plans[shape] = Plan(blocks, keys, self._phase)
            if nested(keys):
                self._warn(NESTED)
        return plan

    def patterns(self, steps: Steps) -> tuple[list[Pattern], Sequence[int]]:
        """Pack steps of one plan.

        Returns:
            Their patterns, one unless the logged values differ in presence or
            type; and of each step, which is its.
        """
        if steps.plan is None:
            values = list(zip(steps.keys, steps.values, strict=True))
            return [self._literal(steps.tiling or Tiling(), values)], [0]
        columns = steps.columns()
        pattern = self._pattern(steps.plan, steps.keys, columns, steps.at)
        if pattern is not None:
            return [pattern], bytes(len(steps.at))
        for i in steps.plan.logs:
            columns[i] = list(map(resolved, columns[i]))
        kinds = zip(*(map(_kinds, columns[i]) for i in steps.plan.logs), strict=True)
        rows: dict[object, list[int]] = {}
        for row, kind in enumerate(kinds):
            rows.setdefault(kind, []).append(row)
        which = [0] * len(steps.at)
        made = []
        for place, alike in enumerate(rows.values()):
            some = [[column[row] for row in alike] for column in columns]
            at = [steps.at[row] for row in alike]
            pattern = self._pattern(steps.plan, steps.keys, some, at)
            made.append(pattern or Pattern(len(at), {}))  # alike: never the latter
            for row in alike:
                which[row] = place
        return made, which

    def _pattern(
        self, plan: Plan, keys: tuple[object, ...], values: Sequence[Sequence[Any]], at: list[int]
    ) -> Pattern | None:
        """Pack steps whose logged values are alike; None when they are not.

        Args:
            plan: The shape's plan.
            keys: The shape.
            values: Per key, its value in each step.
            at: Per step, the stamp it began with.
        """
        logged = self._logged([(keys[i], values[i]) for i in plan.logs])
        if logged is None:
            return None
        stamps = [at, *(values[i] for i in plan.stamps)]
        pattern = Pattern(len(at), plan.meta)
        for name, spans in plan.phases:
            (start, end), *more = spans
            lengths = list(map(sub, stamps[end], stamps[start]))
            for start, end in more:
                lengths = list(map(int.__add__, lengths, map(sub, stamps[end], stamps[start])))
            pattern.add("p", name, lengths)
        for column in logged:
            pattern.add(*column)
        for i, key in plan.samples:
            _sampled(key, values[i], pattern, logged)
        return pattern

    def _literal(self, tiling: Tiling, values: list[tuple[object, Any]]) -> Pattern:
        """Pack one very long step from its tiling, summed by phase."""
        phases = sum_segments((self._phase(n), ns) for n, ns in tiling.segments())
        pattern = Pattern(1, meta_of(tiling))
        for name, ns in phases:
            pattern.add("p", name, [ns])
        logged = self._logged([(k, [v]) for k, v in values if k is LOG or k is EXTRA]) or ()
        for column in logged:
            pattern.add(*column)
        for key, value in values:
            if isinstance(key, Sample):
                _sampled(key, [value], pattern, logged)
        if not pattern:  # a step without a byte would not be read
            pattern.add("p", "other", [0])
        return pattern

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
                kind, n = type(column[0]), len(column)
                if kind not in NUMBERS or countOf(map(type, column), kind) < n:
                    if column.count(None) == n:
                        continue
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


def _kinds(value: Any) -> tuple[Any, ...]:
    """What logged values must have in common to be packed together: presence and types."""
    if isinstance(value, dict):
        return tuple(value), tuple(map(type, value.values()))
    return tuple(map(type, value))


def _fits(column: Sequence[int]) -> bool:
    return INT64[0] <= min(column) and max(column) <= INT64[1]


def _sampled(
    key: Sample, rows: Sequence[Sequence[Any]], pattern: Pattern, logged: Sequence[Column]
) -> None:
    """Pack a sample's columns, except numbers that were logged under their name as well."""
    told = {name for _, name, _ in logged} if logged and key.kind in "is" else ()
    for name, column in zip(key.columns, zip(*rows, strict=True), strict=True):
        if name not in told:
            pattern.add(key.kind, name, column)
