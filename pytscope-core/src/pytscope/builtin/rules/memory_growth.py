"""MEMORY.GROWTH."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated

import attrs

from pytscope.analyses.growth import (
    BLOCKS,
    CONCORDANCE,
    EVENNESS,
    FEWEST,
    LATE,
    LEAST_BYTES,
    LEAST_SHARE,
    Growth,
)
from pytscope.analyses.memory import (
    DEVICE,
    HELD,
    HOST,
    PLACES,
    WORKERS,
    Memory,
    MemoryColumn,
    RankMemory,
)
from pytscope.analyses.units import count, ranks_named, size
from pytscope.model.errors import Inconclusive, NotMeasured
from pytscope.model.findings import Confidence, Evidence, Finding, Severity
from pytscope.model.wording import listed
from pytscope.plugins.declare import rule
from pytscope.plugins.thresholds import Bounds

EVERY_PAIR = BLOCKS * (BLOCKS - 1) // 2
KIB = 1024
SOON = (10, 10_000)
"""Steps to out-of-memory that are few: a multiple of the steps recorded, or this many."""
LATER = (100, 1_000_000)
NEEDS = "what is held after each step: `allocated` on a device, resident bytes on the host"
TITLES = {
    DEVICE: "Device memory grows by {} a step",
    HOST: "Host memory of the process grows by {} a step",
    WORKERS: "Memory of the worker processes grows by {} a step",
}
RESERVED_TITLE = "The allocator reserves {} more a step while tensors hold no more"
KEPT = (
    "Something is kept from step to step: a loss or metric that is added up without .item() or "
    "detach(), outputs appended to a list, a hidden state carried over without detach(), a cache "
    "without a limit. "
)
FIXES = {
    DEVICE: KEPT
    + "torch.cuda.memory._record_memory_history() and a snapshot name the line that allocates it.",
    HOST: KEPT + "memray or tracemalloc names the line that allocates it.",
    WORKERS: (
        "Keep the data set's index in arrays (numpy, Arrow) rather than in lists of Python "
        "objects, whose reference counts copy pages into every worker; bound caches in "
        "__getitem__; re-create the workers (persistent_workers=False) to stop the growth."
    ),
}
BESIDE_FIX = {
    "eval": (
        "It comes with evaluation: reset metric states, keep no outputs on the device, run it "
        "under torch.no_grad(). "
    ),
    "checkpoint": "It comes with checkpoints: let go of what is saved, and wait for writers. ",
}
RESERVED_FIX = (
    "Inputs of ever different sizes split the cache: "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or pad to a few lengths."
)


@attrs.frozen(eq=False)
class Grown:
    """A column of a rank that grows.

    Attributes:
        rank: The rank.
        column: The column.
        growth: Its growth.
    """

    rank: RankMemory
    column: MemoryColumn
    growth: Growth

    @property
    def room(self) -> int | None:
        """Bytes that were left where it grows, if known."""
        place = HOST if self.column.place == WORKERS else self.column.place
        return self.rank.room_bytes.get(place)

    @property
    def steps_left(self) -> float | None:
        """Steps until nothing is left, if that is known."""
        return None if self.room is None else self.room / self.growth.per_step


@rule("MEMORY.GROWTH", since="0.3.0")
def memory_growth(
    memory: Memory,
    *,
    min_growth_bytes: Annotated[int, Bounds(gt=0)] = LEAST_BYTES,
    min_share: Annotated[float, Bounds(gt=0)] = LEAST_SHARE,
    min_concordance: Annotated[int, Bounds(ge=1, le=EVERY_PAIR)] = CONCORDANCE,
    min_late: Annotated[float, Bounds(ge=0)] = LATE,
    min_evenness: Annotated[float, Bounds(gt=0)] = EVENNESS,
) -> Iterator[Finding]:
    """What is held after a step grows, and goes on growing.

    Detects:
        Memory that is kept from step to step: on the device (`allocated`), in the
        process's own host memory (`anonymous`, else `uss`, else `rss`), or in its
        worker processes (`workers_uss`); and a caching allocator that reserves more
        and more while tensors hold no more (`reserved`).

    Why it matters:
        A run that leaks works until it does not: it ends out of memory hours later,
        in a step that has nothing to do with the cause.

    How it decides:
        On the values sampled after each step, in the attempt with most steps, without
        its first 20 steps or tenth (or its warm-up, if longer). The smallest value in
        each sixth of the rest makes the lower envelope, which batches of any size,
        garbage collection and freed peaks do not move. Finding when
        Kendall's S of the six minima is at least min_concordance of 15; the Theil-Sen
        slope times the steps is at least min_growth_bytes and min_share of the first
        minimum; the slope of the second half is at least min_late of the whole; and
        the five increments are even, their mean at least min_evenness standard errors
        (times the fourth root of the number of ranks, for every rank is a try). The
        last excludes a random walk, a few steps up and the slow creep of a maximum;
        what rises by enough but not evenly is inconclusive rather than passed. For
        `reserved`, which only ever rises, all 15 pairs are needed. A `peak` is never
        looked at. At least 24 values have to remain, so 44 steps.
        cost_s is null: no time is lost yet. Severity by the steps until what was left
        at the end is used up: high within 10 times the recorded steps or 10,000,
        medium within 100 times or 1,000,000, or when the capacity is not known, low
        beyond, and low for `reserved`. Suggestive for `reserved` and for `rss`, which
        holds mapped files too.
        False-positive rate: at most 1 % for every series looked at (95 % upper bound)
        in 628 runs each of 60, 200 and 1,000 steps: constant memory, warm-up ramps,
        saturating growth, batches of varying length (normal, lognormal, uniform),
        sawtooths of up to a quarter of the run, one to three steps up at any place,
        AR(1) noise with rho up to 0.99, and the running maximum of random lengths, as
        a caching allocator keeps it; in 2,512 runs each of random walks of 1 and
        10 MiB a step. `python bench/rates.py` prints every family.

    Fix:
        By the place that grows; the finding says which, and whether it comes with
        evaluation or checkpoints.

    Limits:
        Growth that resets less often than four times in the run looks like a leak
        until it resets. A leak smaller than the floors, or buried under noise of the
        lower envelope itself, is not seen; a longer run sees more. Resident memory
        that files or shared memory are behind is not in `anonymous`, so batches kept
        in shared memory show in `rss` of the MEMORY panel only. Memory that other
        libraries take from the device past torch's allocator is in no column. Steps
        left count on what else uses the device or machine to stay as it was.

    References:
        PyTorch documentation, "Understanding CUDA Memory Usage"; Sen, "Estimates of the
        regression coefficient based on Kendall's tau" (1968); PyTorch issue 13246, on
        workers whose memory grows by copy-on-write.
    """
    ranks = memory.ranks
    rises = partial(
        Growth.rises, least_bytes=min_growth_bytes, least_share=min_share, late=min_late
    )
    limit = min_evenness * len(ranks) ** 0.25
    looked_at = [one for rank in ranks for place in HELD if (one := _held(rank, place))]
    reserved = [one for rank in ranks if (one := _of(rank, rank.columns.get("reserved")))]
    if not looked_at and not reserved:
        raise _too_little(memory)
    rising = [one for one in looked_at if rises(one.growth, concordance=min_concordance)]
    sure = [one for one in rising if one.growth.evenness >= limit]
    creeping = [
        one
        for one in reserved
        if rises(one.growth, concordance=EVERY_PAIR) and one.growth.evenness >= limit
    ]
    found = [[one for one in sure if one.column.place == place] for place in HELD]
    if not found[0]:
        found[0] = creeping
    if rising and not any(found):
        raise Inconclusive(_uneven(rising))
    yield from map(_finding, filter(None, found))


def _held(rank: RankMemory, place: str) -> Grown | None:
    return _of(rank, rank.held(place))


def _of(rank: RankMemory, column: MemoryColumn | None) -> Grown | None:
    if column is None or column.growth is None:
        return None
    return Grown(rank, column, column.growth)


def _too_little(memory: Memory) -> Inconclusive | NotMeasured:
    known = [c for r in memory.ranks for n, c in r.columns.items() if n in PLACES and n != "peak"]
    if not known:
        return NotMeasured(NEEDS)
    most = max(column.values for column in known)
    left_out = memory.shown.left_out
    return Inconclusive(
        f"{FEWEST} samples after the first {count(left_out, 'step')} are needed, "
        f"there are {most} samples in all"
    )


def _uneven(rising: list[Grown]) -> str:
    most = max(rising, key=lambda one: one.growth.total_bytes)
    return (
        f"{most.column.name} rises by {size(most.growth.total_bytes)}, but so unevenly that chance "
        f"explains it; record more than {count(most.growth.samples, 'step')}"
    )


def _finding(grown: list[Grown]) -> Finding:
    most = max(grown, key=lambda one: one.growth.per_step)
    column, growth = most.column, most.growth
    cached = column.name == "reserved"
    title = RESERVED_TITLE if cached else TITLES[column.place]
    fix = RESERVED_FIX if cached else BESIDE_FIX.get(growth.beside, "") + FIXES[column.place]
    guess = cached or column.name == "rss"
    return Finding(
        severity=Severity.LOW if cached else _severity(most),
        confidence=Confidence.SUGGESTIVE if guess else Confidence.CONFIRMED,
        title=title.format(size(growth.per_step)),
        detail=" ".join(_sentences(most, grown)),
        evidence=_evidence(most),
        fix=fix,
        verify=f"record as many steps again: growth a step of {column.name} in MEMORY is about 0",
        steps=((growth.first_step, growth.last_step),),
        ranks=tuple(one.rank.rank for one in grown),
    )


def _severity(most: Grown) -> Severity:
    left, steps = most.steps_left, most.rank.steps
    if left is None:
        return Severity.MEDIUM
    for (times, number), severity in ((SOON, Severity.HIGH), (LATER, Severity.MEDIUM)):
        if left <= max(times * steps, number):
            return severity
    return Severity.LOW


def _sentences(most: Grown, grown: list[Grown]) -> Iterator[str]:
    column, growth = most.column, most.growth
    where = most.rank.device if column.place == DEVICE and most.rank.device else column.place
    yield (
        f"{column.name} ({where}) after a step rose from {size(growth.minima[0])} to "
        f"{size(growth.minima[-1])}: smallest values in the first and last sixth of steps "
        f"{growth.first_step:,} to {growth.last_step:,}."
    )
    if growth.beside:
        yield f"It rises in the steps that hold {growth.beside}."
    others = [
        f"{name} {'grows too' if other.growth.lasting else 'does not'}"
        for name in ("allocated", "reserved", "anonymous", "rss", "workers_uss")
        if name != column.name and (other := _of(most.rank, most.rank.columns.get(name)))
    ]
    if others:
        yield f"Elsewhere: {listed(others)}."
    if len(grown) > 1:
        ranks = tuple(one.rank.rank for one in grown)
        yield f"So do {ranks_named(ranks)}; these are the numbers of rank {most.rank.rank}."
    if most.room is not None and most.steps_left is not None:
        yield (
            f"At this rate the {size(most.room)} that were left are used up after about "
            f"{most.steps_left:,.0f} more steps."
        )


def _evidence(most: Grown) -> Iterator[Evidence]:
    growth, rank = most.growth, most.rank.rank
    steps = (growth.first_step, growth.last_step)
    each, low, high = (round(v / KIB, 3) for v in (growth.per_step, growth.low, growth.high))
    metric = f"{most.column.name}, growth a step"
    yield Evidence(metric, each, "KiB", low, high, steps=steps, rank=rank)
    for name, bytes_ in (("first", growth.minima[0]), ("last", growth.minima[-1])):
        metric = f"{most.column.name}, lowest in the {name} sixth"
        yield Evidence(metric, round(bytes_ / KIB**2, 2), "MiB", rank=rank)
    yield Evidence("Kendall S of the minima", growth.concordance, f"of {EVERY_PAIR}", rank=rank)
    late = round(growth.late, 2)
    yield Evidence("slope of the second half over all", late, "times", rank=rank)
    yield Evidence("evenness of the growth", round(growth.evenness, 1), rank=rank)
    if most.room is not None and most.steps_left is not None:
        yield Evidence("left at the end", round(most.room / KIB**2, 1), "MiB", rank=rank)
        known = growth.low > 0
        yield Evidence(
            "steps to out of memory",
            round(most.steps_left),
            "steps",
            round(most.room / growth.high) if known else None,
            round(most.room / growth.low) if known else None,
            rank=rank,
        )
