"""The memory analyzer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pytscope.analyses.column import Column
from pytscope.analyses.memory import DEVICE, HOST, OTHER, PLACES, Memory, MemoryColumn, RankMemory
from pytscope.builtin.analyzers.envelope import envelope
from pytscope.model.errors import NotMeasured
from pytscope.model.records import Flag
from pytscope.plugins.declare import analyzer
from pytscope.runs.run import Bools, Ints, Run, Timeline

FEWEST_LEFT_OUT = 20
PART_LEFT_OUT = 0.10
"""Steps at an attempt's start, and their part of it, in which memory may fill up."""
NEEDS = "memory after each step: collect_memory=True"
NEEDS_TORCH = f"{NEEDS}, which needs pytscope-torch"
UNFIT = "peak"
"""It stays at its highest value until something resets it, and so seems to grow."""
MOST_BESIDE = 0.5
PART_BESIDE = 0.8


@analyzer("memory")
def memory(run: Run) -> Memory:
    """Read what was held after each step, on every rank that sampled it.

    Raises:
        NotMeasured: No rank sampled memory.
    """
    ranks = tuple(_rank(t) for t in run.timelines if any(_sampled(t)))
    if not ranks:
        raise NotMeasured(NEEDS if _has_torch(run) else NEEDS_TORCH)
    shown = next((r for r in ranks if r.rank == run.shown.rank), ranks[0])
    return Memory(shown=shown, ranks=ranks)


def _has_torch(run: Run) -> bool:
    """Whether pytscope-torch was there when the run was recorded."""
    packages = run.environment.get("packages")
    return isinstance(packages, Mapping) and "pytscope-torch" in packages


def _sampled(timeline: Timeline) -> Iterator[str]:
    """Columns that have a value."""
    return (name for name in timeline.memory if len(timeline.column("memory", name)[0]))


def _rank(timeline: Timeline) -> RankMemory:
    number = _longest(timeline)
    own = timeline.attempt == number
    left_out = _left_out(timeline, own)
    kept = own & ~timeline.has(Flag.REDONE)
    late = kept & (np.cumsum(own) > left_out)
    columns = {name: c for name in _sampled(timeline) if (c := _column(timeline, name, own, late))}
    events = [e for a in timeline.attempts if a.number == number for e in a.events]
    device = _event(events, "capacity", DEVICE)
    return RankMemory(
        rank=timeline.rank,
        attempt=number,
        steps=int(own.sum()),
        left_out=left_out,
        columns=columns,
        device=_text(device.get("name")),
        missing=_text(device.get("missing")),
        room_bytes=dict(_rooms(columns, device, _event(events, "capacity", HOST))),
        model={
            name: size
            for name in ("parameters", "parameter_bytes", "gradient_bytes", "optimizer_bytes")
            if (size := _whole(_event(events, "model").get(name))) is not None
        },
    )


def _longest(timeline: Timeline) -> int:
    """The attempt with most steps, of several the last: memory begins anew with each."""
    numbers, counts = np.unique(timeline.attempt, return_counts=True)
    return int(numbers[len(counts) - 1 - np.argmax(counts[::-1])])


def _left_out(timeline: Timeline, own: Bools) -> int:
    warmup = int((timeline.has(Flag.WARMUP) & own).sum())
    return max(FEWEST_LEFT_OUT, math.ceil(PART_LEFT_OUT * int(own.sum())), warmup)


def _column(timeline: Timeline, name: str, own: Bools, late: Bools) -> MemoryColumn | None:
    rows, values = timeline.column("memory", name)
    there = own[rows]
    step, each = timeline.step[rows[there]], values[there].astype(np.int64)
    if not len(each):
        return None
    used = late[rows]
    beside = _beside(timeline, rows[used], values[used].astype(np.float64))
    return MemoryColumn(
        name=name,
        place=PLACES.get(name, OTHER),
        values=len(each),
        first_bytes=int(each[0]),
        last_bytes=int(each[-1]),
        low_bytes=int(each.min()),
        high_bytes=int(each.max()),
        growth=None
        if name == UNFIT
        else envelope(timeline.step[rows[used]], values[used].astype(np.int64), beside),
        step=Column(step),
        each=Column(each),
    )


def _beside(timeline: Timeline, rows: Ints, values: Any) -> str:
    """The interruption in whose steps a size grows, if it hardly does in others."""
    if len(rows) < 2 or values[-1] <= values[0]:  # noqa: PLR2004  # no difference
        return ""
    rise = np.diff(values)
    for name in ("eval", "checkpoint"):
        has = timeline.phase_ns(name)[rows[1:]] > 0
        if 0 < has.mean() <= MOST_BESIDE and rise[has].sum() >= PART_BESIDE * rise.sum():
            return name
    return ""


def _event(events: list[Mapping[str, Any]], kind: str, where: str = "") -> Mapping[str, Any]:
    """The last event of a kind, of a place; an empty one without any."""
    found = [e for e in events if e.get("kind") == kind and (not where or e.get("where") == where)]
    return found[-1] if found else {}


def _rooms(
    columns: Mapping[str, MemoryColumn], device: Mapping[str, Any], host: Mapping[str, Any]
) -> Iterator[tuple[str, int]]:
    total = _whole(device.get("total_bytes"))
    tops = [columns[n].high_bytes for n in ("peak", "allocated", "resident") if n in columns]
    if total is not None and tops:
        yield DEVICE, max(total - max(tops), 0)
    available, then = _whole(host.get("available_bytes")), _whole(host.get("rss_bytes"))
    if available is not None and then is not None and "rss" in columns:
        yield HOST, max(available - (columns["rss"].last_bytes - then), 0)


def _whole(value: Any) -> int | None:
    known = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if known else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
