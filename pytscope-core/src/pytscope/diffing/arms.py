"""The two arms of a comparison, and what counts as one observation of either."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from pytscope.diffing.identity import identity, seed_of
from pytscope.runs.run import Run


@attrs.frozen
class Arm:
    """Runs that are meant to repeat each other, told apart by what counts as one observation.

    Attributes:
        runs: Places of its runs among all that are compared.
        units: The places by observation: runs that are copies of each other are one,
            and, where several seeds are known, so are the runs of one seed.
        seeds: The seed of every unit, or an empty string.
        copies: Runs that agree bit for bit with another one of the arm.
        shared: Runs that stand for a seed together with others.
    """

    runs: tuple[int, ...]
    units: tuple[tuple[int, ...], ...]
    seeds: tuple[str, ...]
    copies: int = 0
    shared: int = 0


def arms_of(runs: Sequence[Run], arms: Sequence[int]) -> tuple[Arm, Arm]:
    """The two arms of a comparison.

    Args:
        runs: All runs.
        arms: 0 or 1 for every run.
    """
    first, second = (
        _arm(runs, [place for place, arm in enumerate(arms) if arm == which]) for which in (0, 1)
    )
    return first, second


def _arm(runs: Sequence[Run], places: Sequence[int]) -> Arm:
    distinct = {identity(runs[place]): place for place in reversed(places)}
    kept = sorted(distinct.values())
    by_seed: dict[str, list[int]] = {}
    for place in kept:
        by_seed.setdefault(seed_of(runs[place]), []).append(place)
    copies = len(places) - len(kept)
    if "" in by_seed or len(by_seed) == 1:
        seeds = tuple(seed_of(runs[place]) for place in kept)
        return Arm(tuple(places), tuple((place,) for place in kept), seeds, copies)
    shared = sum(len(same) for same in by_seed.values() if len(same) > 1)
    units = tuple(map(tuple, by_seed.values()))
    return Arm(tuple(places), units, tuple(by_seed), copies, shared)
