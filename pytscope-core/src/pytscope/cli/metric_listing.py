"""`pytscope check --list`: what can have a budget, with a run's values."""

from __future__ import annotations

from collections.abc import Iterator

from pytscope.cli.page import print_page
from pytscope.gates.units import told
from pytscope.gates.vocabulary import Vocabulary
from pytscope.model.escaping import visible

_OTHERS = (
    "Also: phase.NAME.share and phase.NAME_ms.median (mean, p95) of a phase of one's own,",
    "scalar.NAME.last (tail, first, min, max, mean, median) of a logged value,",
    "memory.NAME.high (last, growth), and analyses.NAME.KEY of a number in the JSON report.",
)


def print_metrics(vocabulary: Vocabulary) -> None:
    """Print a line a metric with its value, then those that were not measured, and why."""
    read = [(metric, metric.read()) for metric in vocabulary.metrics.values()]
    there = [(m, reading.value) for m, reading in read if reading.value is not None]
    rows = [(visible(m.name), told(value, m.unit), visible(m.about)) for m, value in there]
    missing: dict[str, list[str]] = {}
    for metric, reading in read:
        if reading.value is None:
            missing.setdefault(reading.missing, []).append(metric.name)
    print_page("\n".join((*_lines(rows), *_missing(missing), "", *_OTHERS)))


def _lines(rows: list[tuple[str, str, str]]) -> Iterator[str]:
    name, value = (max((len(row[i]) for row in rows), default=0) for i in (0, 1))
    for row in rows:
        yield f"{row[0]:<{name}}  {row[1]:>{value}}  {row[2]}"


def _missing(missing: dict[str, list[str]]) -> Iterator[str]:
    if missing:
        yield ""
        yield "Not measured in this run:"
    for reason, names in missing.items():
        yield f"  {', '.join(names)}"
        yield f"    {reason}"
