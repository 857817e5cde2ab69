"""Blocks of steps: a record's header checked against the bytes it describes."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from pytscope.runs.headers import MOST_NS, MOST_STEPS
from pytscope.runs.layouts import Column, Layouts, Patterns
from pytscope.runs.scan import Record, StepsLine, parse_json

LONGEST_NS = 2**55
"""More than a year, which no block can cover; sums over a file stay within 64 bits."""


@attrs.frozen(eq=False)
class StepBlock:
    """Consecutive steps whose columns lie in one stretch of bytes.

    Attributes:
        step: Number of the first step.
        n: Number of steps, at least 1.
        t0: Start of the first step, nanoseconds since the attempt's start.
        patterns: Count and layout of every pattern.
        size: Bytes of its record.
        which: Index of each step's pattern, or None with one pattern.
        columns: The columns, pattern by pattern.
        claimed_ns: Bound of its durations of 64 bits.
    """

    step: int
    n: int
    t0: int
    patterns: Patterns
    size: int
    which: memoryview | None
    columns: memoryview
    claimed_ns: float = 0.0

    @property
    def next_step(self) -> int:
        """Number of the step after the last one."""
        return self.step + self.n

    def end_ns(self) -> int:
        """Where its last step ends: the exact sum of its phases after its start."""
        total, at = self.t0, 0
        for count, layout in self.patterns.entries:
            for column in layout.of_kind("p"):
                total += int(_values(self.columns, at, count, column).sum(dtype=np.int64))
            at += count * layout.width
        return total


def step_block(record: Record, layouts: Layouts) -> StepBlock | None:
    """Read a block's header.

    Args:
        record: An intact record of kind `steps`.
        layouts: Layouts met so far.

    Returns:
        The block, or None when its sizes, types or counts contradict each other.
    """
    header = record.header
    if isinstance(header, StepsLine):
        patterns = layouts.of_bytes(header.layouts)
        if patterns is not None:
            return _checked(record, (header.step, header.n, header.t0), patterns)
        # Keys of a later version may stand among the known ones.
        header = parse_json(record.line)
    if not isinstance(header, dict):
        return None
    given: tuple[Any, Any, Any] = (header.get("step"), header.get("n"), header.get("t0"))
    patterns = layouts.of_list(header.get("pats"))
    if patterns is None or not all(type(value) is int for value in given):
        return None
    return _checked(record, given, patterns)


def _checked(record: Record, numbers: tuple[int, int, int], patterns: Patterns) -> StepBlock | None:
    step, n, t0 = numbers
    data = record.data
    if patterns.steps != n or n < 1:
        return None
    if not 0 <= step <= MOST_STEPS or abs(t0) > MOST_NS:
        return None
    index_bytes = n if len(patterns.entries) > 1 else 0
    if len(data) != index_bytes + patterns.columns_bytes:
        return None
    if n > len(data):  # steps without a byte of their own could be any number
        return None
    which = data[:n] if index_bytes else None
    if which is not None:
        counted = np.bincount(np.frombuffer(which, np.uint8), minlength=len(patterns.entries))
        if counted.tolist() != [count for count, _ in patterns.entries]:
            return None
    columns = data[index_bytes:]
    claimed = _claimed_ns(columns, patterns) if patterns.wide else 0.0
    if claimed > LONGEST_NS:
        return None
    return StepBlock(step, n, t0, patterns, record.size, which, columns, claimed)


def _claimed_ns(columns: memoryview, patterns: Patterns) -> float:
    total, at = 0.0, 0
    for count, layout in patterns.entries:
        for column in layout.wide:
            values = _values(columns, at, count, column)
            total += float(np.abs(values.astype(np.float64)).sum())
        at += count * layout.width
    return total


def _values(columns: memoryview, at: int, count: int, column: Column) -> np.ndarray[Any, Any]:
    return np.frombuffer(columns, column.dtype, count, at + count * column.before)
