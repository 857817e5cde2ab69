"""Plans: what the stamps of one shape of step mean, worked out once per shape."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

from pytscope.recording.keys import (
    BEGIN,
    CLOSE,
    EXHAUSTED,
    EXTRA,
    FAIL,
    LOG,
    MICRO,
    Open,
    Sample,
    is_value,
    only_marks,
)
from pytscope.recording.tile import Tiling

MAX_SEGMENTS = 1024
"""Segments a step keeps in order; beyond, they are summed by phase."""

FAILED_FLAG = 4
SKIPPED_FLAG = 2
PROFILED_FLAG = 16
"""Bits of `model.records.Flag`, which recording does not import."""

Span = tuple[int, int]


class Plan:
    """How to turn the values of one shape of step into columns.

    Stamps are numbered from 0, the previous step's end; stamp *i* is the value
    of the *i*-th key that has one.

    Attributes:
        stamps: Positions, in the shape, of the keys with stamps.
        phases: Per column, the phase and the stamp pairs whose differences sum to it.
        logs: Positions of `LOG` and `EXTRA` keys, in order.
        samples: Positions of samples, with their keys.
        late: Positions of the values that belong to the previous step.
        entry: Blocks open at the step's start.
        blocks: Blocks open at the step's end.
        meta: The pattern's constants: micro-batches, flags.
        end: Position of the step's end.
        alike: Whether the next step can have the same plan.
    """

    __slots__ = (
        "alike",
        "blocks",
        "end",
        "entry",
        "late",
        "logs",
        "meta",
        "phases",
        "samples",
        "stamps",
    )

    def __init__(
        self, blocks: tuple[str, ...], keys: tuple[object, ...], named: Callable[[str], str]
    ) -> None:
        self.entry = blocks
        self.stamps = tuple(i for i, key in enumerate(keys) if not is_value(key))
        self.logs = tuple(i for i, key in enumerate(keys) if key is LOG or key is EXTRA)
        self.samples = tuple((i, key) for i, key in enumerate(keys) if isinstance(key, Sample))
        self.late = late_values(blocks, keys)
        tiling = Tiling(blocks, 0)
        for at, place in enumerate(self.stamps, 1):
            tiling.feed(keys[place], at)
        self.blocks = tiling.blocks
        self.end = self.stamps[-1]
        self.alike = not self.late and self.blocks == self.entry
        self.meta = meta_of(tiling)
        segments = [(named(name), length) for name, length in tiling.segments()]
        ends = list(accumulate(length for _, length in segments))
        pairs = [(name, (end - n, end)) for (name, n), end in zip(segments, ends, strict=True)]
        self.phases = (
            [(name, [span]) for name, span in pairs] if len(pairs) <= MAX_SEGMENTS else _sum(pairs)
        )


def _sum(pairs: list[tuple[str, Span]]) -> list[tuple[str, list[Span]]]:
    spans: dict[str, list[Span]] = {}
    for name, span in pairs:
        spans.setdefault(name, []).append(span)
    return list(spans.items())


def meta_of(tiling: Tiling) -> dict[str, int]:
    """A pattern's constants, without those at their default."""
    meta = {}
    if tiling.micro > 1:
        meta["micro"] = tiling.micro
    flags = FAILED_FLAG * tiling.failed + PROFILED_FLAG * tiling.profiled
    flags += SKIPPED_FLAG * tiling.skipped
    if flags:
        meta["flags"] = flags
    return meta


def nested(keys: tuple[object, ...]) -> bool:
    """Whether a step begins while one is open that no exception left."""
    begun = False
    for key in keys:
        if key is BEGIN and begun:
            return True
        if key is BEGIN or key is MICRO or key is FAIL:
            begun = key is BEGIN
    return False


def late_values(blocks: tuple[str, ...], keys: tuple[object, ...]) -> tuple[int, ...]:
    """Positions of values logged after a step end and before the next fetch or begin.

    Values that directly follow the step's own end are the step's own.
    """
    own = len(keys)
    while own and is_value(keys[own - 1]):
        own -= 1
    lead = training_goes_on(blocks, keys[:own])
    return tuple(i for i in range(own if lead is None else lead) if is_value(keys[i]))


def training_goes_on(blocks: tuple[str, ...], keys: tuple[object, ...]) -> int | None:
    """Place of the first top-level fetch that found a batch, or of `BEGIN`; None without."""
    if only_marks(keys):
        return None
    depth = len(blocks)
    for place, key in enumerate(keys):
        if isinstance(key, Open):
            if not depth and key.name == "data" and _fetches(keys, place):
                return place
            depth += 1
        elif key is CLOSE or key is EXHAUSTED:
            depth = max(0, depth - 1)
        elif key is BEGIN:
            return place
    return None


def _fetches(keys: tuple[object, ...], opened: int) -> bool:
    """Whether the data block opened at a position ends in a batch."""
    depth = 0
    for key in keys[opened:]:
        if isinstance(key, Open):
            depth += 1
        elif key is CLOSE or key is EXHAUSTED:
            depth -= 1
            if not depth:
                return key is CLOSE
    return True
