"""What must hold of every recording, whatever was done to it: it reads, and it adds up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytscope
from pytscope.analyses import Budget
from pytscope.runs.run import Run, Timeline


def checked(folder: Path) -> Run:
    """The run, after its steps and its budget were seen to sum to its wall."""
    run = pytscope.open(folder)
    for timeline in run.timelines:
        phases = sum(int(timeline.phase_ns(name).sum()) for name in timeline.phases)
        assert phases == int(timeline.wall_ns.sum())
    budget = pytscope.analyze(folder).analyses["budget"]
    assert isinstance(budget, Budget)
    assert sum(line.ns for line in budget.lines) == budget.wall_ns
    return run


def only(folder: Path) -> Timeline:
    """The timeline of a run of one rank, checked."""
    (timeline,) = checked(folder).timelines
    return timeline


def said(timeline: Timeline) -> list[str]:
    """What the recorder warned of."""
    events = timeline.attempts[-1].events
    return [str(e["message"]) for e in events if e["kind"] == "warning"]


def child(code: str, *arguments: object, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    """Run a program that turns every warning into an error."""
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=timeout_s)
