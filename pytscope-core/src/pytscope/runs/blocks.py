"""Blocks of steps: a record's header checked against the bytes it describes."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from pytscope.runs.layouts import Layouts, Patterns
from pytscope.runs.scan import Record, StepsLine, parse_json

_MOST = 2**62
"""Bound of step numbers and stamps: sums of two stay within 64 bits."""


@attrs.frozen(eq=False)
class StepBlock:
    """Consecutive steps whose columns lie in one stretch of the file.

    Attributes:
        step: Number of the first step.
        n: Number of steps, at least 1.
        t0: Start of the first step, nanoseconds since the attempt's start.
        patterns: Count and layout of every pattern.
        which_at: Where the index of each step's pattern lies, or None with one pattern.
        columns_at: Where the first column lies.
    """

    step: int
    n: int
    t0: int
    patterns: Patterns
    which_at: int | None
    columns_at: int


def step_block(record: Record, view: memoryview, layouts: Layouts) -> StepBlock | None:
    """Read a block's header.

    Args:
        record: An intact record of kind `steps`.
        view: The file's bytes.
        layouts: Layouts met so far.

    Returns:
        The block, or None when its sizes, types or counts contradict each other.
    """
    header = record.header
    if isinstance(header, StepsLine):
        patterns = layouts.of_bytes(header.layouts)
        if patterns is not None:
            numbers = (header.step, header.n, header.t0)
            return _checked(record, view, StepBlock(*numbers, patterns, None, record.data_at))
        # Keys of a later version may stand among the known ones.
        header = parse_json(bytes(view[record.start : record.data_at]))
    if not isinstance(header, dict):
        return None
    given: tuple[Any, Any, Any] = (header.get("step"), header.get("n"), header.get("t0"))
    patterns = layouts.of_list(header.get("pats"))
    if patterns is None or not all(map(_fits, given)):
        return None
    return _checked(record, view, StepBlock(*given, patterns, None, record.data_at))


def _fits(value: object) -> bool:
    return type(value) is int and -_MOST < value < _MOST


def _checked(record: Record, view: memoryview, block: StepBlock) -> StepBlock | None:
    patterns = block.patterns
    if block.step < 0 or block.n < 1 or patterns.steps != block.n:
        return None
    index_bytes = block.n if len(patterns.entries) > 1 else 0
    if record.data_bytes != index_bytes + patterns.columns_bytes:
        return None
    if block.n > record.data_bytes:  # steps without a byte of their own could be any number
        return None
    if not index_bytes:
        return block
    which = np.frombuffer(view, np.uint8, block.n, record.data_at)
    counted = np.bincount(which, minlength=len(patterns.entries)).tolist()
    if counted != [count for count, _ in patterns.entries]:
        return None
    return attrs.evolve(block, which_at=record.data_at, columns_at=record.data_at + index_bytes)
