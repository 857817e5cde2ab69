"""Short cuts of the reader's tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from pytscope.runs.run import Attempt, Run, Timeline
from pytscope.runs.sources.run_directory import open_run_directory
from tests.core.runs.pts_bytes import Step


def write(folder: Path, records: Sequence[bytes] | bytes, rank: int = 0) -> Path:
    """Write a rank file; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    data = records if isinstance(records, bytes) else b"".join(records)
    (folder / f"rank{rank:05d}.pts").write_bytes(data)
    return folder


def read(folder: Path, records: Sequence[bytes] | bytes, attempt: int | None = None) -> Run:
    """Write a run of one rank and open it."""
    return open_run_directory(write(folder, records), attempt)


def attempt_wall_ns(timeline: Timeline, attempt: Attempt) -> int:
    """The four parts of an attempt's wall, summed."""
    steps = int(timeline.wall_ns[timeline.attempt == attempt.number].sum())
    parts = sum(ns for _, ns in (*attempt.startup, *attempt.shutdown))
    return steps + parts + attempt.lost_ns


def assert_same(timeline: Timeline, steps: Sequence[Step], first: int = 0) -> None:
    """Assert that a timeline holds exactly the given steps."""
    records = list(timeline.records())
    assert [r.step for r in records] == list(range(first, first + len(steps)))
    for got, wrote in zip(records, steps, strict=True):
        assert_step(got, wrote)


def assert_step(got, wrote: Step) -> None:
    assert got.segments == wrote.segments
    assert got.wall_ns == wrote.wall_ns
    assert dict(got.memory_bytes) == dict(wrote.memory)
    assert dict(got.extras_ns) == dict(wrote.extras)
    assert got.device_segments == (wrote.device or None)
    assert got.micro_batches == wrote.micro
    assert int(got.flags) == wrote.flags
    assert got.scalars.keys() == wrote.scalars.keys()
    for name, value in wrote.scalars.items():
        read_value = got.scalars[name]
        assert read_value == value or (math.isnan(read_value) and math.isnan(value))
