"""Names of the columns and of the event in which a recording keeps its collectives."""

from __future__ import annotations

READY = "dist.ready_ns"
"""From the step's begin to this rank being ready for its last collective."""
RELEASE = "dist.release_ns"
"""From the step's begin to that collective letting the rank go."""
BLOCKED = "dist.blocked_ns"
"""Time blocked in the step's other collectives."""
INSIDE = "dist.in."
"""Before a phase's name and `_ns`: the time blocked that lies in that phase."""
GROUP = "dist.group."
"""Before the name of a kind of process group and `_ns`: the time blocked in its collectives."""
SUFFIX = "_ns"
TOPOLOGY = "topology"
"""Kind of the event that says which part of the work is a rank's."""

COMPUTE_PHASES = frozenset(("forward", "backward", "loss", "optimizer", "compute", "no_grad"))
"""Phases that the budget counts as its line `compute`."""

TO_MEASURE = (
    "stamps of the ranks' collectives: record every rank with AutoProfiler(..., "
    "distributed=True), or put what waits for other ranks in `with prof.comm():`"
)
"""What a run lacks whose ranks cannot be compared."""


def named(prefix: str, columns: tuple[str, ...]) -> dict[str, str]:
    """Columns with a prefix, by the name in between."""
    return {
        column[len(prefix) : -len(SUFFIX)]: column
        for column in columns
        if column.startswith(prefix) and column.endswith(SUFFIX)
    }
