"""`Exchange`: what ranks spend in their collectives, waiting for others or transferring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from pytscope.analyses import Column
from pytscope.analyses.few import few
from pytscope.analyses.units import duration, percent, ranks_named
from pytscope.model.jsonable import SHORTENED
from pytscope.model.panels import Meter, Panel, Row, Status, Text
from pytscope_rules_distributed.topology import Ranked

WATCHED = 0.08
"""Share of a step's time from which the panel says `watch`."""
BAD = 0.20


@attrs.frozen
class RankExchange:
    """One rank's time in collectives, over the steps compared.

    Attributes:
        rank: The rank.
        wait_ns: Waiting for other ranks: beyond what the first one out took.
        transfer_ns: The rest: what the exchange takes when all are there.
        comm_ns: Of both, what its timeline calls `comm`.
        compute_ns: Of both, what lies in its forward, backward, loss and optimizer.
        other_ns: Of both, what lies in its unnamed time.
    """

    rank: int
    wait_ns: int
    transfer_ns: int
    comm_ns: int
    compute_ns: int
    other_ns: int


@attrs.frozen(eq=False)
class GroupKind:
    """Process groups along one dimension, beside each other.

    Attributes:
        name: The dimension.
        groups: The groups.
        transfer_ns: Time of each group's transfers in every step compared: that of the
            rank of it which was blocked least.
    """

    name: str
    groups: tuple[Ranked, ...]
    transfer_ns: Column


def _few_moved(by_rank: Mapping[int, int]) -> Mapping[int, int]:
    return dict(few(by_rank.items(), lambda item: (item[1], item[0])))


@attrs.frozen
class Move:
    """Time in collectives that a line of the budget holds and another one is for.

    Attributes:
        take_from: Line that holds it.
        give_to: Line that it belongs to.
        by_rank: Nanoseconds by rank.
    """

    take_from: str
    give_to: str
    by_rank: Mapping[int, int] = attrs.field(metadata={SHORTENED: _few_moved})


def _few_ranks(ranks: tuple[RankExchange, ...]) -> tuple[RankExchange, ...]:
    return few(ranks, lambda one: (one.wait_ns, one.rank))


@attrs.frozen(eq=False, kw_only=True)
class Exchange:
    """Waiting and transfer of every rank compared.

    Attributes:
        shown_rank: Rank that the panel shows: the run's shown one, if it is compared.
        shown: Its exchange.
        ranks: Every rank's.
        steps: Steps compared.
        wall_ns: Time they took; what shares are of.
        transfer_ns: Transfer that the steps cannot be shorter by: the mean over ranks.
        least_ns: That of the ranks with the least, step by step, of several stages or roles:
            the others may wait for these, which looks the same.
        wait_ns: Waiting, mean over ranks.
        unseen: Ranks of the job that are not compared: waiting for one of them counts as
            transfer.
        kinds: Process groups by dimension, where their time was recorded; else the
            cohorts' own exchange.
        moves: What the budget moves between its lines.
        step: Numbers of the steps compared.
    """

    shown_rank: int
    shown: RankExchange
    ranks: tuple[RankExchange, ...] = attrs.field(metadata={SHORTENED: _few_ranks})
    steps: int
    wall_ns: int
    transfer_ns: int
    least_ns: int
    wait_ns: int
    unseen: tuple[int, ...] = ()
    kinds: tuple[GroupKind, ...] = ()
    moves: tuple[Move, ...] = ()
    step: Column

    @property
    def transfer_share(self) -> float:
        """Transfer as a part of the steps' time."""
        return self.transfer_ns / self.wall_ns if self.wall_ns else 0.0

    @property
    def wait_share(self) -> float:
        """Waiting as a part of the steps' time."""
        return self.wait_ns / self.wall_ns if self.wall_ns else 0.0

    def panel(self) -> Panel:
        """The EXCHANGE panel."""
        headline = (
            f"{percent(self.transfer_share)} of step time in transfer, "
            f"{percent(self.wait_share)} waiting for other ranks"
        )
        return Panel("exchange", "EXCHANGE", headline, self._status(), self._rows(), order=36)

    def _status(self) -> Status:
        worst = max(self.transfer_share, self.wait_share)
        if worst >= BAD:
            return Status.BAD
        return Status.WATCH if worst >= WATCHED else Status.OK

    def _rows(self) -> Iterator[Row]:
        for name, ns in (("transfer", self.transfer_ns), ("waiting", self.wait_ns)):
            share = ns / self.wall_ns if self.wall_ns else 0.0
            yield Meter(name, share, duration(ns), "mean over ranks")
        least, most = (f(self.ranks, key=lambda one: one.wait_ns) for f in (min, max))
        if most.wait_ns > least.wait_ns:
            yield Text(
                f"rank {least.rank} waits least, {duration(least.wait_ns)}; rank {most.rank} "
                f"most, {duration(most.wait_ns)}"
            )
        if self.unseen:
            verb, them = ("is", "it") if len(self.unseen) == 1 else ("are", "them")
            yield Text(
                f"{ranks_named(self.unseen)} {verb} not compared: waiting for {them} counts as "
                "transfer"
            )
