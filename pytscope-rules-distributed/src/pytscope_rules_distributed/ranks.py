"""`Ranks`: the ranks of a run beside each other, step by step."""

from __future__ import annotations

import functools

import attrs
import numpy as np

from pytscope.analyses import Column
from pytscope.analyses.few import few
from pytscope.analyses.units import count
from pytscope.model.jsonable import SHORTENED
from pytscope.runs.run import Bools, Floats, Ints
from pytscope_rules_distributed.topology import Place, Ranked


@attrs.frozen
class LeftOut:
    """A rank that cannot be compared.

    Attributes:
        rank: The rank.
        steps: Steps of it that could be.
        why: Why it is left out, as a clause.
    """

    rank: int
    steps: int
    why: str


@attrs.frozen
class Clock:
    """One rank's time of day beside that of its cohort, at the moments that let all go.

    Attributes:
        rank: The rank.
        offset_ns: How far it is ahead, median.
        residual_ns: Robust standard deviation about that.
    """

    rank: int
    offset_ns: int
    residual_ns: int


def _few_clocks(clocks: tuple[Clock, ...]) -> tuple[Clock, ...]:
    return few(clocks, lambda clock: (clock.residual_ns, clock.rank))


def _few_places(found: tuple[Place, ...]) -> tuple[Place, ...]:
    return few(found, lambda place: (place.rank,))


@attrs.frozen(eq=False, kw_only=True, slots=False)
class Ranks:
    """Ranks aligned by global step: a row a rank, a column a step that all of them have.

    Attributes:
        ranks: Ranks compared, ascending.
        missing: Ranks of the job without records.
        left_out: Ranks with records that cannot be compared.
        places: What part of the work each compared rank does.
        told: Whether the topology was recorded; if not, all ranks count as replicas.
        cohorts: Ranks of one stage and role, which do the same work.
        hosts: Ranks of one host, where hosts are known.
        steps: Number of steps compared.
        first_step: Number of the first one.
        last_step: Number of the last one.
        steady_steps: Those of them in which no rank evaluated, saved or compiled.
        attempts: Attempts that the steps are of.
        segments: Whether collectives were read from `comm` segments.
        wall_ns: Time the steps took: the sum of each one's longest wall.
        tick_ns: What all own times are multiples of, one millisecond at most.
        clocks: The ranks' times of day against each other.
        step: Numbers of the steps.
        rows: Of every rank and step, the row in the rank's timeline.
        own_ns: Own time of every rank in every step.
        last_ns: Time in the step's last collective.
        blocked_ns: Time in the collectives before it.
        longest_ns: Longest wall of every step.
        steady: Which steps are steady.
        load: Tokens, or else samples, of every rank in every step; None without.
        load_name: `tokens`, `samples` or an empty string.
    """

    ranks: tuple[int, ...]
    missing: tuple[int, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    places: tuple[Place, ...] = attrs.field(metadata={SHORTENED: _few_places})
    told: bool = False
    cohorts: tuple[Ranked, ...] = ()
    hosts: tuple[Ranked, ...] = ()
    steps: int
    first_step: int
    last_step: int
    steady_steps: int
    attempts: tuple[int, ...] = (0,)
    segments: bool = False
    wall_ns: int
    tick_ns: int = 1
    clocks: tuple[Clock, ...] = attrs.field(default=(), metadata={SHORTENED: _few_clocks})
    step: Column
    rows: Column
    own_ns: Column
    last_ns: Column
    blocked_ns: Column
    longest_ns: Column
    steady: Column
    load: Column | None = None
    load_name: str = ""

    @property
    def two(self) -> bool:
        """Whether no cohort has more than two ranks, so that a difference has no culprit."""
        return max(len(cohort.ranks) for cohort in self.cohorts) <= 2  # noqa: PLR2004  # two

    def index(self, ranks: tuple[int, ...]) -> Ints:
        """Rows of some ranks in the matrices; ranks that are not compared are passed over."""
        asked = np.asarray(ranks, np.int64)
        found = np.minimum(np.searchsorted(self._numbers, asked), len(self._numbers) - 1)
        return np.asarray(found[self._numbers[found] == asked])

    @functools.cached_property
    def _numbers(self) -> Ints:
        return np.array(self.ranks, np.int64)

    @property
    def own(self) -> Ints:
        """Own time, nanoseconds, a row a rank."""
        values: Ints = self.own_ns.values
        return values

    @property
    def steady_mask(self) -> Bools:
        """Which steps are steady."""
        mask: Bools = self.steady.values
        return mask

    @property
    def loads(self) -> Floats | None:
        """Tokens or samples, a row a rank; None without."""
        return None if self.load is None else np.asarray(self.load.values, np.float64)

    def said(self) -> str:
        """What is compared, as a clause: ranks, steps, and what is missing."""
        known = len(self.ranks) + len(self.missing) + len(self.left_out)
        ranks = f"{len(self.ranks):,} of {count(known, 'rank')}"
        if known == len(self.ranks):
            ranks = "both ranks" if known == 2 else f"all {known:,} ranks"  # noqa: PLR2004  # two
        return f"{ranks} over {count(self.steps, 'step')}"
