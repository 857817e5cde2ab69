"""Types of core's analyses, for the authors of rules and analyzers.

A rule names the analyses it needs as annotated parameters::

    from pytscope.analyses import Timing

    @rule("ACME.SLOW_OPTIMIZER", since="1.0")
    def slow_optimizer(timing: Timing, *, min_share: float = 0.30): ...
"""

from __future__ import annotations

from pytscope.analyses.budget import Budget, BudgetLine, BudgetPart, Impossible, RankBudget
from pytscope.analyses.column import Column
from pytscope.analyses.coverage import Coverage, RankCoverage, Seen, Stop
from pytscope.analyses.evaluations import Evaluated, Evaluations
from pytscope.analyses.event_mask import Event, EventMask
from pytscope.analyses.growth import Growth
from pytscope.analyses.instability import AxisSet, Instability, KnownMoment, Moment
from pytscope.analyses.interruptions import Interruption, Interruptions, NewSizes
from pytscope.analyses.memory import Memory, MemoryColumn, RankMemory
from pytscope.analyses.spikes import AxisSpikes, KnownSpike, Spikes
from pytscope.analyses.throughput import Throughput
from pytscope.analyses.timing import PhaseTiming, Timing

__all__ = [
    "AxisSet",
    "AxisSpikes",
    "Budget",
    "BudgetLine",
    "BudgetPart",
    "Column",
    "Coverage",
    "Evaluated",
    "Evaluations",
    "Event",
    "EventMask",
    "Growth",
    "Impossible",
    "Instability",
    "Interruption",
    "Interruptions",
    "KnownMoment",
    "KnownSpike",
    "Memory",
    "MemoryColumn",
    "Moment",
    "NewSizes",
    "PhaseTiming",
    "RankBudget",
    "RankCoverage",
    "RankMemory",
    "Seen",
    "Spikes",
    "Stop",
    "Throughput",
    "Timing",
]
