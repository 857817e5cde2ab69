"""Series of two runs, side by side at the same global steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from pytscope.diffing.batches import ALIKE
from pytscope.diffing.logged import common
from pytscope.diffing.numbers import small
from pytscope.diffing.roles import FINGERPRINTS, Role, role_of
from pytscope.model.comparison import At, SeriesDifference
from pytscope.runs.last_pass import counting
from pytscope.runs.run import Bools, Floats, Ints, Run

FEWEST_GAPS = 5
"""Earlier gaps that it takes to know their spread."""
SPREADS = 6.0
ALWAYS = 0.01
"""A gap of this share of the value matters, however large the earlier ones were."""


@attrs.frozen(eq=False)
class Pair:
    """One series of two runs at the steps that both have.

    Attributes:
        name: Name of the series.
        role: What it tells.
        rank: Rank of either run.
        step: The common steps, ascending.
        first: The first run's values there.
        second: The second run's.
        only_first: Steps at which only the first run has a value.
        only_second: The same of the second.
        wound: Steps whose hashes cover batches that a resumed loader skipped.
    """

    name: str
    role: Role
    rank: int
    step: Ints
    first: npt.NDArray[Any]
    second: npt.NDArray[Any]
    only_first: int
    only_second: int
    wound: tuple[int, ...] = ()

    def unequal(self) -> Bools:
        """Where the values are not the same bits; NaN is NaN."""
        differ = unequal(self.first, self.second)
        return differ & ~np.isin(self.step, self.wound) if self.wound else differ

    def at(self, place: int) -> At:
        """The values at one of the steps."""
        first, second = self.first[place].item(), self.second[place].item()
        return At(int(self.step[place]), self.name, first, second)


@attrs.frozen(eq=False)
class AlignedSeries:
    """A series over every rank that both runs have.

    Attributes:
        role: What it tells.
        pairs: One a rank.
        told: Where it differs.
        rank: Rank of the first bitwise difference, or None.
    """

    role: Role
    pairs: tuple[Pair, ...]
    told: SeriesDifference
    rank: int | None = None

    @property
    def wound(self) -> tuple[int, ...]:
        """Steps left out, whose hash covers batches that a resumed loader skipped."""
        return tuple(sorted({step for pair in self.pairs for step in pair.wound}))

    @property
    def name(self) -> str:
        """Name of the series."""
        return self.told.name

    def logged(self, step: int) -> bool:
        """Whether a step was compared, on any rank."""
        return any(bool(np.isin(step, pair.step)) for pair in self.pairs)

    @property
    def pair(self) -> Pair:
        """Of the rank that differs first; of the lowest where none does."""
        return next((p for p in self.pairs if p.rank == self.rank), self.pairs[0])

    def place(self, step: int) -> int:
        """How many compared steps come before a step, on the rank that differs first."""
        return int(np.searchsorted(self.pair.step, step))


def aligned_series(
    a: Run, b: Run, rtol: float, precision: str, resumed: Sequence[int] = ()
) -> Iterator[AlignedSeries]:
    """Every series that both runs logged and that is not of time or memory.

    Args:
        a: The first run.
        b: The second run.
        rtol: Share of the value by which numbers may differ without mattering.
        precision: The arithmetic that it comes from, in words.
        resumed: Steps that a run goes on from. A loader that is wound forward to
            where it was hands that step what it skips, so the hash of its
            batches is not compared when those after it are equal.
    """
    ranks = [rank for rank in a.ranks if rank in set(b.ranks)]
    known: dict[str, list[int]] = {}
    for rank in ranks:
        there = set(b.rank(rank).scalars)
        for name in a.rank(rank).scalars:
            if name in there and role_of(name) is not Role.CLOCK:
                known.setdefault(name, []).append(rank)
    for name, having in known.items():
        pairs = tuple(_pair(a, b, name, rank) for rank in having)
        yield _told(name, _wound(pairs, resumed), rtol, precision)


def unequal(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> Bools:
    """Where values are not the same bits; NaN is NaN, and whole numbers stay whole."""
    if first.dtype.kind == "i" and second.dtype.kind == "i":
        whole: Bools = first != second
        return whole
    a, b = (np.ascontiguousarray(values, np.float64) for values in (first, second))
    bits: Bools = (a.view(np.int64) != b.view(np.int64)) & ~(np.isnan(a) & np.isnan(b))
    return bits


def _pair(a: Run, b: Run, name: str, rank: int) -> Pair:
    (steps_a, values_a), (steps_b, values_b) = (counting(r.rank(rank), name) for r in (a, b))
    steps, in_a, in_b = common(steps_a, steps_b)
    only = len(steps_a) - len(steps), len(steps_b) - len(steps)
    return Pair(name, role_of(name), rank, steps, values_a[in_a], values_b[in_b], *only)


def _wound(pairs: Sequence[Pair], resumed: Sequence[int]) -> tuple[Pair, ...]:
    if not resumed or pairs[0].role not in FINGERPRINTS:
        return tuple(pairs)
    return tuple(attrs.evolve(p, wound=tuple(_skipped(p, resumed))) for p in pairs)


def _skipped(pair: Pair, resumed: Sequence[int]) -> Iterator[int]:
    differ = pair.unequal()
    for step in resumed:
        place = int(np.searchsorted(pair.step, step))
        after = differ[place + 1 : place + 1 + ALIKE]
        if place < len(differ) and differ[place] and len(after) and not after.any():
            yield int(pair.step[place])


def _told(name: str, pairs: Sequence[Pair], rtol: float, precision: str) -> AlignedSeries:
    role = role_of(name)
    exact = role in (*FINGERPRINTS, Role.COUNT)
    if role is Role.RATE:
        rtol, precision = 1e-5, "learning rate"
    bitwise: tuple[At, int] | None = None
    material: At | None = None
    largest: float | None = None
    for pair in pairs:
        differ = pair.unequal()
        places = np.flatnonzero(differ)
        if len(places) and (bitwise is None or pair.step[places[0]] < bitwise[0].step):
            bitwise = pair.at(int(places[0])), pair.rank
        matter = places if exact else np.flatnonzero(differ & mattering(pair, rtol))
        if len(matter) and (material is None or pair.step[matter[0]] < material.step):
            material = pair.at(int(matter[0]))
        if not exact:
            found = _largest(pair)
            largest = found if largest is None or (found or 0) > largest else largest
    words = "any" if exact else _tolerance(rtol, precision)
    told = SeriesDifference(
        name,
        max(len(pair.step) for pair in pairs),
        max(pair.only_first for pair in pairs),
        max(pair.only_second for pair in pairs),
        bitwise[0] if bitwise else None,
        material,
        largest,
        words,
    )
    return AlignedSeries(role, tuple(pairs), told, bitwise[1] if bitwise else None)


def _tolerance(rtol: float, precision: str) -> str:
    return (
        f"more than {small(rtol)} of the value ({precision}) and than {SPREADS:g} times the "
        f"spread of earlier gaps; {ALWAYS:.0%} always"
    )


def mattering(pair: Pair, rtol: float) -> Bools:
    """Where a gap is more than arithmetic and the earlier gaps account for.

    A gap matters beyond the larger of `rtol` times the value and six times the
    root mean square of the gaps since the first one, once there are five of
    them. Gaps that creep up hide behind their own past that way, so one of a
    hundredth of the value matters in any case.
    """
    first, second = (np.asarray(v, np.float64) for v in (pair.first, pair.second))
    with np.errstate(invalid="ignore", over="ignore"):
        gap: Floats = np.abs(first - second)
        scale = np.maximum(np.abs(first), np.abs(second))
        finite = np.isfinite(gap) & np.isfinite(scale)
        spread = _earlier(np.where(finite, gap, 0.0))
        limit = np.maximum(rtol * scale, np.minimum(SPREADS * spread, ALWAYS * scale))
        beyond: Bools = gap > limit
    return np.where(finite, beyond, pair.unequal())


def _earlier(gap: Floats) -> Floats:
    """Root mean square of the gaps before each, from the first that is not zero on."""
    spread = np.zeros(len(gap))
    began = np.flatnonzero(gap)
    if len(began):
        since = gap[began[0] :]
        largest = float(since.max())
        squares = np.cumsum((since / largest) ** 2)
        counts = np.arange(1, len(since) + 1)
        means = largest * np.sqrt(squares / counts)
        means[: FEWEST_GAPS - 1] = 0.0
        spread[began[0] + 1 :] = means[:-1]
    return spread


def _largest(pair: Pair) -> float | None:
    first, second = (np.asarray(v, np.float64) for v in (pair.first, pair.second))
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(first - second)
    finite = gap[np.isfinite(gap)]
    return float(finite.max()) if len(finite) else None
