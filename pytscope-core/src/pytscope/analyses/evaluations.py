"""`Evaluations`: what was evaluated outside of training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from pytscope.analyses.units import count, duration
from pytscope.model.panels import Panel, Row, Status, Table, Text
from pytscope.model.wording import listed

MOST_ROWS = 8
"""Evaluations that the panel lists one by one, the latest."""
MOST_VALUES = 4


@attrs.frozen
class Evaluated:
    """One evaluation.

    Attributes:
        kind: What it was called by, such as `test`.
        step: Steps that the model had made.
        wall_ns: How long it took.
        values: What it found, by name.
        ended_by: The exception that ended it, by name and message, or None.
        finished: Whether it wrote its end.
        live: Whether it is being recorded.
    """

    kind: str
    step: int
    wall_ns: int
    values: Mapping[str, int | float] = attrs.field(factory=dict)
    ended_by: str | None = None
    finished: bool = True
    live: bool = False

    @property
    def cut_off(self) -> bool:
        """Whether it ended before its end."""
        return self.ended_by is not None or not (self.finished or self.live)

    @property
    def outcome(self) -> str:
        """What it found, or what ended it."""
        if self.ended_by is not None:
            return f"ended by {self.ended_by}"
        named = (f"{name} {value:.4g}" for name, value in self.values.items())
        found = listed(named, MOST_VALUES) if self.values else ""
        if self.finished:
            return found or "-"
        if self.live:
            return f"still recording; {found}" if found else "still recording"
        return f"did not finish; {found}" if found else "cut off"


@attrs.frozen(eq=False, kw_only=True)
class Evaluations:
    """Evaluations outside of training, such as a test when it is over, beside the wall.

    Attributes:
        rank: Rank whose they are: the shown one, else the lowest that has any.
        wall_ns: How long they took together.
        evaluations: Each of them, in order.
        alone: Whether they are all that was recorded: the last one is then the run's wall.
    """

    rank: int
    wall_ns: int
    evaluations: tuple[Evaluated, ...]
    alone: bool = False

    def panel(self) -> Panel:
        """The EVALUATIONS panel."""
        cut_off = any(one.cut_off for one in self.evaluations)
        return Panel(
            "evaluations",
            "EVALUATIONS",
            f"{count(len(self.evaluations), 'evaluation')} outside of training · "
            f"{duration(self.wall_ns)}{self._counted}",
            Status.WATCH if cut_off else Status.OK,
            self._rows(),
            order=32,
        )

    @property
    def _counted(self) -> str:
        """What of their time is in the run's wall, as a clause."""
        if not self.alone:
            return ", not counted in the run's wall"
        return ", the last one is the run's wall" if len(self.evaluations) > 1 else ""

    def _rows(self) -> Iterator[Row]:
        left_out = len(self.evaluations) - MOST_ROWS
        if left_out > 0:
            yield Text(f"{count(left_out, 'earlier one')} not listed")
        rows = ((e.kind, str(e.step), duration(e.wall_ns), e.outcome) for e in self._latest)
        yield Table(("called by", "steps made", "took", "found"), tuple(rows), right=(1, 2))

    @property
    def _latest(self) -> tuple[Evaluated, ...]:
        return self.evaluations[-MOST_ROWS:]
