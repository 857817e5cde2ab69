"""What two runs show of why they part: first differences by what they tell, and resumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from pytscope.diffing.aligned import AlignedSeries, Pair, unequal
from pytscope.diffing.differences import NOT_EVERY, changed
from pytscope.diffing.facts import attempt_facts
from pytscope.diffing.kinds import RATE
from pytscope.diffing.numbers import small, told_apart
from pytscope.diffing.restated import repeats
from pytscope.diffing.roles import NUMBERS, ORDER, Role
from pytscope.model.comparison import At, Difference, Kind, Likelihood
from pytscope.model.records import Flag
from pytscope.runs.last_pass import counting
from pytscope.runs.run import Run

BATCHES = (Role.BATCH, Role.COUNT)
SOON = 2
"""Compared steps after a resume within which what it lost shows."""


@attrs.frozen(eq=False)
class Resume:
    """A start of one of the runs that goes on from a step.

    Attributes:
        place: 0 for the first run, 1 for the second.
        step: The step it goes on from.
        facts: Configuration and provenance of that attempt.
        changed: Facts that are not those of the attempt before it and may change numbers.
        before: Facts of the attempt before it, in either run; empty where none is known.
        began: Whether the recording begins with it.
    """

    place: int
    step: int
    facts: Mapping[str, Any]
    changed: tuple[Difference, ...] = ()
    before: Mapping[str, Any] = attrs.field(factory=dict)
    began: bool = False

    def sides(self, pair: Pair) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Values of the run that goes on, and of the other one."""
        return (pair.first, pair.second) if self.place == 0 else (pair.second, pair.first)


@attrs.frozen(eq=False, kw_only=True)
class PairEvidence:
    """What is known of two runs that were compared.

    Attributes:
        runs: The runs.
        labels: Their labels.
        series: Their series.
        facts: Their facts.
        differences: Facts that differ between the two.
        begin: Step that both begin with, or None when they begin apart.
        rtol: Share of a value that is nothing but rounding.
    """

    runs: tuple[Run, Run]
    labels: tuple[str, str]
    series: tuple[AlignedSeries, ...]
    facts: tuple[Mapping[str, Any], Mapping[str, Any]]
    differences: tuple[Difference, ...]
    begin: int | None
    rtol: float

    def of(self, *roles: Role) -> list[AlignedSeries]:
        """The series that tell one of some things."""
        return [one for one in self.series if one.role in roles]

    def seen(self, *roles: Role) -> bool:
        """Whether both runs recorded such a series, at a common step at least."""
        return any(one.told.compared for one in self.of(*roles))

    def first(self, *roles: Role, material: bool = False) -> At | None:
        """Where such series first differ, the earlier in the making of a step first."""
        found = [
            (at.step, ORDER[one.role], at)
            for one in self.of(*(roles or tuple(Role)))
            if (at := one.told.material if material else one.told.bitwise) is not None
        ]
        return min(found, key=lambda entry: entry[:2])[2] if found else None

    def at_step(self, step: int, role: Role) -> bool:
        """Whether both logged such a series at a step, and no such series differs there."""
        first = self.first(role)
        there = any(one.logged(step) for one in self.of(role))
        return there and (first is None or first.step > step)

    def series_of(self, at: At) -> AlignedSeries:
        """The series that a difference is of."""
        return next(one for one in self.series if one.name == at.series)

    def since(self, step: int, at: At) -> int:
        """How many compared steps lie between a step and a difference.

        A series that is logged now and then would hide how long others agreed.
        """
        one = self.series_of(at)
        alike = self.of(*NUMBERS) if one.role in NUMBERS else [one]
        return max(other.place(at.step) - other.place(step) for other in alike)

    def rank(self, at: At) -> str:
        """On which rank a difference was seen, in words; empty where there is but one."""
        several = len(self.runs[0].ranks) > 1
        rank = self.series_of(at).rank
        return f" on rank {rank}" if several and rank is not None else ""

    @property
    def number(self) -> At | None:
        """Where what training computes first differs."""
        return self.first(*NUMBERS)

    @property
    def horizon(self) -> float:
        """The step by which a cause must have shown: where the numbers differ materially."""
        at = self.first(*NUMBERS, material=True) or self.number
        return np.inf if at is None else at.step

    @property
    def at_start(self) -> bool:
        """Whether the numbers differ in the first step that was made, before any update."""
        at = self.number
        return at is not None and at.step == self.begin

    @property
    def first_value(self) -> bool:
        """Whether the first value that both logged differs, be it that of the first step or not."""
        at = self.number
        return at is not None and self.series_of(at).place(at.step) == 0

    @property
    def second(self) -> bool:
        """Whether the first step's numbers agree, and those after the first update do not."""
        at = self.number
        if at is None or self.begin is None or self.first_value:
            return False
        return at.step == self.begin + 1

    def topic(self, kind: Kind, *, hardly: bool = False) -> list[Difference]:
        """Differences of a kind that may change numbers; what one run lacks shows none.

        What only repeats another difference is left to that one.
        """
        return [
            one
            for one in self.differences
            if one.kind is kind
            and one.why != NOT_EVERY
            and (hardly or not (one.likelihood is Likelihood.HARDLY or repeats(one)))
        ]

    def rates(self) -> list[Difference]:
        """Differences in the settings of the learning rate."""
        return [one for one in self.differences if one.why == RATE]

    def told(self, name: str) -> tuple[Any, Any]:
        """A fact of either run; None where it is not recorded."""
        return self.facts[0].get(name), self.facts[1].get(name)

    def values(self, at: At) -> str:
        """The values of a difference, and how far they are apart."""
        first, second = told_apart(at.first, at.second)
        share = relative(at)
        apart = f", {small(share)} of the value apart" if np.isfinite(share) else ""
        return f"{first} in {self.labels[0]} and {second} in {self.labels[1]}{apart}"


def relative(at: At) -> float:
    """The gap as a share of the larger value; infinite where one is not finite."""
    scale = max(abs(at.first), abs(at.second))
    gap = abs(at.first - at.second)
    return float(gap / scale) if np.isfinite(gap) and np.isfinite(scale) and scale else np.inf


def begin_of(run: Run) -> int | None:
    """The step that a run begins with, of the lowest rank; None without a record.

    Sources that know no attempts may leave out a warm-up: their runs begin with 0.
    """
    attempts = run.timelines[0].attempts if run.timelines else ()
    if not attempts:
        return None
    return attempts[0].first_step if run.has_timeline else 0


def resumes(runs: Sequence[Run]) -> Iterator[Resume]:
    """The starts of two runs that go on from a step, by step."""
    begins = [begin_of(run) for run in runs]
    found = []
    for place, run in enumerate(runs):
        attempts = run.timelines[0].attempts if run.timelines and run.has_timeline else ()
        other = begins[1 - place]
        told = [attempt_facts(attempt, run) for attempt in attempts]
        if attempts and other is not None and attempts[0].first_step > other:
            found.append(Resume(place, attempts[0].first_step, told[0], began=True))
        for number in range(1, len(attempts)):
            before, now = told[number - 1 : number + 1]
            news = tuple(changed(before, now))
            found.append(Resume(place, attempts[number].first_step, now, news, before))
    yield from sorted(found, key=lambda one: one.step)


def went_on(evidence: PairEvidence, resume: Resume) -> tuple[int, int]:
    """What a run had made beyond a resume before it was resumed, against the other run.

    Returns:
        Steps at which its loss was the other run's to the last bit, and those compared.
    """
    mine, other = evidence.runs[resume.place], evidence.runs[1 - resume.place]
    for one in evidence.of(Role.LOSS):
        rank = one.pairs[0].rank
        timeline = mine.rank(rank)
        rows, values = timeline.column("scalar", one.name)
        redone = timeline.has(Flag.REDONE)[rows] & (timeline.step[rows] >= resume.step)
        steps, known = counting(other.rank(rank), one.name)
        there, here, beside = np.intersect1d(
            timeline.step[rows][redone], steps, return_indices=True
        )
        equal = ~unequal(values[redone][here], known[beside])
        return int(np.count_nonzero(equal)), len(there)
    return 0, 0
