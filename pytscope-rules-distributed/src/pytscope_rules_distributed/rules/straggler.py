"""DIST.STRAGGLER."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import attrs

from pytscope.analyses import Budget
from pytscope.analyses.units import count, duration, percent, ranks_named
from pytscope.model.errors import Inconclusive
from pytscope.model.findings import Confidence, Evidence, Finding
from pytscope.model.wording import listed
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds
from pytscope_rules_distributed.columns import COMPUTE_PHASES
from pytscope_rules_distributed.effects import MIN_SLOWDOWN
from pytscope_rules_distributed.finding_out import MOST_EXPLAINED
from pytscope_rules_distributed.nodes import SlowNode
from pytscope_rules_distributed.rules.recoverable import line_of, phase_rules, recoverable
from pytscope_rules_distributed.rules.severities import severity_of
from pytscope_rules_distributed.stragglers import Straggler, Stragglers
from pytscope_rules_distributed.topology import Place, crowded

TOO_NOISY = 0.30
"""Slowdown that has to be visible for the rule to pass."""
MOST_TOLD = 4
MOST_EPISODES = 4
MOST_EVIDENCE = 8

FIXES = {
    "data": (
        "Look at this rank's input: its shard, its disk or network mount, its loader's workers "
        "and the cores they are bound to."
    ),
    "h2d": "Look at the rank's path to its device: pinned memory, PCIe link width, NUMA binding.",
    "other": (
        "Look at what this rank alone does between the phases: logging, metrics, saving, "
        "communication with a tracker. Name it with phase(...), then do it less often, or in a "
        "thread."
    ),
}
ALONE_FIX = (
    "Look at what this rank does in {} and the others do not, or do faster; then do it less often, "
    "in a thread, or have the ranks take turns."
)
ONLY_HERE_FIX = (
    "Look for code that this rank alone runs{}: a branch on the rank, a hook, metrics, printing."
)
SHARED_FIX = (
    "On {} {} share {}: give each rank processors of its own, or start fewer ranks, and record "
    "the run again."
)
PROCESSOR_FIX = (
    "Then look at the rank's processor: the cores its process is bound to, its number of threads "
    "(OMP_NUM_THREADS), other processes on them."
)
DEVICE_FIX = (
    "Look at the rank's device: clocks, temperature and power limit, ECC errors, other processes "
    "on it, the cores its process is bound to. If another device is not slow in its place, swap it."
)
NODE_FIX = (
    "Take the node out and train without it, then test it alone: clocks and power limits, cooling, "
    "memory errors, network mounts, other jobs on it."
)


@rule("DIST.STRAGGLER", since="0.3.0")
def straggler(
    stragglers: Stragglers,
    budget: Budget | None = None,
    *,
    min_slowdown: Annotated[float, Bounds(ge=MIN_SLOWDOWN, lt=10)] = MIN_SLOWDOWN,
    min_share: Annotated[float, Bounds(ge=0, lt=1)] = 0.005,
) -> Iterator[Finding]:
    """Some ranks are slower than those that do the same work, and all others wait for them.

    Detects:
        One or several slow ranks, or a slow node, since when and until when they are slow,
        in which phase, and what having them like the others would save.

    Why it matters:
        In synchronous training each step takes as long as its slowest rank. One device of
        a thousand that is 10 % slower makes the whole job slower by as much, and since
        all ranks leave the step together, no step time shows which one it is.

    How it decides:
        On own time: from the release of one step's last collective to readiness for the
        next one's, less the time blocked in between. d = ln(own time / median own time of
        the other ranks of the same stage and role), step by step, in steps in which no
        rank evaluated, saved or compiled; at least 20. A rank is slow when its 5 %
        winsorised mean of d is above ln(1 + 0.03), or that of the stretches where d is
        highest, by a one-sided t test with as many values as are independent: the series'
        own autocorrelation says how many; eight standard deviations of a single step above
        it is slow in any case. A drift counts as noise that remembers, and a rank that is
        slow only if it does not is suggestive. A coarse clock's tick is added to the 3 %.
        False discoveries are held at 0.002 over ranks (Benjamini and Hochberg). A node is
        named when three quarters of its ranks are slow, or when half of them are above
        the 3 % and its median rank is slow beside the other nodes'. Where tokens or samples
        are logged and vary, d is what is left when they are counted; ranks that are no
        slower for their load are DIST.LOAD_IMBALANCE's, single steps DIST.PAUSE's.
        Finding when a slow rank takes at least min_slowdown longer and the whole set
        costs at least min_share of the steps' time. Confirmed when half of those named
        have 15 independent values or more, else suggestive; of two ranks always suggestive,
        and only as a difference, because nothing tells which one is odd. Persistent: slow
        in 80 % of windows of 20 steps or more; else an episode. Inconclusive when a rank
        would have to be 30 % slower to be seen.
        cost_s = sum over steps of max own time less the same with the whole set at its
        peers' median, times what its load accounts for (of two ranks, with the slower one
        at the other's own time). Severity
        by cost over the steps' time: high from 0.20, medium from 0.08, low from 0.02; low
        at most below 10 ms. It accounts for TIMING.BACKWARD_HEAVY, where waiting hides inside
        backward, for TIMING.JITTER, for the rule on the phase that a slow rank is slow in
        where that is of this rank, as DIST.PAUSE does, and for EFFICIENCY.RECOVERABLE where
        the largest line of that is `straggler_wait` or, on a slow rank, that of its phase.
        False-positive rate: at most 1 % (95 % upper bound) in 300 runs each of 2, 4, 8, 64
        and 1,024 ranks and of 60, 300 and 1,000 steps, of independent and of AR(1) noise up
        to rho 0.9. `python bench/rates_distributed.py` prints every family.

    Fix:
        By phase; the finding says which. Compute without an accelerator, or where a host
        runs more ranks than it has processors: first code that only this rank runs, and
        the processors that ranks share. A slow device: clocks, heat, power limit, other
        processes; swap it. Data: this rank's shard, disk and workers. Any other phase, and
        unnamed time: what only this rank does (logging, saving). A node: take it out,
        test it alone.

    Limits:
        If more than half of the ranks of a stage are slow, the others look fast and nobody
        is named. Without a recorded topology all ranks are taken to do the same work.
        Strong autocorrelation hides small effects: at rho 0.9 a +10 % rank needs some
        hundreds of steps. In a pipeline, what a slow rank costs is less where another
        stage is slower still. Collectives that were not stamped are inside own time.

    References:
        Lin et al., "Understanding Stragglers in Large Model Training Using What-if
        Analysis" (2025); Geyer, "Practical Markov Chain Monte Carlo" (1992); Benjamini
        and Hochberg, "Controlling the False Discovery Rate" (1995); Littlechild and Owen,
        "A Simple Expression for the Shapley Value in a Special Case" (1973).
    """
    slow = [one for one in stragglers.culprits if one.effect.slowdown >= min_slowdown]
    if not slow:
        if not stragglers.slow and stragglers.visible > TOO_NOISY:
            least = f"{stragglers.visible:.0%}" if stragglers.visible < 10 else "many times"  # noqa: PLR2004  # beyond, nobody cares
            msg = f"own times vary so much that a rank would have to be {least} slower to be seen"
            raise Inconclusive(msg)
        return
    cost = stragglers.saving_own
    if cost is None or cost.value * 1e9 < min_share * stragglers.wall_ns:
        return
    sure = 2 * sum(one.confirmed for one in slow) >= len(slow)
    yield Finding(
        severity=severity_of(cost.value * 1e9, stragglers.wall_ns),
        confidence=Confidence.CONFIRMED if sure else Confidence.SUGGESTIVE,
        title=_title(stragglers, slow),
        detail=" ".join(_detail(stragglers, slow)),
        cost_s=cost,
        evidence=tuple(_evidence(stragglers, slow)),
        fix=_fix(stragglers.ranks.places, _culprits(stragglers, slow)[0]),
        verify="record the run again: the rank's own time in RANKS is that of its peers",
        steps=[(stragglers.ranks.first_step, stragglers.ranks.last_step)]
        if any(one.persistent for one in slow)
        else [episode for one in slow for episode in one.episodes],
        ranks=_ranks(stragglers, slow),
        explains=(
            "TIMING.BACKWARD_HEAVY",
            "TIMING.JITTER",
            *recoverable(budget, *_lines(slow, budget)),
            *_same_seconds(slow, budget),
        ),
    )


def _lines(named: Sequence[Straggler], budget: Budget | None) -> Iterator[str]:
    """Lines of the shown rank's budget that the slow ranks are the cause of."""
    yield "straggler_wait"
    for one in named:
        if budget is not None and one.rank == budget.shown_rank:
            yield line_of(one.phase)


def _same_seconds(named: Sequence[Straggler], budget: Budget | None) -> Iterator[str]:
    """Rules on the phases that the slow ranks are slow in, where they look at those ranks."""
    for one in named:
        shown = budget is not None and one.rank == budget.shown_rank
        yield from phase_rules(one.phase, shown=shown)


def _ranks(stragglers: Stragglers, named: Sequence[Straggler]) -> tuple[int, ...]:
    slow = {one.rank for one in named}
    nodes = (node.ranks for node in stragglers.nodes if slow.intersection(node.ranks))
    return tuple(sorted(slow.union(*nodes)))


@attrs.frozen
class _Culprit:
    """A node, or a rank beside those of nodes.

    Attributes:
        node: The node, or None for a rank.
        slowdown: Part by which it takes longer.
        ones: Its slow ranks, at least one.
    """

    node: SlowNode | None
    slowdown: float
    ones: tuple[Straggler, ...]

    @property
    def takes(self) -> str:
        """How a sentence on it begins."""
        if self.node is None:
            return f"Rank {self.ones[0].rank} takes"
        return f"The ranks of node {self.node.host} take"

    @property
    def phase(self) -> str:
        """Phase in which most of its ranks are slow; an empty string where they differ."""
        phases = [one.phase for one in self.ones[:MOST_EXPLAINED]]
        usual = max(sorted(set(phases)), key=phases.count)
        return usual if 2 * phases.count(usual) > len(phases) else ""


def _culprits(stragglers: Stragglers, named: Sequence[Straggler]) -> list[_Culprit]:
    """Nodes, and ranks that are slow beside them, slowest first."""
    nodes = [
        _Culprit(node, node.slowdown, ones)
        for node in stragglers.nodes
        if (ones := tuple(one for one in named if one.rank in node.ranks))
    ]
    of_nodes = {one.rank for culprit in nodes for one in culprit.ones}
    alone = (one for one in named if one.rank not in of_nodes)
    found = [*nodes, *(_Culprit(None, one.effect.slowdown, (one,)) for one in alone)]
    return sorted(found, key=lambda culprit: -culprit.slowdown)


def _title(stragglers: Stragglers, named: Sequence[Straggler]) -> str:
    culprits = _culprits(stragglers, named)
    worst = culprits[0]
    longer = percent(worst.slowdown)
    for_load = f" for its {stragglers.load_name}" if named[0].for_load else ""
    if stragglers.two or len(stragglers.peers(named[0].rank)) == 1:
        (other,) = stragglers.peers(named[0].rank)
        return f"Rank {named[0].rank} takes {longer} longer than rank {other}{for_load}"
    nodes = (culprit.node for culprit in culprits if culprit.node is not None)
    parts = [f"node {node.host} ({ranks_named(node.ranks)})" for node in nodes]
    alone = sorted(culprit.ones[0].rank for culprit in culprits if culprit.node is None)
    who = " and ".join([*parts, *([ranks_named(tuple(alone))] if alone else [])])
    verb = "hold" if len(culprits) > 1 else "holds"
    where = f", mostly in {worst.phase}" if worst.phase else ""
    up_to = "" if len(culprits) == 1 else "up to "
    return (
        f"{who[0].upper()}{who[1:]} {verb} the others up: {up_to}{longer} slower{for_load}{where}"
    )


def _detail(stragglers: Stragglers, named: Sequence[Straggler]) -> Iterator[str]:
    culprits = _culprits(stragglers, named)
    for culprit in culprits[:MOST_TOLD]:
        yield _told(stragglers, culprit)
    if len(culprits) > MOST_TOLD:
        yield f"So do {count(len(culprits) - MOST_TOLD, 'rank')} more."
    if stragglers.saving_own is not None:
        share = stragglers.saving_own.value * 1e9 / max(stragglers.wall_ns, 1)
        alike = f"{_if_alike(stragglers, named)} the steps would take {percent(share)} less"
        whole = duration(stragglers.wall_ns)
        yield f"{alike}: the cost, of the {whole} that the steps compared took."
    if len(stragglers.peers(named[0].rank)) == 1:
        yield "Of two ranks nothing tells which is the odd one."
    if not stragglers.load_name:
        yield "Whether they have more to do is not known: no tokens or samples are logged."
    if not stragglers.ranks.told:
        yield "No topology was recorded: all ranks are taken to do the same work."
    yield f"Compared were {stragglers.ranks.said()}."


def _told(stragglers: Stragglers, culprit: _Culprit) -> str:
    """How much longer a culprit takes, when and where."""
    one = culprit.ones[0]
    excess = sum(each.excess_ns for each in culprit.ones) / len(culprit.ones)
    peers = "rank's" if len(stragglers.peers(one.rank)) == 1 else "ranks'"
    whose = "its" if len(culprit.ones) == 1 else "their"
    left = (
        f", and {percent(culprit.slowdown)} more than {whose} {stragglers.load_name} account for"
        if one.for_load
        else ""
    )
    where = f", {percent(one.phase_part)} of it in {culprit.phase}" if culprit.phase else ""
    longer = f"{culprit.takes} {duration(excess)} longer a step than the other {peers} median"
    return f"{longer}{_when(one)}{where}{left}."


def _if_alike(stragglers: Stragglers, named: Sequence[Straggler]) -> str:
    if len(named) > 1:
        return "With all of them like their peers"
    peers = stragglers.peers(named[0].rank)
    if len(peers) == 1:
        return f"If rank {named[0].rank} were like rank {peers[0]},"
    return "With it like its peers"


def _when(one: Straggler) -> str:
    """Since when, until when, and how much of the time a rank is slow."""
    share = "" if one.persistent else f" in {percent(one.likely)} of the time"
    if not one.persistent and len(one.episodes) > 1:
        shown = [f"steps {a} to {b}" for a, b in one.episodes[:MOST_EPISODES]]
        return f"{share}, in {count(len(one.episodes), 'episode')}: {listed(shown)}"
    if one.onset_step is not None and one.last_step is not None:
        return f"{share}, from step {one.onset_step} to step {one.last_step}"
    if one.onset_step is not None:
        return f"{share}, since step {one.onset_step}"
    return share if one.last_step is None else f"{share}, until step {one.last_step}"


def _evidence(stragglers: Stragglers, named: Sequence[Straggler]) -> Iterator[Evidence]:
    for one in named[:MOST_EVIDENCE]:
        e, rank = one.effect, one.rank
        ends = (round(e.low * 100, 2), round(e.high * 100, 2))
        yield Evidence("slower than peers", round(e.slowdown * 100, 2), "%", *ends, rank=rank)
        yield Evidence("longer a step", one.excess_ns / 1e6, "ms", rank=rank)
        yield Evidence("independent values", round(e.size, 1), "steps", rank=rank)
        yield Evidence("waited for it", e.owed_ns / 1e9, "s", rank=rank)
    total = stragglers.held_up_ns / 1e9
    yield Evidence(f"slowest rank beyond {stragglers.usual}, all steps", total, "s")


def _fix(places: Sequence[Place], worst: _Culprit) -> str:
    """What to look at first: code and shared processors before a device is suspected."""
    if worst.node is not None:
        return NODE_FIX
    phase, place = worst.phase, next(p for p in places if p.rank == worst.ones[0].rank)
    shared = _shared(places, place)
    if phase in FIXES:
        return " ".join([FIXES[phase], *shared])
    if phase and phase not in COMPUTE_PHASES:
        return " ".join([ALONE_FIX.format(phase), *shared])
    no_device = place.accelerator == ""
    if not (no_device or shared):
        return DEVICE_FIX
    here = ONLY_HERE_FIX.format(f" in {phase}" if phase else "")
    return " ".join([here, *shared, PROCESSOR_FIX if no_device else DEVICE_FIX])


def _shared(places: Sequence[Place], place: Place) -> tuple[str, ...]:
    """A sentence on a rank's host where that has fewer processors than ranks."""
    for host in crowded(places):
        if place.rank in host.ranks:
            cpus = min(p.cpus for p in places if p.rank in host.ranks and p.cpus is not None)
            ranks = count(len(host.ranks), "rank")
            return (SHARED_FIX.format(host.name, ranks, count(cpus, "processor")),)
    return ()
