"""Fingerprints of what runs were fed, as facts."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pytscope.diffing.logged import common
from pytscope.runs.last_pass import counting
from pytscope.runs.run import Ints, Run

BATCH = "batch_fingerprint"
FACT = "data.batch_fingerprints"
ALIKE = 3
"""Batches after a resume that are equal when the loader is where it was."""


def fingerprint_facts(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One hash for each run of its batches at the steps that all have; empty without them.

    Args:
        runs: The runs; of each, the lowest rank that all have counts.
    """
    nothing: list[dict[str, Any]] = [{} for _ in runs]
    shared = sorted(set(runs[0].ranks).intersection(*(run.ranks for run in runs))) if runs else []
    if not shared:
        return nothing
    timelines = [run.rank(shared[0]) for run in runs]
    if not all(BATCH in timeline.scalars for timeline in timelines):
        return nothing
    series = [counting(timeline, BATCH) for timeline in timelines]
    steps = functools.reduce(lambda a, b: common(a, b)[0], (steps for steps, _ in series))
    values = np.array([values[np.searchsorted(own, steps)] for own, values in series])
    kept = ~np.isin(steps, list(_wound(steps, values, resumed_steps(runs))))
    if not kept.any():
        return nothing
    return [{FACT: f"{_hash(its[kept])} of {kept.sum():,} steps"} for its in values]


def resumed_steps(runs: Sequence[Run]) -> list[int]:
    """Steps that an attempt goes on from."""
    timelines = [run.timelines[0] for run in runs if run.timelines and run.has_timeline]
    return [attempt.first_step for t in timelines for attempt in t.attempts if attempt.first_step]


def _wound(steps: Ints, values: Any, resumed: Sequence[int]) -> Iterator[int]:
    """Resumed steps whose batches may cover what a loader skipped: none after them differ."""
    differ = (values != values[0]).any(axis=0)
    for step in resumed:
        place = int(np.searchsorted(steps, step))
        after = differ[place + 1 : place + 1 + ALIKE]
        if differ[place : place + 1].any() and not after.any():
            yield int(steps[place])


def _hash(values: Any) -> str:
    return hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=8).hexdigest()
