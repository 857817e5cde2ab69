"""Families of healthy own times and transfers, and of slow ranks that have to be found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from pytscope.analyses import Column
from pytscope.model.errors import Inconclusive
from pytscope.model.findings import Finding
from pytscope_rules_distributed import Exchange, Ranks, Stragglers
from pytscope_rules_distributed.exchange import GroupKind, RankExchange
from pytscope_rules_distributed.finding_out import found
from pytscope_rules_distributed.rules import load_imbalance, pause, slow_link, straggler
from pytscope_rules_distributed.topology import Place, Ranked
from tests.rules_distributed.made import MS, Matrix, noise

Family = Callable[[np.random.Generator, int, int], Matrix]
"""Draws a factor of own time for every rank and step; its median is about 1."""
OWN_MS = 50.0
RANKS = (2, 4, 8, 64, 1024)
LENGTHS = (60, 300, 1000)


def autoregressive(rho: float, sd: float) -> Family:
    return lambda rng, ranks, steps: noise(ranks, steps, sd=sd, rho=rho, seed=rng)


def student(freedom: float, sd: float) -> Family:
    return lambda rng, ranks, steps: np.exp(
        np.minimum(rng.standard_t(freedom, (ranks, steps)) * sd, 7.0)
    )


def offset(apart: float, sd: float) -> Family:
    """Ranks that are never quite alike: a harmless difference of their own each."""

    def draw(rng: np.random.Generator, ranks: int, steps: int) -> Matrix:
        own = np.clip(rng.normal(size=(ranks, 1)), -2, 2) * apart
        return np.asarray(np.exp(own + rng.normal(size=(ranks, steps)) * sd))

    return draw


def one_clock(sd: float) -> Family:
    """Own times in whole milliseconds."""
    return lambda rng, ranks, steps: (
        np.rint(np.exp(rng.normal(size=(ranks, steps)) * sd) * OWN_MS) / OWN_MS
    )


def coarse(levels: int, sd: float) -> Family:
    """A clock so coarse that an own time is a few ticks of a millisecond, between two of them."""
    return lambda rng, ranks, steps: (
        np.floor(np.exp(rng.normal(size=(ranks, steps)) * sd) * levels + rng.random((ranks, 1)))
        / OWN_MS
    )


def own_tails(rng: np.random.Generator, ranks: int, steps: int) -> Matrix:
    """Each rank has tails of its own, from nearly Gaussian ones to such without a variance."""
    freedom = rng.uniform(1.5, 30.0, (ranks, 1))
    return np.asarray(np.exp(np.minimum(rng.standard_t(freedom, (ranks, steps)) * 0.08, 7.0)))


def own_noise(rng: np.random.Generator, ranks: int, steps: int) -> Matrix:
    """Each rank has a standard deviation and a memory of its own."""
    each = zip(rng.uniform(0.02, 0.3, ranks), rng.uniform(0, 0.9, ranks), strict=True)
    return np.concatenate([noise(1, steps, sd=d, rho=r, seed=rng, common=0) for d, r in each])


def drifting(rng: np.random.Generator, ranks: int, steps: int) -> Matrix:
    """All ranks become slower together, twice as slow in the end."""
    return np.asarray(np.exp(np.linspace(0, 0.7, steps) + rng.normal(size=(ranks, steps)) * 0.05))


def waves(rng: np.random.Generator, ranks: int, steps: int) -> Matrix:
    """Ranks go up and down by a fifth, each in its own time."""
    at = np.arange(steps) / 7 + rng.uniform(0, 6, (ranks, 1))
    return np.asarray(np.exp(0.2 * np.sin(at) + rng.normal(size=(ranks, steps)) * 0.03))


def collecting(rng: np.random.Generator, ranks: int, steps: int) -> Matrix:
    """Each rank pauses in one of fifty steps, as it does to collect garbage."""
    pauses = np.where(rng.random((ranks, steps)) < 0.02, 3.0, 1.0)
    return np.asarray(np.exp(rng.normal(size=(ranks, steps)) * 0.03) * pauses)


def added(freedom: float, sd: float) -> Family:
    """Own times that Student's noise is added to, instead of their logarithms."""
    return lambda rng, ranks, steps: np.maximum(
        1.0 + sd * rng.standard_t(freedom, (ranks, steps)), 0.2
    )


def together(every: int, times: float) -> Family:
    """All ranks evaluate, save or collect garbage in the same steps, 5 % apart."""

    def draw(rng: np.random.Generator, ranks: int, steps: int) -> Matrix:
        more = np.where(np.arange(steps) % every == every - 1, times, 0.0)
        noisy = more * np.exp(rng.normal(size=(ranks, steps)) * 0.05)
        return np.asarray(np.exp(rng.normal(size=(ranks, steps)) * 0.03) + noisy)

    return draw


def last_batch(rng: np.random.Generator, ranks: int, steps: int) -> Matrix:
    """The last of thirty batches is a part of one, up to a third smaller on some ranks."""
    part = rng.uniform(0.1, 0.9) * (1.0 - rng.uniform(0, 0.33, (ranks, 1)))
    last = np.arange(steps) % 30 == 29
    return np.asarray(np.exp(rng.normal(size=(ranks, steps)) * 0.03) * np.where(last, part, 1.0))


def shared_cores(rng: np.random.Generator, ranks: int, steps: int) -> Matrix:
    """Processes that share too few cores wait for slices of some milliseconds."""
    slices = rng.poisson(0.5, (ranks, steps)) * rng.exponential(4.0, (ranks, steps)) / OWN_MS
    return np.asarray(np.exp(rng.normal(size=(ranks, steps)) * 0.08) + slices)


FAMILIES: dict[str, Family] = {
    "lognormal 1 %, ranks apart by up to 1 %": offset(0.005, 0.01),
    "lognormal 3 %": autoregressive(0.0, 0.03),
    "lognormal 10 %": autoregressive(0.0, 0.10),
    "lognormal 30 %": autoregressive(0.0, 0.30),
    "AR(1) rho 0.5, 10 %": autoregressive(0.5, 0.10),
    "AR(1) rho 0.9, 3 %": autoregressive(0.9, 0.03),
    "AR(1) rho 0.9, 10 %": autoregressive(0.9, 0.10),
    "AR(1) rho 0.9, 30 %": autoregressive(0.9, 0.30),
    "Student t3, 10 %": student(3, 0.10),
    "Student t3, 5 %, added": added(3, 0.05),
    "Student t4, 10 %, added": added(4, 0.10),
    "whole milliseconds, 1 %": one_clock(0.01),
    "4 ticks of a millisecond, 1 %": coarse(4, 0.01),
    "each rank's own tails": own_tails,
    "each rank's own noise, 2 to 30 %, rho to 0.9": own_noise,
    "a drift of all ranks": drifting,
    "waves of 20 % on each rank": waves,
    "every 50th step of all ranks 10 times as long": together(50, 10.0),
    "every 20th step of all ranks 100 times as long": together(20, 100.0),
    "a last batch of 30 that is a part": last_batch,
    "slices of 4 ms of shared cores": shared_cores,
    "pauses in 2 % of each rank's steps": collecting,
}
"""What DIST.STRAGGLER's page promises to stay quiet on."""

PAUSING = ("Student t3, 10 %", "each rank's own tails", "pauses in 2 % of each rank's steps")
"""Those of them that have steps which stand out: DIST.PAUSE finds them."""
NOBODYS = ("pauses in 2 % of each rank's steps",)
"""Those of these in which it blames no rank, for all pause alike."""

QUIET: dict[str, Family] = {
    "lognormal 3 %": autoregressive(0.0, 0.03),
    "AR(1) rho 0.5, 3 %": autoregressive(0.5, 0.03),
    "AR(1) rho 0.9, 3 %": autoregressive(0.9, 0.03),
}
"""The same of DIST.LOAD_IMBALANCE."""

TRANSFERS: dict[str, Family] = {
    "transfers vary by 10 %": autoregressive(0.0, 0.10),
    "transfers vary by 30 %": autoregressive(0.0, 0.30),
    "transfers AR(1) rho 0.9, 10 %": autoregressive(0.9, 0.10),
    "transfers AR(1) rho 0.9, 30 %": autoregressive(0.9, 0.30),
}
"""The same of DIST.SLOW_LINK, by groups."""
GROUPS = (1, 4, 8, 64)


def ranks_of(
    own_ms: Matrix,
    *,
    cohorts: Sequence[Sequence[int]] | None = None,
    hosts: int = 0,
    load: Matrix | None = None,
    tick_ns: int = 1,
) -> Ranks:
    """`Ranks` out of own times, without a run; `hosts` ranks share a host, 0 for none."""
    ranks, steps = own_ms.shape
    own = np.rint(own_ms * MS).astype(np.int64)
    members = [tuple(m) for m in cohorts or [range(ranks)]]
    names = {f"node{i // hosts}" for i in range(ranks)} if hosts else set()
    on = {n: tuple(r for r in range(ranks) if f"node{r // hosts}" == n) for n in names}
    longest = own.max(axis=0) + MS
    return Ranks(
        ranks=tuple(range(ranks)),
        places=tuple(
            Place(r, f"node{r // hosts}" if hosts else "", told=True) for r in range(ranks)
        ),
        told=True,
        cohorts=tuple(Ranked(f"stage {i}" if i else "", m) for i, m in enumerate(members)),
        hosts=tuple(Ranked(name, on[name]) for name in sorted(names, key=lambda n: on[n])),
        steps=steps,
        first_step=1,
        last_step=steps,
        steady_steps=steps,
        wall_ns=int(longest.sum()),
        tick_ns=tick_ns,
        step=Column(np.arange(1, steps + 1)),
        rows=Column(np.tile(np.arange(1, steps + 1), (ranks, 1))),
        own_ns=Column(own),
        last_ns=Column(own.max(axis=0) - own + MS),
        blocked_ns=Column(np.zeros_like(own)),
        longest_ns=Column(longest),
        steady=Column(np.ones(steps, np.bool_)),
        load=None if load is None else Column(load),
        load_name="" if load is None else "tokens",
    )


def tick_of(own_ms: Matrix) -> int:
    own = np.rint(own_ms * MS).astype(np.int64)
    return min(max(int(np.gcd.reduce(own, axis=None)), 1), MS)


def healthy(family: Family, ranks: int, steps: int, seed: int) -> Stragglers:
    rng = np.random.default_rng((seed, ranks, steps))
    own = family(rng, ranks, steps) * OWN_MS
    hosts = 8 if ranks >= 16 else 0
    return found(ranks_of(own, hosts=hosts, tick_ns=tick_of(own)))


def said_of(stragglers: Stragglers) -> dict[str, list[Finding]]:
    """What the rules on ranks say; nothing where they are inconclusive."""
    said: dict[str, list[Finding]] = {}
    rules = (
        (straggler, (stragglers,)),
        (pause, (stragglers,)),
        (load_imbalance, (stragglers, None)),
    )
    for rule, given in rules:
        try:
            said[rule.id] = rule(*given)
        except Inconclusive:
            said[rule.id] = []
    return said


def exchange_of(transfer_ms: npt.ArrayLike) -> Exchange:
    """`Exchange` of some process groups of two ranks each, that take most of the step."""
    transfer = np.rint(np.asarray(transfer_ms, np.float64) * MS).astype(np.int64)
    groups = tuple(Ranked(f"group {i}", (2 * i, 2 * i + 1)) for i in range(len(transfer)))
    steps = transfer.shape[1]
    one = RankExchange(0, 0, int(transfer[0].sum()), 0, 0, 0)
    return Exchange(
        shown_rank=0,
        shown=one,
        ranks=(one,),
        steps=steps,
        wall_ns=int(transfer.max(axis=0).sum()) + steps * MS,
        transfer_ns=int(transfer.mean(axis=0).sum()),
        least_ns=int(transfer.min(axis=0).sum()),
        wait_ns=0,
        kinds=(GroupKind("tp", groups, Column(transfer)),),
        step=Column(np.arange(1, steps + 1)),
    )


def linked(family: Family, groups: int, steps: int, seed: int) -> list[Finding]:
    """What DIST.SLOW_LINK says of healthy transfers."""
    rng = np.random.default_rng((seed, groups, steps, 1))
    return slow_link(exchange_of(family(rng, groups, steps) * OWN_MS))


@attrs.frozen
class Claim:
    """Slow ranks that have to be found, all of them and no other.

    Attributes:
        what: What is slow, in words.
        slow: By rank the factor of its own time.
        ranks: Ranks of the run.
        steps: Steps of the run.
        rho: Autocorrelation of the noise.
        sd: Its standard deviation.
        stretches: Steps in which they are slow, none for all.
        every: Each of them is slow in one of so many steps, in turn; 0 for all steps.
        drift: Whether they become slow little by little, and are so in the end.
        hosts: Ranks of one host, 0 where none is known.
    """

    what: str
    slow: dict[int, float]
    ranks: int = 8
    steps: int = 60
    rho: float = 0.3
    sd: float = 0.02
    stretches: tuple[tuple[int, int], ...] = ()
    every: int = 0
    drift: bool = False
    hosts: int = 0

    def stragglers(self, seed: Any) -> Stragglers:
        own = noise(self.ranks, self.steps, sd=self.sd, rho=self.rho, seed=seed) * OWN_MS
        for place, (rank, factor) in enumerate(self.slow.items()):
            own[rank] *= 1.0 + (factor - 1.0) * self._when(place)
        return found(ranks_of(own, hosts=self.hosts))

    def _when(self, place: int) -> Matrix:
        """How much of its slowdown a rank has in every step."""
        if self.drift:
            return np.linspace(0.0, 1.0, self.steps)
        if self.every:
            return (np.arange(self.steps) % self.every == place % self.every).astype(float)
        when = np.zeros(self.steps)
        for first, last in self.stretches or ((0, self.steps),):
            when[first:last] = 1.0
        return when

    def found(self, seed: Any) -> bool:
        named = {rank for f in said_of(self.stragglers(seed))[straggler.id] for rank in f.ranks}
        return named == set(self.slow)


CLAIMS = (
    Claim("one of 8 ranks 10 % slower, 60 steps", {2: 1.1}),
    Claim("two of 8 ranks 10 % slower, 60 steps", {2: 1.1, 5: 1.1}),
    Claim("three of 8 ranks 10 % slower, 120 steps", {0: 1.1, 1: 1.1, 2: 1.1}, steps=120),
    Claim("four of 8 ranks 10 % slower, 120 steps", dict.fromkeys(range(4), 1.1), steps=120),
    Claim("one of 8 ranks 10 % slower and one 30 %, 60 steps", {2: 1.1, 5: 1.3}),
    Claim("one of 8 ranks 5 % slower, 300 steps", {2: 1.05}, steps=300),
    Claim("one of 1,024 ranks 10 % slower, 60 steps", {77: 1.1}, ranks=1024),
    Claim("one of 8 ranks 10 % slower, rho 0.9, 300 steps", {2: 1.1}, steps=300, rho=0.9),
    Claim(
        "one of 8 ranks 20 % slower in 100 of 300 steps",
        {2: 1.2},
        steps=300,
        stretches=((150, 250),),
    ),
    Claim(
        "a node of 8 ranks of 64 10 % slower, 60 steps",
        dict.fromkeys(range(8, 16), 1.1),
        64,
        hosts=8,
    ),
    Claim(
        "a node of 8 ranks of 64 5 % slower, 200 steps",
        dict.fromkeys(range(8, 16), 1.05),
        64,
        steps=200,
        hosts=8,
    ),
    Claim(
        "two nodes of 8 ranks of 64 10 % and 20 % slower, 60 steps",
        dict.fromkeys(range(8, 16), 1.1) | dict.fromkeys(range(40, 48), 1.2),
        64,
        hosts=8,
    ),
    Claim(
        "one of 8 ranks 30 % slower in two episodes of 40 of 300 steps",
        {1: 1.3},
        steps=300,
        stretches=((40, 80), (200, 240)),
    ),
    Claim(
        "one of 8 ranks 30 % slower in five episodes of 40 of 1,000 steps",
        {1: 1.3},
        steps=1000,
        stretches=tuple((at, at + 40) for at in range(50, 1000, 200)),
    ),
    Claim("two of 8 ranks 30 % slower, in turn, 300 steps", {1: 1.3, 3: 1.3}, steps=300, every=2),
    Claim("one of 8 ranks drifts to 20 % slower, 300 steps", {2: 1.2}, steps=300, drift=True),
    Claim("one of 8 ranks drifts to 200 % slower, 300 steps", {2: 3.0}, steps=300, drift=True),
    Claim("one of 3 ranks 10 % slower, 120 steps", {1: 1.1}, ranks=3, steps=120),
)
"""What DIST.STRAGGLER finds, noise of 2 % and rho 0.3 unless said otherwise."""
