"""DIST.LOAD_IMBALANCE."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import attrs

from pytscope.analyses import Budget
from pytscope.analyses.units import duration, percent, ranks_named
from pytscope.model.findings import Confidence, Cost, Evidence, Finding
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds
from pytscope_rules_distributed.rules.recoverable import recoverable
from pytscope_rules_distributed.rules.severities import severity_of
from pytscope_rules_distributed.series import SURE
from pytscope_rules_distributed.stages import Stages
from pytscope_rules_distributed.stragglers import Stragglers

EXPLAINED = 0.5
"""Part of the waiting that has to go with the load."""
SPREAD = 0.10
"""Typical difference of a rank from its peers in a step that is more than noise of devices."""
ONE_OFFS = 0.5
"""Part of the waiting that single steps may make up."""
GUESSED_SHARE = 0.08


@rule("DIST.LOAD_IMBALANCE", since="0.3.0")
def load_imbalance(
    stragglers: Stragglers,
    stages: Stages | None,
    budget: Budget | None = None,
    *,
    min_share: Annotated[float, Bounds(gt=0, lt=1)] = 0.02,
) -> Iterator[Finding]:
    """The work is divided unevenly: some ranks, or pipeline stages, have more to do.

    Detects:
        Ranks that are slow because they get more tokens or samples; batches whose size
        differs from rank to rank, so that each step has another slowest rank; pipeline
        stages that take longer than the others.

    Why it matters:
        All ranks wait for the one with the most to do, exactly as for a slow device, but
        swapping the device changes nothing: the division of the work does.

    How it decides:
        (a) A rank that DIST.STRAGGLER's test finds slow, but not once ln(own time) is
        corrected by the load: power x ln(load / median load of the peers); a third of its
        slowdown may be left. Load is the logged tokens, else samples, unless they are alike
        on all ranks and yet vary: sums over ranks tell nothing. The power comes from the
        ranks' own steps by least squares, between 0 and 2. Where each rank always has the
        same load it is 1, and suggestive what only 2 accounts for. (b) Where that
        correction takes away at least half of sum(max - median) of own times; with (a) they
        are one finding. (c) Without a logged load: when ranks
        typically differ by at least 10 % in a step, no rank is slow all the time, single
        steps make up less than half, and sum(max - median) is at least 0.08 of the steps'
        time; suggestive. (d) A pipeline stage whose median rank takes at least 10 % longer
        than the other stages' median, by the same test as ranks. At least 20 steps.
        Finding when it costs at least min_share of the steps' time. cost_s: (a) what having
        those ranks like their peers saves, (b) the part of sum(max - median) that goes with
        the load, (c) all of it, (d) sum(max - mean) over stages. Severity by cost over the
        steps' time: high from 0.20, medium from 0.08, low from 0.02; low at most below
        10 ms. It accounts for EFFICIENCY.RECOVERABLE where `straggler_wait` is the largest
        line of that.
        False-positive rate: at most 1 % (95 % upper bound) in 300 runs each of 2, 4, 8, 64
        and 1,024 ranks and of 60, 300 and 1,000 steps, of noise of 3 %, independent and
        AR(1) up to rho 0.9. `python bench/rates_distributed.py` prints every family.

    Fix:
        Batches of equal tokens: sort or bucket by length, pack sequences, balance the sum
        of squared lengths where attention dominates. Stages: move layers from the slow
        stage to others; embedding and loss count as layers.

    Limits:
        (c) is a guess: shared machines differ from step to step as well. Loads that are
        not logged cannot be told from slow devices: log(tokens=...) on each rank.

    References:
        Lin et al., "Understanding Stragglers in Large Model Training Using What-if
        Analysis" (2025), on sequence lengths and stage partitions.
    """
    explains = recoverable(budget, "straggler_wait")
    loaded = list(_loaded(stragglers, min_share, explains))
    differ = list(_uneven_batches(stragglers, min_share, explains))
    if loaded and differ:
        yield _together(loaded[0], differ[0], stragglers.wall_ns)
    else:
        yield from (*loaded, *differ)
    if stages is not None:
        yield from _uneven_stages(stages, min_share, explains)


def _together(loaded: Finding, differ: Finding, wall_ns: int) -> Finding:
    """One finding of ranks that have more to do, and of batches that differ beyond that."""
    cost = sum(one.cost_s.value for one in (loaded, differ) if one.cost_s is not None)
    share = percent(cost * 1e9 / max(wall_ns, 1))
    return attrs.evolve(
        differ,
        severity=severity_of(cost * 1e9, wall_ns),
        title=f"Batches differ between ranks: {share} of step time is lost",
        detail=f"{differ.detail} {loaded.title}. {loaded.detail}",
        cost_s=Cost(cost),
        evidence=(*differ.evidence, *loaded.evidence),
        ranks=loaded.ranks,
    )


def _loaded(
    stragglers: Stragglers, min_share: float, explains: tuple[str, ...]
) -> Iterator[Finding]:
    loaded = [one for one in stragglers.slow if one.loaded]
    cost = stragglers.saving_loaded
    if not loaded or cost is None or cost.value * 1e9 < min_share * stragglers.wall_ns:
        return
    ranks = tuple(sorted(one.rank for one in loaded))
    sure = all(one.confirmed for one in loaded)
    up_to = "up to " if len(loaded) > 1 else ""
    yield Finding(
        severity=severity_of(cost.value * 1e9, stragglers.wall_ns),
        confidence=Confidence.CONFIRMED if sure else Confidence.SUGGESTIVE,
        title=f"{ranks_named(ranks).capitalize()} have more to do than the others"
        if len(ranks) > 1
        else f"Rank {ranks[0]} has more to do than the others",
        detail=(
            f"Own time is {up_to}{percent(loaded[0].effect.slowdown)} longer than that of the "
            f"peers, and more {stragglers.load_name} account for that: {_how(stragglers)}."
        ),
        cost_s=cost,
        evidence=[
            Evidence(
                "slower than peers", round(one.effect.slowdown * 100, 2), "%", rank=one.effect.rank
            )
            for one in loaded[:8]
        ],
        fix=f"Divide the work by {stragglers.load_name}, not by items: bucket by length, or pack.",
        verify="record the run again: own times in RANKS are alike",
        ranks=ranks,
        explains=explains,
    )


def _how(stragglers: Stragglers) -> str:
    """How time grows with the load, and whether that was seen."""
    if any(one.loaded and not one.confirmed for one in stragglers.slow) and stragglers.load_assumed:
        return "each rank's are always the same, and time may grow with up to their square"
    if stragglers.load_assumed:
        return "each rank's are always the same, so time is taken as proportional to them"
    return f"time grows with their power {stragglers.load_power:.1f}"


def _uneven_batches(
    stragglers: Stragglers, min_share: float, explains: tuple[str, ...]
) -> Iterator[Finding]:
    wall, held = stragglers.wall_ns, stragglers.held_up_ns
    known = stragglers.load_explains >= EXPLAINED
    already = stragglers.saving_loaded.value * 1e9 if stragglers.saving_loaded else 0.0
    cost = held * stragglers.load_explains - already if known else held
    if known:
        if cost < min_share * wall:
            return
    elif not _guessed(stragglers, min_share):
        return
    why = (
        f"{percent(stragglers.load_explains)} of it goes with the {stragglers.load_name} of each "
        f"rank's batch."
        if known
        else "No load is logged that would say why, and no rank is slow all the time."
    )
    yield Finding(
        severity=severity_of(cost, wall),
        confidence=Confidence.CONFIRMED if known else Confidence.SUGGESTIVE,
        title=f"Batches differ between ranks: {percent(cost / max(wall, 1))} of step time is lost"
        if known
        else f"Ranks differ from step to step: {percent(cost / max(wall, 1))} of step time is "
        "waiting for the slowest",
        detail=(
            f"The slowest rank of a step takes {duration(held / max(stragglers.ranks.steps, 1))} "
            f"longer than {stragglers.usual} one, on average. {why}"
        ),
        cost_s=cost / 1e9,
        evidence=[
            Evidence(f"slowest rank beyond {stragglers.usual}, all steps", held / 1e9, "s"),
            Evidence("typical difference from peers", round(stragglers.spread * 100, 1), "%"),
        ],
        fix=(
            "Give each rank the same number of tokens a step: sort or bucket by length across "
            "ranks, or pack sequences; log(tokens=...) on each rank shows whether it helps."
        ),
        verify=f"record the run again: the slowest rank is closer to {stragglers.usual} in RANKS",
        explains=explains,
    )


def _guessed(stragglers: Stragglers, min_share: float) -> bool:
    """Whether ranks differ from step to step as they do with uneven batches."""
    held = stragglers.held_up_ns
    return (
        not stragglers.load_name
        and not stragglers.slow
        and stragglers.spread >= SPREAD
        and stragglers.paused_ns < ONE_OFFS * held
        and held >= max(GUESSED_SHARE, min_share) * stragglers.wall_ns
    )


def _uneven_stages(
    stages: Stages, min_share: float, explains: tuple[str, ...]
) -> Iterator[Finding]:
    slow = sorted(stages.slow, key=lambda stage: (-stage.longer, stage.ranks))
    if not slow or stages.uneven_ns < min_share * stages.wall_ns:
        return
    worst = slow[0]
    several = len(stages.stages) > 2  # noqa: PLR2004  # of two, the other one
    other = "the median of the other stages" if several else "the other one"
    yield Finding(
        severity=severity_of(stages.uneven_ns, stages.wall_ns),
        confidence=Confidence.CONFIRMED if worst.size >= SURE else Confidence.SUGGESTIVE,
        title=f"{worst.name.capitalize()} takes {1 + worst.longer:.2f} times {other}",
        detail=(
            f"A step's median own time is {duration(worst.own_ns)} there. An even split would save "
            f"{percent(stages.uneven_ns / max(stages.wall_ns, 1))} of step time."
        ),
        cost_s=stages.uneven_ns / 1e9,
        evidence=[
            Evidence(f"own time of {stage.name}", stage.own_ns / 1e6, "ms")
            for stage in stages.stages[:8]
        ],
        fix=f"Move layers from {worst.name} to the others; embedding and loss count as layers.",
        verify="record the run again: own times of the stages are within 10 %",
        ranks=worst.ranks,
        explains=explains,
    )
