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
    """

    kind: str
    step: int
    wall_ns: int
    values: Mapping[str, int | float] = attrs.field(factory=dict)
    ended_by: str | None = None
    finished: bool = True

    @property
    def whole(self) -> bool:
        """Whether it came to its end."""
        return self.finished and self.ended_by is None

    @property
    def outcome(self) -> str:
        """What it found, or what ended it."""
        if self.ended_by is not None:
            return f"ended by {self.ended_by}"
        named = (f"{name} {value:.4g}" for name, value in self.values.items())
        found = listed(named, MOST_VALUES) if self.values else "-"
        return found if self.finished else f"did not finish; {found}" if self.values else "cut off"


@attrs.frozen(eq=False, kw_only=True)
class Evaluations:
    """Evaluations outside of training, such as a test when it is over, beside the wall.

    Attributes:
        rank: Rank whose they are: the shown one, else the lowest that has any.
        wall_ns: How long they took together.
        evaluations: Each of them, in order.
    """

    rank: int
    wall_ns: int
    evaluations: tuple[Evaluated, ...]

    def panel(self) -> Panel:
        """The EVALUATIONS panel."""
        cut_off = any(not one.whole for one in self.evaluations)
        return Panel(
            "evaluations",
            "EVALUATIONS",
            f"{count(len(self.evaluations), 'evaluation')} outside of training · "
            f"{duration(self.wall_ns)}, beside its wall",
            Status.WATCH if cut_off else Status.OK,
            self._rows(),
            order=32,
        )

    def _rows(self) -> Iterator[Row]:
        left_out = len(self.evaluations) - MOST_ROWS
        if left_out > 0:
            yield Text(f"{count(left_out, 'earlier one')} not listed")
        rows = ((e.kind, str(e.step), duration(e.wall_ns), e.outcome) for e in self._latest)
        yield Table(("called by", "steps made", "took", "found"), tuple(rows), right=(1, 2))

    @property
    def _latest(self) -> tuple[Evaluated, ...]:
        return self.evaluations[-MOST_ROWS:]
