"""The analyzer of interruptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pytscope.analyses.column import Column
from pytscope.analyses.interruptions import Interruption, Interruptions, NewSizes
from pytscope.model.records import Flag
from pytscope.plugins.declare import analyzer
from pytscope.runs.run import Ints, Run, Timeline

INSTRUMENTATION = "instrumentation"
"""Kind of the event in which a recorder says what it looks for."""
LOOKED_THROUGH = 1_000
"""Steps with most of a phase whose segments are looked through for the longest one."""
LEAST_LOOKED_THROUGH = 10
"""The same of each rank, where there are many."""
SIZES = ("tokens", "samples")


@analyzer("interruptions")
def interruptions(run: Run) -> Interruptions:
    """Find what interrupts training, and whether anybody looked."""
    shown = run.shown
    compiled = _interruption(shown, "compile", LOOKED_THROUGH)
    looked_through = max(LEAST_LOOKED_THROUGH, LOOKED_THROUGH // len(run.timelines))
    told = [_told(attempt.events) for attempt in shown.attempts]
    syncs = [bool(one["sync"]) for one in told if "sync" in one]
    devices = [one["accelerator"] for one in told if isinstance(one.get("accelerator"), str)]
    return Interruptions(
        rank=shown.rank,
        world=max(run.world_size or 0, len(run.timelines)),
        watched=_watched(told),
        accelerator=next(iter(devices), None),
        sync=all(syncs) if len(syncs) == len(told) > 0 else (False if syncs else None),
        gc=tuple(
            _interruption(t, "gc", LOOKED_THROUGH if t is shown else looked_through)
            for t in run.timelines
            if "gc" in t.phases
        ),
        compile=compiled,
        new_sizes=_new_sizes(shown, compiled) if compiled.steps else None,
    )


def _told(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the instrumentation events of one attempt say, together."""
    told: dict[str, Any] = {}
    for event in events:
        if event.get("kind") == INSTRUMENTATION:
            seams = told.get("seams")
            told |= {key: event[key] for key in ("accelerator", "sync") if key in event}
            if "seams" in event:
                told["seams"] = (seams or frozenset()) | _names(event["seams"])
            told["without"] = told.get("without", frozenset()) | _names(event.get("without"))
    return told


def _names(value: object) -> frozenset[str]:
    found = value if isinstance(value, list | tuple) else ()
    return frozenset(name for name in found if isinstance(name, str))


def _watched(told: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
    if not any("seams" in one for one in told):
        return None
    each = [one.get("seams", frozenset()) - one.get("without", frozenset()) for one in told]
    return tuple(sorted(frozenset.intersection(*each)))


def _interruption(timeline: Timeline, phase: str, looked_through: int) -> Interruption:
    empty = np.zeros(0, np.int64)
    rows, values = empty, empty
    if phase in timeline.phases:
        rows, values = timeline.column("phase", phase)
        rows, values = rows[values > 0], values[values > 0]
    rated = timeline.rated[rows]
    early = timeline.has(Flag.WARMUP)[rows] & ~timeline.has(Flag.REDONE)[rows]
    startup = sum(
        ns for a in timeline.attempts for name, ns in a.startup if name == phase and ns > 0
    )
    kept, each = rows[rated], values[rated]
    place, evaluation = _places(timeline, kept)
    return Interruption(
        rank=timeline.rank,
        steps=len(kept),
        total_ns=int(each.sum()),
        longest_ns=_longest(timeline, phase, kept, each, looked_through),
        before_ns=startup + int(values[early].sum()),
        step=Column(timeline.step[kept]),
        each=Column(each),
        place=Column(place),
        evaluation=Column(evaluation),
    )


def _longest(timeline: Timeline, phase: str, rows: Ints, each: Ints, looked_through: int) -> int:
    most = rows[np.argsort(-each, kind="stable")[:looked_through]]
    segments = timeline.segments_of(np.sort(most)) if len(most) else []
    return max((ns for of_step in segments for name, ns in of_step if name == phase), default=0)


def _places(timeline: Timeline, rows: Ints) -> tuple[Ints, Ints]:
    """For some rows: steps of their attempt before them, and the evaluation they hold."""
    if not len(rows):
        return rows, rows
    numbers = timeline.attempt
    change = np.flatnonzero(np.diff(numbers)) + 1
    starts: Ints = np.concatenate([np.zeros(1, np.int64), change])
    first = starts[np.searchsorted(starts, rows, side="right") - 1]
    evaluates = timeline.phase_ns("eval") > 0
    count = np.cumsum(evaluates)
    before = np.where(first > 0, count[first - 1], 0)
    return rows - first, np.where(evaluates[rows], count[rows] - before, 0)


def _new_sizes(timeline: Timeline, compiled: Interruption) -> NewSizes | None:
    for name in SIZES:
        if name in timeline.scalars:
            steps, values = _sizes(timeline, name)
            new = np.zeros(len(values), np.bool_)
            new[np.unique(values, return_index=True)[1]] = True
            compiles = np.isin(steps, compiled.step.values)
            if compiles.any() and not compiles.all():
                return NewSizes(name, float(new[compiles].mean()), float(new[~compiles].mean()))
    return None


def _sizes(timeline: Timeline, name: str) -> tuple[Ints, npt.NDArray[Any]]:
    """Numbers of the rated steps that logged a count, and the count."""
    rows, values = timeline.column("scalar", name)
    keep = timeline.rated[rows] & np.isfinite(values)
    return timeline.step[rows[keep]], values[keep]
