"""DIST.SLOW_LINK."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

from pytscope.analyses.units import duration, percent, ranks_named
from pytscope.model.errors import Inconclusive
from pytscope.model.findings import Confidence, Evidence, Finding
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds
from pytscope_rules_distributed.exchange import Exchange
from pytscope_rules_distributed.links import SlowGroup, slow_groups
from pytscope_rules_distributed.rules.severities import severity_of
from pytscope_rules_distributed.series import FEW

MOST = 4


@rule("DIST.SLOW_LINK", since="0.3.0")
def slow_link(
    exchange: Exchange,
    *,
    min_ratio: Annotated[float, Bounds(ge=1.2)] = 1.5,
    min_share: Annotated[float, Bounds(gt=0, lt=1)] = 0.02,
) -> Iterator[Finding]:
    """The transfers of some process group take longer than those of its like, or than before.

    Detects:
        A group of ranks whose exchange is slow while its ranks are not: beside groups that
        do the same, or, where there is one group, beside its own other steps.

    Why it matters:
        A degraded cable, a network card in a lower mode or a congested switch slows every
        collective that passes it. It looks like waiting, and replacing devices does not help.

    How it decides:
        On the transfer: of a group's ranks, what the one that is blocked least is blocked
        for, so that lateness of ranks is not in it. Of three groups of a kind or more,
        ln(transfer / median of the other groups) is tested as DIST.STRAGGLER tests own
        times, with at least 20 steps; of a single group ln(transfer / its median), for a
        stretch of at most 80 % of the steps. Slow from min_ratio on, with false discoveries
        held at 0.002. Finding when the excess over the reference is at least min_share of
        the steps' time. cost_s = that excess, of the costliest group: groups of a kind work
        at the same time. Severity by cost over the steps' time: high from 0.20, medium from
        0.08, low from 0.02; low at most below 10 ms. Confirmed from 15 independent values
        on, else suggestive; suggestive as well when ranks of the job are not compared, for
        waiting for one of them looks like transfer. False-positive rate: at most 1 % (95 %
        upper bound) in 300 runs each of 1, 4, 8 and 64 groups and of 60, 300 and 1,000
        steps, of transfers that vary by 10 % and 30 %, independent and AR(1) up to rho 0.9;
        `python bench/rates_distributed.py` prints them.

    Fix:
        Test the links between the ranks named: bandwidth between pairs, link width and
        speed of the network cards, error counters, the interface that the library chose,
        other traffic.

    Limits:
        Of two groups nothing tells which is odd, and of one that is slow from the first
        step to the last nothing at all. A ring is as slow as its slowest link: the group
        is named, not the link.

    References:
        Wu et al., "FALCON: Pinpointing and Mitigating Stragglers for Large-Scale
        Hybrid-Parallel Training" (2024).
    """
    if exchange.steps < FEW:
        msg = f"{FEW} steps that all ranks have are needed, there are {exchange.steps}"
        raise Inconclusive(msg)
    least = min_share * exchange.wall_ns
    slow = [g for g in slow_groups(exchange, math.log(min_ratio)) if g.excess_ns >= least]
    if slow:
        yield _finding(exchange, sorted(slow, key=lambda g: (-g.excess_ns, g.group.ranks)))


def _finding(exchange: Exchange, slow: list[SlowGroup]) -> Finding:
    worst = slow[0]
    named = slow[:MOST]
    return Finding(
        severity=severity_of(worst.excess_ns, exchange.wall_ns),
        confidence=Confidence.CONFIRMED
        if worst.sure and not exchange.unseen
        else Confidence.SUGGESTIVE,
        title=_title(worst),
        detail=" ".join(_said(exchange, group) for group in named),
        cost_s=worst.excess_ns / 1e9,
        evidence=[
            Evidence(f"transfer of {g.group.name}, times usual", round(g.times, 2)) for g in named
        ],
        fix=(
            f"Test the links between {ranks_named(worst.group.ranks)}: bandwidth between pairs, "
            "speed and width of the network cards, error counters, the interface in use."
        ),
        verify="record the run again: the group's transfers are like those of the others",
        steps=[(worst.first_step, worst.last_step)],
        ranks=() if worst.before else worst.group.ranks,
        explains=("DIST.COMM_BOUND",),
    )


def _title(worst: SlowGroup) -> str:
    if worst.before:
        return f"Transfers became {worst.times:.1f} times as long from step {worst.first_step} on"
    return f"Transfers in the {worst.group.name} take {worst.times:.1f} times what others take"


def _said(exchange: Exchange, group: SlowGroup) -> str:
    share = percent(group.excess_ns / max(exchange.wall_ns, 1))
    other = "its other steps" if group.before else "the median of the other groups"
    return (
        f"From step {group.first_step} to {group.last_step}, {group.group.name} took "
        f"{group.times:.1f} times {other}: {duration(group.excess_ns)} in all, {share} of "
        "step time."
    )
