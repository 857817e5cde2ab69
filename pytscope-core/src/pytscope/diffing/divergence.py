"""Where two runs part, bitwise and materially, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from pytscope.diffing.aligned import AlignedSeries, aligned_series
from pytscope.diffing.causes import causes
from pytscope.diffing.causes_outside import numbered_apart, shift_words
from pytscope.diffing.differences import differences as all_differences
from pytscope.diffing.evidence import PairEvidence, begin_of, resumes
from pytscope.diffing.facts import facts
from pytscope.diffing.identity import same_recording
from pytscope.diffing.logged import common
from pytscope.diffing.precision import tolerance
from pytscope.diffing.roles import NUMBERS, ORDER, Role, of_role
from pytscope.model.comparison import Difference, Divergence, Likelihood
from pytscope.model.wording import listed
from pytscope.runs.last_pass import ascending
from pytscope.runs.run import Run

_MOST_NAMES = 6
_FEWEST = 10
"""Values that show whether a series was rounded before it was logged."""
_LOOKED_AT = 1000
_DIGITS = range(1, 7)
_SUMMARY = re.compile(r"(.*/)?train_loss")
"""Names of the mean loss since the start of a process, which a resume begins anew."""


def divergence(
    a: Run,
    b: Run,
    differences: Sequence[Difference] | None = None,
    labels: tuple[str, str] = ("A", "B"),
) -> Divergence:
    """Compare what two runs logged, by global step, and say why they part.

    Every step counts, warm-up too; of a step that was redone the last attempt's
    values do. Steps that only one run has are counted, not held against it.

    Args:
        a: The first run.
        b: The second run.
        differences: The differences of these two runs, where they are known.
        labels: What to call them.
    """
    told = (facts(a), facts(b))
    rtol, precision = tolerance(*told)
    known = tuple(sorted({one.step for one in resumes((a, b))}))
    every = sorted(aligned_series(a, b, rtol, precision, known), key=_order)
    series = tuple(one for one in every if not (known and _of_one_start(one)))
    steps, only_first, only_second = _steps(a, b)
    begins = begin_of(a), begin_of(b)
    if differences is None or any(len(one.values) != len(told) for one in differences):
        differences = all_differences((a, b), (0, 1))
    evidence = PairEvidence(
        runs=(a, b),
        labels=labels,
        series=series,
        facts=told,
        differences=tuple(differences),
        begin=begins[0] if begins[0] == begins[1] else None,
        rtol=rtol,
    )
    bitwise = evidence.first()
    return Divergence(
        first=labels[0],
        second=labels[1],
        steps=steps,
        only_first=only_first,
        only_second=only_second,
        series=tuple(one.told for one in series),
        bitwise=bitwise,
        material=evidence.first(material=True),
        identical=_identical(evidence),
        causes=causes(evidence),
        not_compared=tuple(_not_compared(evidence)),
    )


def _of_one_start(one: AlignedSeries) -> bool:
    """Whether a series is one number on all that one start made, as Trainers log at the end."""
    return one.told.compared == 1 and _SUMMARY.fullmatch(one.name) is not None


def _order(one: AlignedSeries) -> tuple[int, str]:
    return ORDER[one.role], one.name


def _steps(a: Run, b: Run) -> tuple[int, int, int]:
    """Steps that both have, and those that only one has, on the lowest common rank."""
    ranks = sorted(set(a.ranks) & set(b.ranks))
    if not ranks:
        return 0, sum(map(len, a.timelines[:1])), sum(map(len, b.timelines[:1]))
    steps = (run.rank(ranks[0]).step for run in (a, b))
    first, second = (own if ascending(own) else np.unique(own) for own in steps)
    shared = len(common(first, second)[0])
    return shared, len(first) - shared, len(second) - shared


def _identical(evidence: PairEvidence) -> bool | None:
    """Whether all is equal; batches alone tell that only if nothing recorded differs either."""
    if evidence.first() is not None:
        return False
    if evidence.seen(*NUMBERS):
        return True
    facts = (one for one in evidence.differences if one.likelihood is not Likelihood.HARDLY)
    if evidence.seen(Role.BATCH) and not any(facts):
        return True
    return True if same_recording(*evidence.runs) else None


def _not_compared(evidence: PairEvidence) -> Iterator[str]:
    a, b = evidence.runs
    first, second = evidence.labels
    if not set(a.ranks) & set(b.ranks):
        yield "No rank has records in both runs."
        return
    yield from _ranks(evidence)
    if evidence.series and not any(one.told.compared for one in evidence.series):
        yield f"No step that both made has a value. {_extents(evidence)}"
        return
    yield from _not_seen(evidence)
    names = [{name for t in run.timelines for name in t.scalars} for run in (a, b)]
    for mine, other, label in ((names[0], names[1], first), (names[1], names[0], second)):
        alone = sorted(mine - other)
        if alone:
            yield f"Only {label} logs {listed(alone, _MOST_NAMES)}."
    wound = sorted({step for one in evidence.series for step in one.wound})
    if wound:
        yield (
            f"Batches of step {listed(map(str, wound), _MOST_NAMES)} are not compared: a resumed "
            "loader was wound forward there, and those after it are equal."
        )
    clocks = of_role(sorted(names[0] & names[1]), Role.CLOCK)
    if clocks:
        yield f"Times, rates and memory are not compared as numbers: {listed(clocks, _MOST_NAMES)}."
    yield from _of_starts(evidence, names[0] & names[1])
    yield from _rounded(evidence)
    if evidence.begin is None:
        yield "The runs begin at different steps, so their initial states are not compared."


def _not_seen(evidence: PairEvidence) -> Iterator[str]:
    """What tells most of a divergence, and is not there."""
    if not evidence.seen(Role.LOSS):
        yield "No loss is recorded in both runs at a common step."
    if not evidence.seen(Role.BATCH):
        yield (
            "Batches are not compared: fingerprints are not recorded in both runs "
            "(AutoProfiler(fingerprint_batches=True))."
        )
    if not evidence.seen(Role.RATE):
        yield "Learning rates are not compared: they are not recorded in both runs."


def _extents(evidence: PairEvidence) -> str:
    """Which steps either has, and whether they are the same ones under other numbers."""
    spans = (run.timelines[0].step for run in evidence.runs)
    ends = [f"{int(step.min())} to {int(step.max())}" if len(step) else "none" for step in spans]
    first, second = evidence.labels
    said = f"Steps of {first}: {ends[0]}; of {second}: {ends[1]}."
    shift = numbered_apart(evidence.runs)
    return said if shift is None else f"{said} {shift_words(evidence.labels, shift)}"


def _of_starts(evidence: PairEvidence, both: AbstractSet[str]) -> Iterator[str]:
    """Series that both logged and that are left out, for they are of one start each."""
    kept = {one.name for one in evidence.series}
    left = [name for name in sorted(both - kept) if _SUMMARY.fullmatch(name)]
    if left:
        yield f"Not compared, for it is of what one start made: {listed(left, _MOST_NAMES)}."


def _ranks(evidence: PairEvidence) -> Iterator[str]:
    a, b = evidence.runs
    for run, other, label in ((a, b, evidence.labels[0]), (b, a, evidence.labels[1])):
        alone = [str(rank) for rank in run.ranks if rank not in set(other.ranks)]
        if alone:
            plural = "Rank" if len(alone) == 1 else "Ranks"
            yield f"{plural} {listed(alone, _MOST_NAMES)}: only {label} has records."


def _rounded(evidence: PairEvidence) -> Iterator[str]:
    for one in evidence.of(Role.LOSS):
        pair = one.pairs[0]
        parts = (pair.first[:_LOOKED_AT], pair.second[:_LOOKED_AT])
        values = np.concatenate(parts).astype(np.float64)
        values = values[np.isfinite(values) & (values != 0)]
        if len(np.unique(values)) < _FEWEST or bool(np.all(values == np.round(values))):
            continue
        for digits in _DIGITS:
            if bool(np.all(values == np.round(values, digits))):
                yield (
                    f"{one.name} was rounded to {digits} decimals before it was logged: smaller "
                    "differences do not show, and the first one shows late."
                )
                break
