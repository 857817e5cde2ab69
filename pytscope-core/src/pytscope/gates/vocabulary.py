"""What budgets may be about: every metric by its name, for one run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

import attrs

from pytscope.analyses.timing import Timing
from pytscope.gates.other_metrics import (
    MEMORY_METRICS,
    analysis_metric,
    analysis_names,
    finding_metrics,
    memory_columns,
    memory_metrics,
    record_metrics,
)
from pytscope.gates.reading import Facts, Metric
from pytscope.gates.scalar_metrics import SCALAR_METRICS, logged_names, scalar_metrics
from pytscope.gates.time_metrics import (
    PHASE_METRICS,
    phase_metrics,
    step_metrics,
    wall_metrics,
)
from pytscope.model.records import PHASES
from pytscope.model.report import Report
from pytscope.model.wording import did_you_mean
from pytscope.runs.run import Run

SCALARS = ("loss", "grad_norm", "lr")
"""Logged values whose metrics need no `scalar.` before them, in any run."""
MEMORY = ("allocated", "reserved", "peak", "rss")
"""Memory columns that are known in any run."""


class UnknownMetric(ValueError):
    """A budget is about something that does not exist."""


@attrs.frozen(eq=False)
class Vocabulary:
    """The metrics of a run.

    Attributes:
        facts: The run and its analysis.
        metrics: Those known without being asked for, by name.
    """

    facts: Facts
    metrics: Mapping[str, Metric]

    @classmethod
    def of(cls, report: Report, run: Run) -> Vocabulary:
        """The vocabulary of an analysed run."""
        facts = Facts(report, run)
        metrics: dict[str, Metric] = {}
        for metric in _own(facts):
            metrics.setdefault(metric.name, metric)
        return cls(facts, metrics)

    def metric(self, name: str) -> Metric:
        """The metric of a name.

        A phase and a logged value of one's own may be named whether this run has
        them or not: `phase.augment.share`, `scalar.val/accuracy.last`.

        Raises:
            UnknownMetric: There is none; says the closest name.
        """
        found = self.metrics.get(name) or self._open(name)
        if found is None:
            kind, _, rest = name.partition(".")
            absent = f": no rule {rest} is loaded" if kind == "findings" and "." in rest else ""
            msg = f"unknown metric {name!r}{absent}{did_you_mean(name, self.near(name))}"
            raise UnknownMetric(msg)
        return found

    def near(self, name: str) -> Iterable[str]:
        """What a name that is none can have been meant as."""
        kind, _, rest = name.partition(".")
        if kind == "analyses":
            return analysis_names(self.facts, rest)
        if kind == "findings" and "." in rest:
            return [each for each in self.metrics if each.count(".") > 1 and each.startswith(kind)]
        return self.metrics

    def _open(self, name: str) -> Metric | None:
        """A metric whose name holds a name of the user's."""
        kind, _, rest = name.partition(".")
        if kind == "phase":
            made = chain.from_iterable(phase_metrics(self.facts, p) for p in _phases(rest))
        elif kind == "scalar":
            made = chain.from_iterable(
                scalar_metrics(self.facts, s) for s in _before(rest, SCALAR_METRICS)
            )
        elif kind == "memory":
            made = chain.from_iterable(
                memory_metrics(self.facts, c) for c in _before(rest, MEMORY_METRICS)
            )
            rest = name
        elif kind == "analyses":
            return analysis_metric(self.facts, rest)
        else:
            return None
        found = next((metric for metric in made if metric.name == rest), None)
        return found and attrs.evolve(found, name=name)


def _own(facts: Facts) -> Iterator[Metric]:
    """Every metric of a run, in the order in which they are listed."""
    yield from step_metrics(facts)
    timing = facts.analysis(Timing)
    for phase in dict.fromkeys((*PHASES, *(timing.phases if timing is not None else ()))):
        yield from phase_metrics(facts, phase)
    yield from wall_metrics(facts)
    yield from finding_metrics(facts)
    yield from record_metrics(facts)
    for column in dict.fromkeys((*MEMORY, *memory_columns(facts))):
        yield from memory_metrics(facts, column)
    for scalar in dict.fromkeys((*SCALARS, *logged_names(facts))):
        yield from scalar_metrics(facts, scalar)


def _phases(rest: str) -> Iterator[str]:
    """Names of phases that the rest of a metric's name may hold."""
    for ending in PHASE_METRICS:
        tail = f".{ending}" if ending == "share" else f"_{ending}"
        if rest.endswith(tail) and len(rest) > len(tail):
            yield rest.removesuffix(tail)


def _before(rest: str, endings: Iterable[str]) -> Iterator[str]:
    for ending in endings:
        if rest.endswith(f".{ending}") and len(rest) > len(ending) + 1:
            yield rest.removesuffix(f".{ending}")
