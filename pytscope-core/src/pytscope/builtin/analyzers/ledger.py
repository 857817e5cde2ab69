"""A rank's wall as named lines: which nanosecond belongs to which."""

from __future__ import annotations

from pytscope.analyses.budget import LINES
from pytscope.builtin.analyzers.phases import every_phase
from pytscope.model.records import Flag
from pytscope.runs.run import Timeline

Ledger = dict[str, int]
"""Nanoseconds by line."""

LINE_OF = {
    "data": "data_stall",
    "comm": "communication",
    **dict.fromkeys(("forward", "backward", "loss", "optimizer", "compute", "no_grad"), "compute"),
    **{
        name: name
        for name in ("h2d", "eval", "checkpoint", "log", "compile", "gc", "failed", "other")
    },
}
"""Line of pytscope's own phases."""


def line_of(phase: str) -> str:
    """A phase's line; a user's phase that is called like a line of core keeps apart."""
    if phase in LINE_OF:
        return LINE_OF[phase]
    return f"phase:{phase}" if phase in LINES else phase


def ledger(timeline: Timeline) -> Ledger:
    """Split a rank's measured wall into lines that sum to it.

    The region of a step decides before its phases do: done again, then
    warm-up. What startup and shutdown name goes to the lines of those phases.
    """
    lines: Ledger = {"other": 0}
    for phase, column in every_phase(timeline, timeline.rated):
        _add(lines, line_of(phase), int(column.sum()))
    redone = timeline.has(Flag.REDONE)
    _add(lines, "warmup", int(timeline.wall_ns[timeline.has(Flag.WARMUP) & ~redone].sum()))
    _add(lines, "redone", int(timeline.wall_ns[redone].sum()))
    for attempt in timeline.attempts:
        _add(lines, "lost", attempt.lost_ns)
        for region, segments in (("startup", attempt.startup), ("shutdown", attempt.shutdown)):
            for phase, ns in segments:
                _add(lines, region if phase == "other" else line_of(phase), ns)
    return {name: ns for name, ns in lines.items() if ns or name == "other"}


def _add(lines: Ledger, name: str, ns: int) -> None:
    lines[name] = lines.get(name, 0) + ns


def in_order(names: Ledger) -> list[str]:
    """Lines in display order: core's, with the user's phases before `other`."""
    place = {name: i for i, name in enumerate(LINES)}
    return sorted(names, key=lambda name: (place.get(name, place["other"] - 0.5), name))
