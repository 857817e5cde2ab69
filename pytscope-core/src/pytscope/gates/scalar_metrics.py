"""Metrics of logged values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from pytscope.analyses.units import count
from pytscope.gates.reading import Facts, Metric, Reading, absent
from pytscope.runs.run import Floats, Ints, Run
from pytscope.stats import last_tenth

SCALAR_METRICS = {
    "last": "last logged {}",
    "tail": "mean of {} over the last tenth of its steps",
    "first": "first logged {}",
    "min": "smallest {}",
    "max": "largest {}",
    "mean": "mean {}",
    "median": "median {}",
}
"""Endings of the metrics of a logged value, and what they are."""


def logged_names(facts: Facts) -> tuple[str, ...]:
    """Names of everything that any rank logged, in an evaluation outside of training as well."""
    logged = [name for t in facts.run.timelines for name in t.scalars]
    return tuple(dict.fromkeys((*logged, *evaluated_names(facts.run))))


def evaluated_names(run: Run) -> tuple[str, ...]:
    """Names of the values that evaluations outside of training found."""
    return tuple(dict.fromkeys(name for one in run.evaluations for name in one.values))


def evaluated_alone(run: Run, metric: str) -> bool:
    """Whether a metric is of evaluations outside of training, and of no step.

    Args:
        run: The run.
        metric: Name of the metric, as budgets write it.
    """
    name, _, ending = metric.removeprefix("scalar.").rpartition(".")
    stepped = any(name in timeline.scalars for timeline in run.timelines)
    return ending in SCALAR_METRICS and name in evaluated_names(run) and not stepped


def scalar_metrics(facts: Facts, scalar: str) -> Iterator[Metric]:
    """Metrics of one logged value, over every step of the lowest rank that logged it."""
    for ending, about in SCALAR_METRICS.items():
        read = partial(_scalar, facts, scalar, ending)
        yield Metric(f"{scalar}.{ending}", "", about.format(scalar), read)


def _scalar(facts: Facts, scalar: str, ending: str) -> Reading:
    series = _series(facts, scalar)
    if series is None:
        return absent(f"nothing was logged as `{scalar}`")
    rank, steps, values = series
    note = [f"of rank {rank}"] if len(facts.run.timelines) > 1 else []
    if odd := int(np.count_nonzero(~np.isfinite(values))):
        note.append(f"{count(odd, 'value')} of {len(values):,} not finite")
    return Reading(_summary(steps, values, ending), note="; ".join(note))


def _series(facts: Facts, scalar: str) -> tuple[int, Ints, Floats] | None:
    """A rank, steps in their order, and the values there.

    The rank is the lowest that logged it, and not the one that reports show: that
    is another one in the next run, with values of its own. What no step has may have been
    found by evaluations outside of training: they are at the last step of their model.
    """
    for timeline in facts.run.timelines:
        if scalar in timeline.scalars:
            steps, values = facts.run.series(scalar, timeline.rank)
            if len(steps):
                order = np.argsort(steps, kind="stable")
                return timeline.rank, steps[order], values[order]
    return _evaluated(facts.run, scalar)


def _evaluated(run: Run, scalar: str) -> tuple[int, Ints, Floats] | None:
    """The same of evaluations outside of training."""
    found = [one for one in run.evaluations if scalar in one.values]
    if not found:
        return None
    rank = min(one.rank for one in found)
    own = sorted((one for one in found if one.rank == rank), key=lambda one: one.step)
    steps = np.array([one.step - 1 for one in own], np.int64)
    return rank, steps, np.array([float(one.values[scalar]) for one in own], np.float64)


def _summary(steps: Ints, values: Floats, ending: str) -> float:
    """One number; a value that is not finite makes it one that keeps no limit it bears on."""
    if ending in ("last", "first"):
        return float(values[-1 if ending == "last" else 0])
    if ending == "tail":
        values = last_tenth(steps, values)
    with np.errstate(invalid="ignore", over="ignore"):
        if ending in ("min", "max"):
            return float(values.min() if ending == "min" else values.max())
        return float(np.median(values) if ending == "median" else values.mean())
