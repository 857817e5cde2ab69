"""What two arms of runs came out at: losses and other results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import attrs
import numpy as np

from pytscope.diffing import judging
from pytscope.diffing.arms import Arm, arms_of
from pytscope.diffing.batches import BATCH
from pytscope.diffing.identity import same_recording
from pytscope.diffing.logged import Series, names, series
from pytscope.diffing.metrics import Metric, Outcome, metric, outcomes_of
from pytscope.diffing.noise import NoiseStore, spread_of
from pytscope.diffing.numbers import ROUNDING
from pytscope.diffing.spread import Spread, against, spread_of_an_arm
from pytscope.diffing.told import Told, sentence
from pytscope.model.comparison import Measured, Verdict
from pytscope.model.wording import listed
from pytscope.runs.run import Run
from pytscope.stats import last_tenth

MOST_UNDIRECTED = 8
"""Logged values without a known direction that are shown."""
_FEWEST_FOR_NOISE = 5
_LINE = 2


@attrs.frozen(eq=False)
class _Case:
    """A metric with all that is known of it."""

    metric: Metric
    values: tuple[float, ...]
    identical_steps: int | None = None
    noise_within: float | None = None
    cut: str = ""


def outcomes(
    runs: Sequence[Run], arms: Sequence[int], noise: NoiseStore | None = None
) -> tuple[Measured, ...]:
    """Set the results of two arms of runs beside each other.

    Every run has one number a metric: the last value of an evaluation, the mean over
    the last tenth of the steps of what is logged in training; up to the last step
    that all runs have. From three runs an arm on, Welch's t test over the runs, or
    over pairs where both arms have the same seeds and the same batches, with Holm's
    correction over the metrics. With fewer runs of either arm there is no verdict; where a
    store, or the other arm, tells how much repeats differ, the difference is held against
    that.

    Args:
        runs: The runs.
        arms: 0 or 1 for every run; each at least once.
        noise: Earlier repeats.

    Returns:
        Evaluations first, then training metrics, then what has no known direction.
    """
    first, second = arms_of(runs, arms)
    known = [(outcome, _equal(outcome)) for outcome in outcomes_of(runs)]
    repeated = any(steps and steps > 1 and _telling(outcome) for outcome, steps in known)
    repeated = repeated or all(_once_more(runs[0], other) for other in runs[1:])
    cases = [_case(outcome, steps if repeated else None) for outcome, steps in known]
    directed = [c for c in cases if c.metric.lower_is_better is not None]
    others = [c for c in cases if c.metric.lower_is_better is None][:MOST_UNDIRECTED]
    pairs = _pairs(runs, first, second)

    def judge(case: _Case) -> judging.Judgement:
        ours, theirs = _units(case.values, first), _units(case.values, second)
        lookup = _lookup(runs, first, second, noise, case.metric.name)
        return _judged(case.metric, ours, theirs, first, second, pairs, lookup)

    return tuple(
        measured
        for family in (directed, others)
        for measured in _family(family, judge, first, second)
    )


def not_compared(runs: Sequence[Run]) -> tuple[str, ...]:
    """Sentences on the outcomes that cannot be compared: some run did not log them."""
    every = dict.fromkeys(name for run in runs for name in names(run) if metric(name) is not None)
    partly = [name for name in every if not all(name in names(run) for run in runs)]
    if not every:
        return ("no loss and no other result was logged by any run",)
    if not partly:
        return ()
    return (f"not logged by every run, and so not compared: {listed(partly, most=8)}",)


def _family(
    cases: Sequence[_Case],
    judge: Callable[[_Case], judging.Judgement],
    first: Arm,
    second: Arm,
) -> list[Measured]:
    judged = [None if case.identical_steps else judge(case) for case in cases]
    adjusted = judging.adjusted([None if j is None else j.p for j in judged])
    tests = sum(p is not None for p in adjusted)
    return [
        _measured(case, one, p, tests, first, second)
        for case, one, p in zip(cases, judged, adjusted, strict=True)
    ]


def _case(outcome: Outcome, equal: int | None) -> _Case:
    cut = f"compared up to step {outcome.last:,}, the last that every run has"
    return _Case(
        outcome.metric,
        outcome.values,
        equal,
        None if outcome.metric.evaluated else _noise_within(outcome.series),
        cut if outcome.longest > outcome.last else "",
    )


def _equal(outcome: Outcome) -> int | None:
    """Common steps at which all runs agree bit for bit, or None where they do not."""
    ours, *others = outcome.series
    counts = [ours.equals(other) for other in others]
    known = [count for count in counts if count]
    return min(known) if len(known) == len(counts) else None


def _once_more(one: Run, other: Run) -> bool:
    """Whether a run is compared with itself, which values that never move do not tell."""
    return one.name == other.name and same_recording(one, other)


def _telling(outcome: Outcome) -> bool:
    """Whether equal values are no chance: rounded ones of two runs may be equal once."""
    return len(np.unique(outcome.series[0].values)) > 1


def _noise_within(every: Sequence[Series]) -> float | None:
    """Step-to-step standard deviation about the line through the last values of a run.

    What is only rounding, of values that hardly move, is none: 0.
    """
    found, largest = [], 0.0
    for one in every:
        values = last_tenth(one.steps, one.values)
        values = values[np.isfinite(values)]
        if len(values) >= _FEWEST_FOR_NOISE:
            places = np.arange(len(values), dtype=np.float64)
            rest = values - np.polyval(np.polyfit(places, values, 1), places)
            found.append(float(rest @ rest) / (len(values) - _LINE))
            largest = max(largest, float(np.abs(values).max()))
    if not found:
        return None
    noise = math.sqrt(math.fsum(found) / len(found))
    return noise if noise > ROUNDING * largest else 0.0


def _units(values: Sequence[float], arm: Arm) -> list[float]:
    return [math.fsum(values[place] for place in unit) / len(unit) for unit in arm.units]


def _pairs(runs: Sequence[Run], first: Arm, second: Arm) -> tuple[tuple[int, int], ...]:
    """Places of the units that share a seed, when the arms have the same ones, and batches."""
    seeds = set(first.seeds)
    if "" in seeds or seeds != set(second.seeds) or len(seeds) < judging.FEWEST:
        return ()
    pairs = tuple((first.seeds.index(s), second.seeds.index(s)) for s in sorted(seeds))
    if len(pairs) != len(first.units) or len(pairs) != len(second.units):
        return ()
    same = all(
        _same_batches(runs[first.units[one][0]], runs[second.units[two][0]]) for one, two in pairs
    )
    return pairs if same else ()


def _same_batches(one: Run, two: Run) -> bool:
    ours, theirs = series(one, BATCH), series(two, BATCH)
    return bool(ours is not None and theirs is not None and ours.equals(theirs))


def _lookup(
    runs: Sequence[Run], first: Arm, second: Arm, noise: NoiseStore | None, name: str
) -> Callable[[], Spread | None]:
    ours, theirs = ([runs[place] for place in arm.runs] for arm in (first, second))
    return lambda: spread_of(noise, ours, theirs, name)


def _judged(
    metric: Metric,
    ours: Sequence[float],
    theirs: Sequence[float],
    first: Arm,
    second: Arm,
    pairs: Sequence[tuple[int, int]],
    lookup: Callable[[], Spread | None],
) -> judging.Judgement:
    enough = min(len(ours), len(theirs)) >= judging.FEWEST
    plain = judging.Judgement(_mean(theirs) - _mean(ours))
    if not all(map(math.isfinite, (*ours, *theirs))):
        high = metric.lower_is_better is not False
        return judging.by_rank(ours, theirs, worst_high=high) if enough else plain
    if enough and one_seed_each(first, second):
        return plain
    if enough and pairs:
        return judging.paired([ours[i] for i, _ in pairs], [theirs[j] for _, j in pairs])
    if enough:
        return judging.unpaired(ours, theirs)
    spread = lookup() or spread_of_an_arm(ours, theirs)
    if spread is None or (spread.of_one_seed and set(first.seeds) != set(second.seeds)):
        return plain
    return against(ours, theirs, spread)


def one_seed_each(first: Arm, second: Arm) -> bool:
    """Whether each arm has one seed for all of its runs, and not the same."""
    seeds = [set(arm.seeds) for arm in (first, second)]
    return all(len(known) == 1 and "" not in known for known in seeds) and seeds[0] != seeds[1]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _measured(
    case: _Case,
    judged: judging.Judgement | None,
    adjusted: float | None,
    tests: int,
    first: Arm,
    second: Arm,
) -> Measured:
    told = Told(
        noise_within=case.noise_within,
        cut=case.cut,
        tests=tests,
        adjusted=adjusted,
        runs=(len(first.units), len(second.units)),
        copies=first.copies + second.copies,
        shared=first.shared + second.shared,
        one_seed_each=one_seed_each(first, second),
    )
    ours = tuple(case.values[place] for place in first.runs)
    theirs = tuple(case.values[place] for place in second.runs)
    named = Measured(
        metric=case.metric.told,
        lower_is_better=case.metric.lower_is_better,
        first=ours,
        second=theirs,
        difference=0.0,
    )
    if judged is None:
        steps = case.identical_steps or 0
        many = f"{steps:,} common steps" if steps > 1 else "the one common step"
        detail = f"equal bit for bit at {many}"
        return attrs.evolve(named, relative=0.0, verdict=Verdict.IDENTICAL, detail=detail)
    return concluded(named, judged, told, _units(case.values, first), _units(case.values, second))


def concluded(
    named: Measured,
    judged: judging.Judgement,
    told: Told,
    ours: Sequence[float],
    theirs: Sequence[float],
) -> Measured:
    """A measured difference with its verdict and its sentence."""
    centre = _mean(ours)
    worse = _worse(ours, theirs, lower_is_better=named.lower_is_better is not False)
    verdict = judging.verdict(told.adjusted, lower_is_better=named.lower_is_better, worse=worse)
    relative = judged.difference / abs(centre) if centre and math.isfinite(centre) else None
    filled = attrs.evolve(
        named,
        difference=judged.difference,
        low=judged.low,
        high=judged.high,
        relative=relative if relative is not None and math.isfinite(relative) else None,
        p=judged.p,
        test=judged.test,
        noise=judged.noise,
        smallest=judged.smallest,
        verdict=verdict,
        interval_of="runs" if judged.known is None else "repeats",
        runs_needed=judged.needed,
    )
    return attrs.evolve(filled, detail=sentence(filled, judged, told))


def _worse(ours: Sequence[float], theirs: Sequence[float], *, lower_is_better: bool) -> bool:
    """Whether the second arm is on the worse side; runs that did not end well are worst."""
    bad = [sum(not math.isfinite(v) for v in values) / len(values) for values in (ours, theirs)]
    if bad[0] != bad[1]:
        return bad[1] > bad[0]
    centres = [
        np.median([v for v in values if math.isfinite(v)] or [0.0]) for values in (ours, theirs)
    ]
    if not bad[0]:
        centres = [np.mean(values) for values in (ours, theirs)]
    return bool(centres[1] > centres[0]) == lower_is_better
