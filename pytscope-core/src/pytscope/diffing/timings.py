"""How long the steps of two arms of runs take, and where the difference is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from pytscope.analyses.timing import PhaseTiming, Timing
from pytscope.diffing import judging
from pytscope.diffing.blocks import Centre, interval, mean_of, median_of
from pytscope.diffing.metrics import NS_PER_MS, STEP_TIME
from pytscope.diffing.noise import NoiseStore, spread_of
from pytscope.diffing.outcomes import concluded
from pytscope.diffing.spread import Spread, against, spread_of_an_arm
from pytscope.diffing.told import Told
from pytscope.model.comparison import Measured, Verdict
from pytscope.model.report import Report
from pytscope.runs.run import Floats, Run

LEAST_SHARE = 0.01
"""Share of a phase in the wall of some run from which it is compared."""
_USUAL = 0.5
_COUNTED = ("tokens", "samples")
OF_STEPS = "in these two recordings alone: repeats of either may differ as much"
_ONE_EACH = "one run an arm, and repeats of either may differ as much"
BEYOND, WITHIN = "more than the noise of their steps", "no more than the noise of their steps"


@attrs.frozen(eq=False)
class _Case:
    """One duration or rate.

    Attributes:
        metric: Its name.
        unit: Its unit.
        lower_is_better: Whether less is better.
        values: One number a run, first arm first.
        centre: The number of one run with its error, by place; asked for one run an arm.
    """

    metric: str
    unit: str
    lower_is_better: bool
    values: tuple[float, ...]
    centre: Callable[[int], Centre]


@attrs.frozen(eq=False)
class _Arms:
    """Timings of both arms, the first arm's first, and what counts once among them."""

    timed: tuple[Timing, ...]
    sizes: tuple[int, int]
    kept: tuple[tuple[int, ...], tuple[int, ...]]

    @property
    def copies(self) -> int:
        return sum(self.sizes) - sum(map(len, self.kept))

    def split(self, values: Sequence[float]) -> tuple[list[float], list[float]]:
        first, second = ([values[place] for place in places] for places in self.kept)
        return first, second


def timings(
    reports: Sequence[Report],
    arms: Sequence[int],
    noise: NoiseStore | None = None,
    runs: Sequence[Run] = (),
) -> tuple[Measured, ...]:
    """Compare the durations of steps, the throughput, and the larger phases.

    A run's number is the median over its rated steps, of phases that few steps
    have the mean. With one run an arm the interval is that of a circular block
    bootstrap over steps, and there is no verdict: steps of one run are not
    repeats. From three runs an arm on the runs are compared, as outcomes are.

    Args:
        reports: One a run; one without timing is left out.
        arms: 0 or 1 for every report.
        noise: Earlier repeats, for the step time.
        runs: The runs of the reports, to find their repeats by.

    Returns:
        Step time, throughput, then phases in display order. Empty when an arm has
        no timing.
    """
    pairs = [(arm, place) for place, arm in enumerate(arms) if _timing(reports[place])]
    ordered = sorted(pairs)
    timed = tuple(t for _, place in ordered if (t := _timing(reports[place])) is not None)
    sizes = sum(arm == 0 for arm, _ in ordered), sum(arm == 1 for arm, _ in ordered)
    if not all(sizes):
        return ()
    both = _Arms(timed, sizes, _distinct(timed, sizes))
    given = [runs[place] for _, place in ordered] if len(runs) == len(reports) else []

    def lookup(metric: str) -> Spread | None:
        if metric != STEP_TIME or not given:
            return None
        return spread_of(noise, given[: sizes[0]], given[sizes[0] :], metric)

    whole = [_step_time(timed), *_throughput(timed)]
    return (*_family(whole, both, lookup), *_family(_phases(timed), both, lookup))


def _timing(report: Report) -> Timing | None:
    found = report.analyses.get("timing")
    return found if isinstance(found, Timing) else None


def _distinct(
    timed: Sequence[Timing], sizes: tuple[int, int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Places of either arm without runs whose steps took exactly as long as those of another."""
    kept = []
    for places in (range(sizes[0]), range(sizes[0], sum(sizes))):
        known = {timed[place].wall.values.tobytes(): place for place in reversed(places)}
        kept.append(tuple(sorted(known.values())))
    return kept[0], kept[1]


def _step_time(timed: Sequence[Timing]) -> _Case:
    values = tuple(float(np.median(t.training.values)) / NS_PER_MS for t in timed)
    return _Case(STEP_TIME, "ms", True, values, lambda at: median_of(_ms(timed[at].training)))


def _throughput(timed: Sequence[Timing]) -> list[_Case]:
    for name in _COUNTED:
        known = [t.throughput[name].sum_per_s for t in timed if name in t.throughput]
        if len(known) == len(timed):
            return [_rate(f"{name}/s", tuple(known), timed)]
    steps = [t.steps_per_s for t in timed if t.steps_per_s is not None]
    return [_rate("steps/s", tuple(steps), timed)] if len(steps) == len(timed) else []


def _rate(unit: str, values: tuple[float, ...], timed: Sequence[Timing]) -> _Case:
    def centre(at: int) -> Centre:
        wall = mean_of(timed[at].wall.values)
        return attrs.evolve(wall, value=values[at], error=wall.error / wall.value * values[at])

    return _Case("throughput", unit, False, values, centre)


def _phases(timed: Sequence[Timing]) -> list[_Case]:
    names = dict.fromkeys(name for t in timed for name in t.phases)
    order = {name: place for place, name in enumerate(names)}
    found = [name for name in names if max(t.share(name) for t in timed) >= LEAST_SHARE]
    return [_phase(name, timed) for name in sorted(found, key=lambda n: order[n])]


def _phase(name: str, timed: Sequence[Timing]) -> _Case:
    phases = [t.phase(name) for t in timed]
    there = zip(phases, timed, strict=True)
    usual = all(not p.steps or p.steps >= _USUAL * t.steps for p, t in there)
    of, values = (median_of, np.median) if usual else (mean_of, np.mean)
    every = tuple(float(values(p.each.values)) / NS_PER_MS for p in phases)

    def centre(at: int) -> Centre:
        return of(_ms_of(phases[at]))

    return _Case(name if usual else f"{name}, mean a step", "ms", True, every, centre)


def _ms(column: Any) -> Floats:
    return np.asarray(column.values, np.float64) / NS_PER_MS


def _ms_of(phase: PhaseTiming) -> Floats:
    return _ms(phase.each)


def _family(
    cases: Sequence[_Case], both: _Arms, lookup: Callable[[str], Spread | None]
) -> list[Measured]:
    if all(np.array_equal(both.timed[0].wall.values, t.wall.values) for t in both.timed[1:]):
        return [_identical(case, both) for case in cases]
    judged = [_judged(case, both, lookup) for case in cases]
    adjusted = judging.adjusted([j.p for j in judged])
    told = [
        Told(
            adjusted=p,
            tests=sum(q is not None for q in adjusted),
            runs=(len(both.kept[0]), len(both.kept[1])),
            copies=both.copies,
        )
        for p in adjusted
    ]
    return [
        _measured(case, one, words, both)
        for case, one, words in zip(cases, judged, told, strict=True)
    ]


def _judged(case: _Case, both: _Arms, lookup: Callable[[str], Spread | None]) -> judging.Judgement:
    ours, theirs = both.split(case.values)
    if min(len(ours), len(theirs)) >= judging.FEWEST:
        return judging.unpaired(ours, theirs)
    spread = lookup(case.metric) or spread_of_an_arm(ours, theirs)
    if spread is not None:
        return against(ours, theirs, spread)
    return judging.Judgement(math.fsum(theirs) / len(theirs) - math.fsum(ours) / len(ours))


def _named(case: _Case, both: _Arms) -> Measured:
    return Measured(
        metric=case.metric,
        unit=case.unit,
        lower_is_better=case.lower_is_better,
        first=case.values[: both.sizes[0]],
        second=case.values[both.sizes[0] :],
        difference=0.0,
    )


def _identical(case: _Case, both: _Arms) -> Measured:
    detail = "every step took exactly as long: one recording, not two"
    named = _named(case, both)
    return attrs.evolve(named, relative=0.0, verdict=Verdict.IDENTICAL, detail=detail)


def _measured(case: _Case, judged: judging.Judgement, told: Told, both: _Arms) -> Measured:
    ours, theirs = both.split(case.values)
    named = concluded(_named(case, both), judged, told, ours, theirs)
    if not all(t.has_timeline == both.timed[0].has_timeline for t in both.timed):
        detail = "recorded time of some runs, wall time of others: not comparable"
        return attrs.evolve(named, verdict=Verdict.UNDECIDED, p=None, detail=detail)
    if judged.low is None and (len(ours), len(theirs)) == (1, 1):
        return _of_steps(named, case, both, told.clause_on_copies)
    return named


def _of_steps(named: Measured, case: _Case, both: _Arms, copies: str) -> Measured:
    """One run an arm: how sure its steps are of the difference, and no verdict."""
    first, second = (case.centre(places[0]) for places in both.kept)
    ends = interval(first, second)
    if ends is None:
        said = f"too few steps for an interval; {_ONE_EACH}"
        return attrs.evolve(named, detail="; ".join(filter(None, (said, copies))))
    low, high = ends
    said = WITHIN if low <= 0.0 <= high else BEYOND
    worth = f", steps worth {first.size:,.0f} and {second.size:,.0f} independent ones"
    return attrs.evolve(
        named,
        low=low,
        high=high,
        interval_of="steps",
        test=f"block bootstrap{worth if case.metric == STEP_TIME else ''}",
        detail="; ".join(filter(None, (f"{said}, {OF_STEPS}", copies))),
    )
