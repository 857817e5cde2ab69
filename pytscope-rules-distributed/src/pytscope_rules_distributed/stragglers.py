"""`Stragglers`: which ranks the others wait for, since when, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from pytscope.analyses import Column
from pytscope.analyses.few import MOST_RANKS, few
from pytscope.analyses.units import count, duration, percent, ranks_named
from pytscope.model.findings import Cost
from pytscope.model.jsonable import SHORTENED
from pytscope.model.panels import Panel, Row, Status, Table, Text
from pytscope_rules_distributed.nodes import SlowNode
from pytscope_rules_distributed.pauses import MOST_SPIKES, Pauses
from pytscope_rules_distributed.ranks import Ranks

MOST_ROWS = 16


@attrs.frozen
class RankEffect:
    """One rank beside its peers.

    Attributes:
        rank: The rank.
        host: Its host, or an empty string.
        cohort: What its cohort is called, or an empty string.
        own_ns: Own time a step, median.
        slowdown: Part by which it takes longer than its peers; below zero for a fast rank.
        low: Lower end of its 95 % interval.
        high: Upper end of it.
        size: Independent values behind it.
        chance: False-discovery rate at which it is slow.
        owed_ns: Time that all waited for it, of what all waited for the slowest.
    """

    rank: int
    host: str
    cohort: str
    own_ns: int
    slowdown: float
    low: float
    high: float
    size: float
    chance: float
    owed_ns: int


@attrs.frozen
class Straggler:
    """A rank that is slow.

    Attributes:
        effect: It beside its peers.
        persistent: Whether it is slow nearly all the time; else in an episode, or in several.
        likely: Part of the time in which it is slow: of windows where it nearly always is,
            else of steps.
        onset_step: Step at which it began, or None when it was so from the beginning.
        last_step: Last step of it, or None when it was so at the end.
        episodes: First and last step of every stretch in which it is slow.
        confirmed: Whether enough independent values of more than two ranks say so.
        loaded: Whether it is so because it has more to do.
        for_load: Whether `effect` is what is left when what it has to do is counted.
        phase: Phase in which most of it lies, or an empty string.
        phase_part: Part of it that lies there.
        excess_ns: What it takes longer a step, mean of the steps in which it is slow.
    """

    effect: RankEffect
    persistent: bool
    likely: float
    onset_step: int | None
    last_step: int | None
    episodes: tuple[tuple[int, int], ...]
    confirmed: bool
    loaded: bool
    for_load: bool
    phase: str
    phase_part: float
    excess_ns: int

    @property
    def rank(self) -> int:
        """Its rank."""
        return self.effect.rank


def _few_effects(effects: tuple[RankEffect, ...]) -> tuple[RankEffect, ...]:
    return few(effects, lambda one: (one.slowdown, one.rank))


def _few_stragglers(found: tuple[Straggler, ...]) -> tuple[Straggler, ...]:
    return found[:MOST_RANKS]


@attrs.frozen(eq=False, kw_only=True)
class Stragglers:
    """The ranks compared, and those that are slow.

    Attributes:
        ranks: What was compared.
        effects: Every rank that has peers, beside them.
        slow: The slow ones, slowest first.
        nodes: Hosts that are slow as a whole.
        pauses: Single steps of ranks that are not slow, or None without.
        wall_ns: Time the steps took; what shares are of.
        held_up_ns: What the slowest rank of each step took longer than the median, of two
            ranks than the other, summed over steps, of the cohort where that is most.
        owed_ns: That of each cohort's, split among its ranks; sums to the cohorts' exactly.
        saving: What it would save to have all slow ranks like their peers, seconds.
        saving_loaded: The same of those alone that have more to do.
        saving_own: The same of the others.
        two: Whether there are two ranks to compare: which one is odd cannot be told.
        visible: Smallest slowdown that would have been seen.
        load_name: What the ranks' loads are counted in, or an empty string.
        load_power: Power of the load that own time grows with; 0 when all have the same.
        load_assumed: Whether that power is an assumption: each rank's load is always the same.
        load_explains: Part of `held_up_ns` that goes with the loads.
        spread: Typical difference of a rank from its peers in one step, as a part.
    """

    ranks: Ranks
    effects: tuple[RankEffect, ...] = attrs.field(metadata={SHORTENED: _few_effects})
    slow: tuple[Straggler, ...] = attrs.field(default=(), metadata={SHORTENED: _few_stragglers})
    nodes: tuple[SlowNode, ...] = ()
    pauses: Pauses | None = None
    wall_ns: int
    held_up_ns: int
    owed_ns: Column
    saving: Cost | None = None
    saving_loaded: Cost | None = None
    saving_own: Cost | None = None
    two: bool
    visible: float
    load_name: str = ""
    load_power: float = 0.0
    load_assumed: bool = False
    load_explains: float = 0.0
    spread: float = 0.0

    @property
    def culprits(self) -> tuple[Straggler, ...]:
        """Slow ranks that have no more to do than the others."""
        return tuple(one for one in self.slow if not one.loaded)

    def peers(self, rank: int) -> tuple[int, ...]:
        """The other ranks that do the same work as a rank."""
        cohort = next(c for c in self.ranks.cohorts if rank in c.ranks)
        return tuple(other for other in cohort.ranks if other != rank)

    @property
    def paused_ns(self) -> int:
        """What single steps of ranks that are not slow took longer."""
        return self.pauses.excess_ns if self.pauses else 0

    @property
    def usual(self) -> str:
        """What the slowest rank is held against."""
        return "the other" if self.two else "the median"

    @property
    def held_up_share(self) -> float:
        """Part of the steps' time that all wait for the slowest of them."""
        return self.held_up_ns / self.wall_ns if self.wall_ns else 0.0

    def panel(self) -> Panel:
        """The RANKS panel."""
        return Panel("ranks", "RANKS", self._headline(), self._status(), self._rows(), order=34)

    def _headline(self) -> str:
        waits = (
            f"{percent(self.held_up_share)} of step time is the slowest rank beyond {self.usual}"
        )
        if not self.slow:
            known = len(self.ranks.ranks)
            all_there = not self.ranks.missing and not self.ranks.left_out
            who = "no rank" if all_there else f"none of the {known:,} ranks compared"
            return f"{who} stands out · {waits}"
        if self.two:
            one = self.slow[0]
            (other,) = self.peers(one.rank)
            return f"rank {one.rank} takes {percent(one.effect.slowdown)} longer than {other}"
        named = tuple(sorted(one.rank for one in self.slow))
        return f"{ranks_named(named)} slow · {waits}"

    def _status(self) -> Status:
        if any(one.confirmed for one in self.culprits) and self.held_up_share >= 0.02:  # noqa: PLR2004  # no more than low
            return Status.BAD
        return Status.WATCH if self.slow or self.held_up_share >= 0.08 else Status.OK  # noqa: PLR2004  # medium

    def _rows(self) -> Iterator[Row]:
        yield Text(f"compared: {self.ranks.said()}; {self._alike()}")
        for one in self.ranks.left_out[:MOST_SPIKES]:
            yield Text(f"rank {one.rank} is left out: {one.why}")
        if self.ranks.missing:
            yield Text(f"no records of {ranks_named(self.ranks.missing)}")
        for unseen in sorted({text for place in self.ranks.places for text in place.unseen}):
            yield Text(f"not stamped, so inside own time: {unseen}")
        shown = sorted(self.effects, key=lambda e: (-e.slowdown, e.rank))[:MOST_ROWS]
        header = ("rank", "host", "own time", "beside peers", "95 % interval", "held others up")
        rows = sorted((self._row(effect) for effect in shown), key=lambda row: int(row[0]))
        yield Table(header, tuple(rows), right=(0, 2, 3, 4, 5))
        yield Text(
            "beside peers: how much longer own time is; held others up: a rank's part of the "
            f"steps' time that is the slowest rank beyond {self.usual}"
        )
        if len(self.effects) > MOST_ROWS:
            yield Text(f"the {MOST_ROWS} slowest of {len(self.effects):,} ranks are shown")
        if self.pauses is not None:
            worst = self.pauses.longest[0]
            yield Text(
                f"single steps that stand out: {duration(self.pauses.excess_ns)} in all, the "
                f"longest {duration(worst.excess_ns)} on rank {worst.rank} in step {worst.step}"
            )

    def _alike(self) -> str:
        if not self.ranks.told:
            return "no topology was recorded, all are taken to do the same work"
        if len(self.ranks.cohorts) == 1:
            return "all do the same work"
        return f"in {count(len(self.ranks.cohorts), 'cohort')} that do the same work each"

    def _row(self, effect: RankEffect) -> tuple[str, ...]:
        share = effect.owed_ns / self.wall_ns if self.wall_ns else 0.0
        interval = f"{_signed(effect.low)} to {_signed(effect.high)}%"
        beside = (f"{_signed(effect.slowdown)}%", interval)
        host = " · ".join(part for part in (effect.host, effect.cohort) if part) or "-"
        return (str(effect.rank), host, duration(effect.own_ns), *beside, percent(share))


def _signed(part: float) -> str:
    """A part in percent, with its sign; nothing has none below zero."""
    return f"{round(part * 100, 1) + 0.0:+.1f}"
