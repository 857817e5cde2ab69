"""The GATE section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from pytscope.analyses.units import count
from pytscope.gates.units import told
from pytscope.model.gate import Judged, Standing
from pytscope.model.panels import Panel, Row, Status, Table, Text


def gate_panel(judged: tuple[Judged, ...], notes: Iterable[str]) -> Panel:
    """Every budget as a row, then why those that are not plainly kept are not."""
    passed = not any(one.fails for one in judged)
    status = Status.OK if passed else Status.BAD
    return Panel("gate", "GATE", _headline(judged), status, _rows(judged, notes), order=0)


def _headline(judged: tuple[Judged, ...]) -> str:
    """Whether the gate is passed, and how many budgets there are of each standing."""
    standings = Counter(one.standing for one in judged)
    if not judged:
        return "nothing was judged"
    word = "failed" if any(one.fails for one in judged) else "passed"
    by = " · ".join(f"{standings[s]} {s.value}" for s in Standing if standings[s])
    return f"{word}: {count(len(judged), 'budget')}, {by}"


def _rows(judged: tuple[Judged, ...], notes: Iterable[str]) -> Iterator[Row]:
    relative = any(one.baseline is not None for one in judged)
    header = ("", "budget", "measured", "limit", *(("baseline",) if relative else ()))
    rows = tuple(_cells(one)[: len(header)] for one in judged)
    if rows:
        yield Table(header, rows, right=tuple(range(2, len(header))))
    for reason, names in _reasons(judged).items():
        yield Text(f"{', '.join(names)}: {reason}")
    yield from map(Text, notes)


def _reasons(judged: tuple[Judged, ...]) -> dict[str, list[str]]:
    """What has to be said, and of which budgets; by their metric where that is theirs alone."""
    metrics = Counter(one.metric for one in judged)
    said: dict[str, list[str]] = {}
    for one in judged:
        if one.reason:
            name = one.metric if metrics[one.metric] == 1 else one.budget
            said.setdefault(one.reason, []).append(name)
    return said


def _cells(one: Judged) -> tuple[str, ...]:
    value = "-" if one.value is None else told(one.value, one.unit, one.limit)
    limit = "-" if one.limit is None else told(one.limit, one.unit, one.value)
    base = "-" if one.baseline is None else told(one.baseline, one.unit)
    return (one.standing.value, one.budget, value, limit, base)
