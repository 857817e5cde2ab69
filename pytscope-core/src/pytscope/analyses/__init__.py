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
from pytscope.analyses.growth import Growth
from pytscope.analyses.interruptions import Interruption, Interruptions, NewSizes
from pytscope.analyses.memory import Memory, MemoryColumn, RankMemory
from pytscope.analyses.throughput import Throughput
from pytscope.analyses.timing import PhaseTiming, Timing

__all__ = [
    "Budget",
    "BudgetLine",
    "BudgetPart",
    "Column",
    "Coverage",
    "Growth",
    "Impossible",
    "Interruption",
    "Interruptions",
    "Memory",
    "MemoryColumn",
    "NewSizes",
    "PhaseTiming",
    "RankBudget",
    "RankCoverage",
    "RankMemory",
    "Seen",
    "Stop",
    "Throughput",
    "Timing",
]
