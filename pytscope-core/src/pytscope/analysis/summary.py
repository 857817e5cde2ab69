"""The run as a report names it."""

from __future__ import annotations

from pytscope.model.records import Flag
from pytscope.model.report import RunSummary
from pytscope.runs.run import Run

_MADE_WITH = ("python", "torch")
"""What of the environment a report tells: no paths, no times, nobody's machine."""


def summarise(run: Run) -> RunSummary:
    """Facts about a run with at least one rank.

    Steps that a later attempt has done again count once.
    """
    shown = run.shown
    attempts = [a for timeline in run.timelines for a in timeline.attempts]
    starts = [a.start_epoch_ns for a in attempts if a.start_epoch_ns]
    return RunSummary(
        name=run.name,
        path=run.path,
        ranks=run.ranks,
        world_size=run.world_size,
        steps=int((~shown.has(Flag.REDONE)).sum()),
        wall_ns=shown.measured_ns if run.has_wall else None,
        finished=all(t.attempts[-1].finished for t in run.timelines if t.attempts),
        source=run.source,
        window=run.window,
        attempts=tuple(sorted({a.number for a in attempts})),
        other_attempts=run.other_attempts,
        created_epoch_ns=min(starts, default=None),
        live=run.live,
        recorded_ns=None if run.has_wall else shown.measured_ns,
        environment={name: run.environment[name] for name in _MADE_WITH if name in run.environment},
    )
