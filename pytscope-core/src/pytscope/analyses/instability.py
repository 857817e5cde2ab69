"""`Instability`: moments at which several axes stand out together, and what chance makes of it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import attrs

from pytscope.analyses.event_mask import WORDS
from pytscope.analyses.spikes import TITLES
from pytscope.analyses.units import count
from pytscope.model.jsonable import SHORTENED
from pytscope.model.panels import Panel, Row, Status, Table, Text
from pytscope.model.wording import listed
from pytscope.signals.spikes import Spike

ALPHA = 0.01
"""Largest chance, corrected for the number of axis sets, that is called no chance."""
PLAIN = 0.001
"""The same, up to which nothing else is asked for: odd points alone come together, too."""
UNCLEAR = 0.1
"""Chance up to which a joint onset that is no finding is not passed over either."""
TIMES_EXPECTED = 3.0
"""Joint onsets, in those expected, that make many of them more than a matter of chance."""
MANY = 3
"""Joint onsets that are many."""
LEAST_SEVERE = 2
"""Severe spikes in a joint onset that make it more than one of odd points."""
MOST_WRITTEN = 100
_SHOWN = 8


@attrs.frozen(kw_only=True)
class Moment:
    """One joint onset.

    Attributes:
        first: Step at which half of the axes, or more, have begun to stand out.
        last: Step up to which half of them, or more, do.
        starts: Step of the onset of each axis, in the order of the set.
        spikes: The spike of each axis.
        spread: Logged points from the first onset to the last.
        lr: The learning rate logged last before it, or None.
        lr_share: The same over the highest of the run.
    """

    first: int
    last: int
    starts: tuple[int, ...]
    spikes: tuple[Spike, ...]
    spread: int
    lr: float | None = None
    lr_share: float | None = None

    @property
    def steps(self) -> str:
        """The steps as text: `step 70`, or `steps` with the first and the last."""
        if self.first == self.last:
            return f"step {self.first}"
        return f"steps {self.first}\N{EN DASH}{self.last}"


def _some(moments: tuple[Moment, ...]) -> tuple[Moment, ...]:
    return moments[:MOST_WRITTEN]


@attrs.frozen(eq=False, kw_only=True)
class AxisSet:
    """Axes that stand out together.

    Attributes:
        axes: Their names.
        onsets: Onsets of each that nothing else accounts for.
        points: Logged points at which an onset could have been.
        number: How many joint onsets.
        moments: The joint onsets; of more than 100, JSON holds the first.
        expected: Joint onsets within 5 points to be expected from unrelated axes.
        chance: Chance of what was seen, if the axes are unrelated; of three axes and
            more, where one of them comes by itself too often to be known as a part of
            it, the chance that it is there.
        corrected: The same, corrected for the number of axis sets (Holm).
        by: How the chance is known: `rates` of the axes, or `shifts` of them.
    """

    axes: tuple[str, ...]
    onsets: tuple[int, ...]
    points: int
    number: int
    moments: tuple[Moment, ...] = attrs.field(metadata={SHORTENED: _some})
    expected: float
    chance: float
    corrected: float
    by: str

    @property
    def telling(self) -> bool:
        """Whether this is more than a coincidence of odd points, whatever its chance."""
        if self.number >= MANY:
            return self.number >= TIMES_EXPECTED * self.expected
        closest = min(self.moments, key=lambda moment: moment.spread)
        return sum(spike.severe for spike in closest.spikes) >= LEAST_SEVERE

    def beyond_chance(self, most: float = ALPHA) -> bool:
        """Whether chance does not account for it.

        Args:
            most: Largest corrected chance.
        """
        return self.corrected <= most and (self.corrected <= PLAIN or self.telling)

    @property
    def titles(self) -> str:
        """The axes as text."""
        return " + ".join(TITLES[axis] for axis in self.axes)

    def spikes(self, axis: str) -> tuple[Spike, ...]:
        """What one axis of the set did, moment by moment."""
        place = self.axes.index(axis)
        return tuple(moment.spikes[place] for moment in self.moments)

    def lead(self, one: str, other: str, gap: int = 1) -> float | None:
        """Whole logged points by which one axis begins before the other, the median.

        Args:
            one: An axis.
            other: Another.
            gap: Steps from one logged point to the next.
        """
        if not {one, other} <= set(self.axes):
            return None
        a, b = self.axes.index(one), self.axes.index(other)
        return statistics.median(
            float(int((m.starts[b] - m.starts[a]) / max(gap, 1))) for m in self.moments
        )


@attrs.frozen
class KnownMoment:
    """Axes that stand out together where a known event accounts for it.

    Attributes:
        step: Step of the first onset.
        axes: The axes.
        kind: Kind of the event.
        accounted: The axes that it accounts for; the others stand out beside it.
    """

    step: int
    axes: tuple[str, ...]
    kind: str
    accounted: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The moment as a sentence."""
        names = self.accounted or self.axes
        said = f"step {self.step}: {_reason(self.kind)} accounts for "
        said += listed(TITLES[axis] for axis in names)
        others = [TITLES[axis] for axis in self.axes if axis not in names]
        return f"{said}; not for {listed(others)} beside" if others else said


@attrs.frozen(eq=False, kw_only=True)
class Instability:
    """Axes that stand out together.

    Attributes:
        axes: Axes that could be judged.
        points: Logged points of the coarsest of them that could be judged.
        tested: Axis sets of which every axis has an onset.
        sets: Those with a joint onset, the largest sets first.
        known: Joint onsets that known events account for, the first 100.
        known_number: How many there are.
    """

    axes: tuple[str, ...]
    points: int
    tested: int
    sets: tuple[AxisSet, ...]
    known: tuple[KnownMoment, ...] = ()
    known_number: int = 0

    def beyond_chance(self, most: float = ALPHA) -> tuple[AxisSet, ...]:
        """Axis sets whose joint onsets chance does not account for."""
        return tuple(one for one in self.sets if one.beyond_chance(most))

    def too_few(self, most: float = ALPHA) -> bool:
        """Whether there are too few points for a single coincidence to say anything."""
        return self.points < 1 or self.points ** -(len(self.axes) - 1.0) > most

    def unclear(self, most: float = ALPHA) -> tuple[AxisSet, ...]:
        """Axis sets of which nobody can tell whether their joint onsets are more than chance."""
        left = [one for one in self.sets if not one.beyond_chance(most)]
        few = self.too_few(most)
        return tuple(one for one in left if few or one.corrected <= UNCLEAR)

    def panel(self) -> Panel | None:
        """The TOGETHER panel; none where nothing stands out together."""
        if not self.sets and not self.known:
            return None
        found = self.beyond_chance()
        status = Status.NOT_MEASURED if self.unclear() else Status.OK
        status = Status.WATCH if found else status
        return Panel("together", "TOGETHER", self._headline(), status, self._rows(), order=46)

    def _headline(self) -> str:
        found = self.beyond_chance()
        parts = [f"{one.titles}: {count(one.number, 'joint onset')}" for one in found]
        unclear = self.unclear()
        parts += [
            f"{one.titles}: {count(one.number, 'joint onset')}, cannot tell whether by chance"
            for one in unclear
        ]
        chance = len(self.sets) - len(found) - len(unclear)
        if chance:
            parts.append(f"{count(chance, 'axis set')} no more often than by chance")
        if self.known_number:
            parts.append(f"{count(self.known_number, 'joint onset')} at known events")
        return " · ".join(parts)

    def _rows(self) -> Iterator[Row]:
        if self.sets:
            header = ("axes", "joint", "expected", "chance", "steps")
            yield Table(header, tuple(map(_cells, self.sets)), right=(1, 2, 3))
        for known in self.known[:_SHOWN]:
            yield Text(known.text)
        if self.sets:
            yield Text(
                f"chance is corrected for {count(self.tested, 'axis set')}; up to {ALPHA:g} it is "
                f"a finding, of single odd points up to {PLAIN:g}"
            )


def _reason(kind: str) -> str:
    return WORDS.get(kind, "a period of their own")


def _cells(one: AxisSet) -> tuple[str, ...]:
    steps = listed((m.steps.removeprefix("steps ").removeprefix("step ") for m in one.moments), 4)
    return (one.titles, f"{one.number:,}", f"{one.expected:.2g}", f"{one.corrected:.2g}", steps)
