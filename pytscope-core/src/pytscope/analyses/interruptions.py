"""`Interruptions`: what a run's recorder looked for, its collections and its compilations."""

from __future__ import annotations

import attrs

from pytscope.analyses.column import Column
from pytscope.analyses.few import few
from pytscope.model.jsonable import SHORTENED

UNWATCHED = (
    "`h2d` and `compile` as phases: AutoProfiler (pytscope-torch) records them, "
    'or wrap what they are in phase("...")'
)
UNWATCHED_GC = "`gc` as a phase, which AutoProfiler (pytscope-torch) records"
"""What to record where nothing tells a phase that is absent from one that nobody looked for."""


@attrs.frozen(eq=False, kw_only=True)
class Interruption:
    """One interrupting phase of one rank.

    Columns have one row for every rated step that has the phase.

    Attributes:
        rank: The rank.
        steps: Number of those steps.
        total_ns: The phase's sum over them.
        longest_ns: The longest single segment in those of them that have most of it.
        before_ns: What of it lies in startup and in warm-up steps.
        step: Their global numbers.
        each: Nanoseconds of the phase.
        place: Steps that their attempt had completed before them.
        evaluation: Which evaluation of the attempt they hold, from 1; 0 for none.
    """

    rank: int
    steps: int
    total_ns: int
    longest_ns: int
    before_ns: int
    step: Column = attrs.field(repr=False)
    each: Column = attrs.field(repr=False)
    place: Column = attrs.field(repr=False)
    evaluation: Column = attrs.field(repr=False)


@attrs.frozen
class NewSizes:
    """How compilations go together with batch sizes that had not come before.

    Attributes:
        name: The logged count, `tokens` or `samples`.
        compiling: Part of the compiling steps whose count no earlier step had.
        others: The same of the other rated steps.
    """

    name: str
    compiling: float
    others: float


def _few_ranks(ranks: tuple[Interruption, ...]) -> tuple[Interruption, ...]:
    return few(ranks, lambda one: (one.total_ns, one.rank))


@attrs.frozen(eq=False, kw_only=True)
class Interruptions:
    """What interrupts training: garbage collections and compilations, and who looked for them.

    Attributes:
        rank: The shown rank.
        world: Ranks of the job, as far as they are known.
        watched: Phases that instrumentation looked for by itself in every attempt of
            the shown rank: one that is watched and absent did not happen. None where
            the recorder had no instrumentation.
        accelerator: Kind of the device, such as `cuda`; empty where instrumentation
            saw none, None where nothing tells.
        sync: Whether every stamp waited for the device; None where nothing tells.
        gc: Garbage collections, of every rank that has any; of more than 64, JSON
            holds those of the least, the median and the greatest sum.
        compile: Compilations of the shown rank.
        new_sizes: How those go together with new batch sizes; None where the steps
            logged neither `tokens` nor `samples`, or nothing was compiled in them.
    """

    rank: int
    world: int
    watched: tuple[str, ...] | None
    accelerator: str | None
    sync: bool | None
    gc: tuple[Interruption, ...] = attrs.field(metadata={SHORTENED: _few_ranks})
    compile: Interruption
    new_sizes: NewSizes | None = None

    def watches(self, phase: str) -> bool:
        """Whether the absence of a phase means that it did not happen."""
        return self.watched is not None and phase in self.watched
