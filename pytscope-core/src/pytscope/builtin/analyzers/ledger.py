"""A rank's wall as named lines: which nanosecond belongs to which."""

from __future__ import annotations

import numpy as np

from pytscope.analyses.budget import LINE_OF, LINES
from pytscope.builtin.analyzers.phases import phase_sums_ns, with_eval_fetches
from pytscope.model.records import Flag
from pytscope.runs.run import Timeline, exact_sum

Ledger = dict[str, int]
"""Nanoseconds by line."""

OF_THE_REGION = frozenset(("other", "gc", "compile", "comm", "h2d"))
"""Phases that before the first step and after the last one are part of setting up and ending."""


def line_of(phase: str) -> str:
    """A phase's line; a user's phase that is called like a line of core keeps apart."""
    if phase in LINE_OF:
        return LINE_OF[phase]
    return f"phase:{phase}" if phase in LINES else phase


def ledger(timeline: Timeline) -> Ledger:
    """Split a rank's measured wall into lines that sum to it.

    The region of a step decides before its phases do: done again, then
    warm-up, then slowed down by a measurement. What startup and shutdown name
    goes to the lines of those phases, but for what interrupts training: a collection,
    a compilation, an exchange or a copy while there is no training is part of them.
    """
    lines: Ledger = {"other": 0}
    unrated = np.flatnonzero(~timeline.rated)
    for phase, ns in phase_sums_ns(timeline, unrated):
        _add(lines, line_of(phase), ns)
    redone = timeline.has(Flag.REDONE)[unrated]
    warm = ~redone & timeline.has(Flag.WARMUP)[unrated]
    regions = {"warmup": warm, "redone": redone, "profiled": ~redone & ~warm}
    for region, there in regions.items():
        _add(lines, region, exact_sum(timeline.wall_ns[unrated[there]]))
    for attempt in timeline.attempts:
        _add(lines, "lost", attempt.lost_ns)
        _add(lines, "other", attempt.unplaced_ns or 0)
        for region, segments in (("startup", attempt.startup), ("shutdown", attempt.shutdown)):
            for phase, ns in with_eval_fetches(segments):
                _add(lines, region if phase in OF_THE_REGION else line_of(phase), ns)
    return {name: ns for name, ns in lines.items() if ns or name == "other"}


def _add(lines: Ledger, name: str, ns: int) -> None:
    lines[name] = lines.get(name, 0) + ns


def in_order(names: Ledger) -> list[str]:
    """Lines in display order: core's, with the user's phases before `other`."""
    place = {name: i for i, name in enumerate(LINES)}
    return sorted(names, key=lambda name: (place.get(name, place["other"] - 0.5), name))
