"""Single steps in which a rank that is not slow holds all others up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs
import numpy as np

from pytscope.analyses.few import MOST_RANKS
from pytscope.model.findings import Cost
from pytscope.model.jsonable import SHORTENED
from pytscope.runs.run import Ints, Run, exact_sum
from pytscope.stats import MAD_TO_SD, Bools, Floats
from pytscope_rules_distributed.attribution import saved_at_once_ns
from pytscope_rules_distributed.causes import phase_of
from pytscope_rules_distributed.effects import differences
from pytscope_rules_distributed.judging import Judged
from pytscope_rules_distributed.ranks import Ranks

SPIKE = 1.5
"""Multiple of the peers' own time from which one step stands out by itself."""
TWICE = 2.0
ANY_NOISE = 20.0
"""Multiple that is a pause in whatever noise."""
TAILS = 6.0
"""Times as far above the peers as the second farthest value below, so that it is no tail."""
MOST_OF = 0.25
"""Part of the steps from which on they are no single ones."""
ONE_RANKS = 0.5
"""Part of the excess that is one rank's, for it to be the one that holds others up."""
CHANCE = 0.001
"""Probability up to which so much on one rank is not taken for luck."""
MOST_SPIKES = 8
_REGULAR = 3


@attrs.frozen
class OneOff:
    """A single step in which a rank took far longer than its peers.

    Attributes:
        rank: The rank.
        step: Number of the step.
        excess_ns: What it took longer.
    """

    rank: int
    step: int
    excess_ns: int


def _few_steps(steps: tuple[int, ...]) -> tuple[int, ...]:
    return steps[:MOST_RANKS]


@attrs.frozen(kw_only=True)
class Pauses:
    """What single steps of ranks that are not slow cost.

    Attributes:
        rank: The rank most of it is owed to; None where it moves from rank to rank.
        ranks: Number of ranks that have such steps.
        steps: Numbers of the steps: of `rank`, else of all.
        longest: Largest of them first, of any rank.
        excess_ns: What all of them took longer, over ranks.
        saving: What it would save to have the ranks in those steps like their peers.
        every: Distance of the steps where it is always the same, else 0.
        phase: Phase in which most of it lies, or an empty string.
        phase_part: Part of it that lies there.
    """

    rank: int | None
    ranks: int
    steps: tuple[int, ...] = attrs.field(metadata={SHORTENED: _few_steps})
    longest: tuple[OneOff, ...]
    excess_ns: int
    saving: Cost
    every: int = 0
    phase: str = ""
    phase_part: float = 0.0


def pauses(ranks: Ranks, judged: Judged, run: Run | None) -> Pauses | None:
    """Find steps in which a rank that is not slow took far longer than its peers.

    All steps compared count, those too in which a rank evaluates or saves. Where more than
    a quarter of the steps are such, ranks differ all the time, and only what takes twice
    as long is a pause.
    """
    series = differences(ranks.own, judged.members)[judged.compared]
    mask = _standing_out(series, _lows(ranks, series, judged), judged)
    if mask.any(axis=0).sum() > MOST_OF * mask.shape[1]:
        mask &= series >= np.log(TWICE)
    if not mask.any():
        return None
    rows, columns = np.nonzero(mask)
    own = ranks.own[judged.compared[rows], columns]
    excess: Floats = np.asarray(own * -np.expm1(-series[rows, columns]), np.float64)
    by_row: Floats = np.asarray(np.bincount(rows, excess, len(mask)), np.float64)
    blamed = _blamed(mask, rows, columns, excess, by_row)
    cells: Bools = np.zeros(ranks.own.shape, np.bool_)
    cells[judged.compared] = mask
    its = np.flatnonzero(mask.any(axis=0))
    most = np.argsort(-by_row, kind="stable")[:MOST_SPIKES].tolist()
    places = [place for place in most if mask[place].any()]
    phase, part = _phase(run, ranks, judged, mask, {p: by_row[p] for p in places})
    distances = np.diff(ranks.step.values[its])
    regular = len(its) >= _REGULAR and (distances == distances[0]).all()
    return Pauses(
        rank=None if blamed is None else ranks.ranks[int(judged.compared[blamed])],
        ranks=int((by_row > 0).sum()),
        steps=tuple(ranks.step.values[its].tolist()),
        longest=tuple(_longest(ranks, judged, rows, columns, excess)),
        excess_ns=int(excess.sum()),
        saving=Cost(exact_sum(saved_at_once_ns(ranks.own, judged.members, cells)) / 1e9),
        every=int(distances[0]) if regular else 0,
        phase=phase,
        phase_part=part,
    )


def _blamed(mask: Bools, rows: Ints, columns: Ints, excess: Floats, by_row: Floats) -> int | None:
    """The place of the rank to name, the mask cut down to what is its; None for nobody."""
    place = int(by_row.argmax())
    its_own = (by_row > 0).sum() == 1 or _by_chance(excess, by_row) <= CHANCE
    if its_own and by_row[place] >= ONE_RANKS * by_row.sum():
        mask[np.arange(len(mask)) != place] = False
        return place
    largest = int(excess.argmax())
    if excess[largest] < ONE_RANKS * excess.sum():
        return None
    mask[:] = False  # whoever else pauses: in that step it was this one
    mask[rows[largest], columns[largest]] = True
    return int(rows[largest])


def _by_chance(excess: Floats, by_row: Floats) -> float:
    """Bound on the probability that some rank has so much, if any could have had each pause.

    That of Chernoff, for all ranks together.
    """
    most, ranks = by_row.max(), len(by_row)
    scale = excess.max()
    bounds = [
        np.log1p(np.expm1(t * excess / scale) / ranks).sum() - t * most / scale
        for t in np.geomspace(0.01, 100.0, 60)
    ]
    return float(np.exp(min(min(bounds) + np.log(ranks), 0.0)))


def _lows(ranks: Ranks, series: Floats, judged: Judged) -> float:
    """How far below the usual values lie at most: what the noise's tails make, without pauses.

    The pauses of one of two or three ranks show below the others', but not below its
    peers' own usual times. The second farthest counts, for one may be anything.
    """
    logs = np.log(np.maximum(ranks.own[judged.compared], 1))
    sides = (-series, np.median(logs, axis=1, keepdims=True) - logs)
    return float(min(np.partition(side, -2, axis=None)[-2] for side in sides))


def _standing_out(series: Floats, lows: float, judged: Judged) -> Bools:
    """Values far above the peers and beyond what noise as of most steps makes of so many."""
    if not series.size:
        return np.zeros(series.shape, np.bool_)
    middle = np.median(series, axis=1, keepdims=True)
    usual = MAD_TO_SD * np.median(np.abs(series - middle), axis=1)
    limit = 3.0 + np.sqrt(2.0 * np.log(series.size))
    least = max(np.log(SPIKE), min(TAILS * lows, np.log(ANY_NOISE)))
    bar = np.maximum(least, limit * np.maximum(usual, np.median(usual)))
    mask: Bools = series >= bar[:, None]
    mask[np.isin(judged.compared, judged.found)] = False
    return mask


def _phase(
    run: Run | None, ranks: Ranks, judged: Judged, mask: Bools, excess: Mapping[int, float]
) -> tuple[str, float]:
    """The phase of most excess, in the steps themselves or after the collective before them.

    Args:
        run: The run, or None.
        ranks: The ranks.
        judged: What is known of them.
        mask: Which steps of those compared are pauses.
        excess: That of the ranks to look at, by their place among those compared.
    """
    if run is None:
        return "", 0.0
    found: dict[str, float] = {}
    for place, ns in excess.items():
        row = int(judged.compared[place])
        cohort = next(members for members in judged.members if row in members)
        its = mask[place] | np.append(mask[place, 1:], False)
        phase, part = phase_of(run, ranks, row, np.setdiff1d(cohort, [row]), its) or ("", 0.0)
        found[phase] = found.get(phase, 0.0) + part * ns
    most = max(found, key=lambda name: found[name], default="")
    part = found[most] / max(sum(excess.values()), 1.0) if most else 0.0
    return (most, part) if part >= ONE_RANKS else ("", 0.0)


def _longest(
    ranks: Ranks, judged: Judged, rows: Ints, columns: Ints, excess: Floats
) -> Iterator[OneOff]:
    for i in np.argsort(-excess, kind="stable")[:MOST_SPIKES]:
        rank = ranks.ranks[int(judged.compared[rows[i]])]
        yield OneOff(rank, int(ranks.step.values[columns[i]]), int(excess[i]))
