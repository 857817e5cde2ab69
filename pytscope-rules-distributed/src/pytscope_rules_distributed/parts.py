"""What the budget moves between its lines: waiting and transfer out of where they hid."""

from __future__ import annotations

from typing import TypeVar

import attrs

from pytscope.analyses import BudgetPart
from pytscope.analyses.units import count
from pytscope.plugins.declare import Analyzer, analyzer
from pytscope.runs.run import Run
from pytscope_rules_distributed.exchange import Exchange

WAIT = "straggler_wait"
TRANSFER = "communication"
P = TypeVar("P", bound=BudgetPart)


@attrs.frozen(eq=False, kw_only=True)
class WaitInComm(BudgetPart):
    """Waiting for other ranks that the timeline calls `comm`."""


@attrs.frozen(eq=False, kw_only=True)
class WaitInCompute(BudgetPart):
    """Waiting for other ranks inside forward, backward, loss or optimizer."""


@attrs.frozen(eq=False, kw_only=True)
class WaitInOther(BudgetPart):
    """Waiting for other ranks in time that no phase names."""


@attrs.frozen(eq=False, kw_only=True)
class TransferInCompute(BudgetPart):
    """Transfer that compute had to wait for."""


@attrs.frozen(eq=False, kw_only=True)
class TransferInOther(BudgetPart):
    """Transfer in time that no phase names."""


@analyzer("wait_in_comm")
def wait_in_comm(run: Run, exchange: Exchange) -> WaitInComm | None:
    """Waiting out of the exchange that has a phase."""
    return _part(WaitInComm, run, exchange, TRANSFER, WAIT)


@analyzer("wait_in_compute")
def wait_in_compute(run: Run, exchange: Exchange) -> WaitInCompute | None:
    """Waiting out of compute."""
    return _part(WaitInCompute, run, exchange, "compute", WAIT)


@analyzer("wait_in_other")
def wait_in_other(run: Run, exchange: Exchange) -> WaitInOther | None:
    """Waiting out of unnamed time."""
    return _part(WaitInOther, run, exchange, "other", WAIT)


@analyzer("transfer_in_compute")
def transfer_in_compute(run: Run, exchange: Exchange) -> TransferInCompute | None:
    """Transfer out of compute."""
    return _part(TransferInCompute, run, exchange, "compute", TRANSFER)


@analyzer("transfer_in_other")
def transfer_in_other(run: Run, exchange: Exchange) -> TransferInOther | None:
    """Transfer out of unnamed time."""
    return _part(TransferInOther, run, exchange, "other", TRANSFER)


def _part(kind: type[P], run: Run, exchange: Exchange, source: str, to: str) -> P | None:
    """The part that moves time from one line to another; None when there is none to move."""
    lines = (move for move in exchange.moves if (move.take_from, move.give_to) == (source, to))
    by_rank = next((move.by_rank for move in lines), None)
    if by_rank is None:
        return None
    what = "waits for other ranks" if to == WAIT else "transfers between ranks"
    why = f"{what}, in {count(exchange.steps, 'step')} that all ranks compared have"
    ns = by_rank.get(run.shown.rank, 0)
    return kind(take_from=source, give_to=to, ns=ns, why=why, by_rank=by_rank)


PARTS: tuple[Analyzer, ...] = (
    wait_in_comm,
    wait_in_compute,
    wait_in_other,
    transfer_in_compute,
    transfer_in_other,
)
