"""Core's analyzers, one a file."""

from __future__ import annotations

from pytscope.builtin.analyzers.budget import budget
from pytscope.builtin.analyzers.coverage import coverage
from pytscope.builtin.analyzers.evaluations import evaluations
from pytscope.builtin.analyzers.event_mask import event_mask
from pytscope.builtin.analyzers.instability import instability
from pytscope.builtin.analyzers.interruptions import interruptions
from pytscope.builtin.analyzers.memory import memory
from pytscope.builtin.analyzers.spikes import spikes
from pytscope.builtin.analyzers.timing import timing

ALL = (
    timing,
    budget,
    coverage,
    evaluations,
    memory,
    interruptions,
    event_mask,
    spikes,
    instability,
)
