"""DIST.COMM_BOUND."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pytscope.analyses import Budget
from pytscope.analyses.units import count, duration, percent, ranks_named
from pytscope.model.errors import Inconclusive
from pytscope.model.findings import Confidence, Evidence, Finding, Severity
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds
from pytscope_rules_distributed.exchange import Exchange
from pytscope_rules_distributed.ranks import Ranks
from pytscope_rules_distributed.rules.recoverable import recoverable
from pytscope_rules_distributed.rules.severities import severity_of
from pytscope_rules_distributed.series import FEW
from pytscope_rules_distributed.topology import crowded

FIX = (
    "Synchronise in the last micro-batch only (no_sync), exchange bf16 gradients, enlarge "
    "the buckets; then see that the ranks use the fastest network interface there is."
)
SHARED_FIX = (
    "Give each rank a processor of its own, fewer ranks a host, and look again; what is left "
    "then is transfer, and smaller with no_sync(), bf16 gradients and larger buckets."
)


@rule("DIST.COMM_BOUND", since="0.3.0")
def comm_bound(
    exchange: Exchange,
    ranks: Ranks,
    budget: Budget | None = None,
    *,
    min_share: Annotated[float, Bounds(gt=0, lt=1)] = 0.10,
) -> Iterator[Finding]:
    """Ranks spend a notable part of each step transferring data, with nothing beside it.

    Detects:
        Transfer between ranks that compute does not hide, without the waiting for slow
        ranks, which looks the same to each rank by itself.

    Why it matters:
        Devices idle while gradients or parameters travel. More ranks make it worse, not
        better, and a faster device gains nothing.

    How it decides:
        In each collective the rank that is blocked least came last and waited for nobody:
        what it is blocked is the transfer, step by step and within the ranks that do the
        same work; the last collective of a step and the rest of them apart. What others
        are blocked beyond that is waiting (DIST.STRAGGLER). Of several pipeline stages or
        roles that with the least counts, since the others may wait for it; inconclusive
        when only those others pass. Finding when transfer / the steps' time >= min_share,
        with at least 20 steps. cost_s = the transfer, mean over ranks: the counterfactual
        hides all of it behind compute. Severity by cost over the steps' time: high from
        0.20, medium from 0.08, low from 0.02; low at most below 10 ms. Suggestive when
        ranks of the job are not compared, for waiting for one of them looks the same. Low
        at most, and suggestive, where a host runs more ranks than it has processors, for
        then an exchange also waits for one of those. It accounts for
        EFFICIENCY.RECOVERABLE where `communication` is the largest line of that. A sum of
        measured times, no noise: the false-positive rate is zero.

    Fix:
        Hide it: no_sync() in all but the last micro-batch, larger buckets or
        gradient_as_bucket_view, prefetching in FSDP. Shrink it: bf16 or compressed
        gradients, fewer synchronisations, sharding within a node only. Speed it up: the
        network interface in use, its topology, NCCL's settings.

    Limits:
        An upper bound: exchange that is part of any step is counted too. If every rank
        comes late to some collective of a step, part of the waiting counts as transfer.
        Collectives that run beside compute are, rightly, not in it.

    References:
        Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel
        Training" (2020).
    """
    if exchange.steps < FEW:
        msg = f"{FEW} steps that all ranks have are needed, there are {exchange.steps}"
        raise Inconclusive(msg)
    if exchange.transfer_share < min_share:
        return
    transfer = exchange.least_ns if len(ranks.cohorts) > 1 else exchange.transfer_ns
    share = transfer / max(exchange.wall_ns, 1)
    if share < min_share:
        need = (
            f"{percent(exchange.transfer_share)} of step time is exchange, of which stages or "
            "roles may wait for each other; that cannot be told from transfer"
        )
        raise Inconclusive(need)
    a_step = transfer / exchange.steps
    severity = severity_of(transfer, exchange.wall_ns)
    shared = _shared(ranks)
    unsure = bool(shared or exchange.unseen)
    yield Finding(
        severity=max(severity, Severity.LOW, key=lambda s: s.order) if shared else severity,
        confidence=Confidence.SUGGESTIVE if unsure else Confidence.CONFIRMED,
        title=f"{percent(share)} of step time is transfer between ranks",
        detail=(
            f"That is {duration(a_step)} a step which no compute hides, whichever rank comes "
            f"last.{_waiting(exchange)}{_unseen(exchange)}{shared}"
        ),
        cost_s=transfer / 1e9,
        evidence=[
            Evidence("transfer a step", a_step / 1e6, "ms"),
            Evidence("waiting a step", exchange.wait_ns / exchange.steps / 1e6, "ms"),
            Evidence("steps", exchange.steps, "steps"),
        ],
        fix=SHARED_FIX if shared else FIX,
        verify="record the run again: transfer in EXCHANGE is a smaller part",
        steps=[(int(exchange.step.values[0]), int(exchange.step.values[-1]))],
        explains=recoverable(budget, "communication"),
    )


def _waiting(exchange: Exchange) -> str:
    """A sentence on waiting; empty without."""
    if not exchange.wait_ns:
        return ""
    return f" Another {percent(exchange.wait_share)} of step time is waiting for other ranks."


def _unseen(exchange: Exchange) -> str:
    """A sentence on ranks that are not compared; empty without."""
    if not exchange.unseen:
        return ""
    verb, one = ("is", "it") if len(exchange.unseen) == 1 else ("are", "one of them")
    who = ranks_named(exchange.unseen).capitalize()
    return f" {who} {verb} not compared: part of it may be waiting for {one}."


def _shared(ranks: Ranks) -> str:
    """A sentence on hosts with fewer processors than ranks; empty without."""
    hosts = crowded(ranks.places)
    if not hosts:
        return ""
    first = hosts[0]
    cpus = min(p.cpus for p in ranks.places if p.rank in first.ranks and p.cpus is not None)
    others = f", and {count(len(hosts) - 1, 'host')} alike" if len(hosts) > 1 else ""
    return (
        f" On {first.name} {count(len(first.ranks), 'rank')} share {count(cpus, 'processor')}"
        f"{others}: part of it may be waiting for one."
    )
