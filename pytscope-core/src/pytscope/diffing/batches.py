"""Fingerprints of what runs were fed, as facts."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from pytscope.diffing.logged import common
from pytscope.runs.last_pass import counting
from pytscope.runs.run import Run

BATCH = "batch_fingerprint"
FACT = "data.batch_fingerprints"


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
    steps = steps[~np.isin(steps, resumed_steps(runs))]
    if not len(steps):
        return nothing
    return [
        {FACT: f"{_hash(values[np.searchsorted(own, steps)])} of {len(steps):,} steps"}
        for own, values in series
    ]


def resumed_steps(runs: Sequence[Run]) -> list[int]:
    """Steps that an attempt goes on from: their batches may cover what the loader skipped."""
    timelines = [run.timelines[0] for run in runs if run.timelines and run.has_timeline]
    return [attempt.first_step for t in timelines for attempt in t.attempts if attempt.first_step]


def _hash(values: Any) -> str:
    return hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=8).hexdigest()
