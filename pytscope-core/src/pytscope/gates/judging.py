"""Judge budgets: what was measured beside what was promised."""

from __future__ import annotations

import math

import attrs

from pytscope.gates.baseline import Baseline
from pytscope.gates.demands import OPERATORS, Demand
from pytscope.gates.other_metrics import counted
from pytscope.gates.reading import Metric, Reading
from pytscope.gates.units import converted, told
from pytscope.gates.vocabulary import UnknownMetric, Vocabulary
from pytscope.model.errors import UsageError
from pytscope.model.findings import Severity
from pytscope.model.gate import Judged, Place, Standing
from pytscope.model.report import Report
from pytscope.model.wording import closest, listed

FAIL_ON = "fail-on"
"""Metric of the budget that `--fail-on` is."""
_MOST_CLOSE = 4


@attrs.frozen
class Written:
    """A budget, and where it is written; None for the command line."""

    demand: Demand
    place: Place | None = None


@attrs.frozen
class Against:
    """What relative budgets are held against.

    Attributes:
        baseline: The baseline, or None when there is none.
        updating: Whether this run is becoming the baseline, so that no budget
            can be held against it.
    """

    baseline: Baseline | None = None
    updating: bool = False


def judged(written: Written, vocabulary: Vocabulary, against: Against) -> Judged:
    """Judge a budget.

    Raises:
        UsageError: Its metric is unknown, its limit does not fit the metric, or
            it is relative and there is no baseline.
    """
    asked = written.demand
    try:
        metric = vocabulary.metric(asked.metric)
        amount = converted(asked.amount, asked.unit, metric.unit)
    except ValueError as error:
        msg = f"{_at(written.place)}{asked.text!r}: {error}"
        unknown = isinstance(error, UnknownMetric)
        hint = _hint(vocabulary, asked.metric) if unknown else ""
        raise UsageError(msg, hint=hint) from error
    reading = metric.read()
    blank = Judged(
        budget=asked.text,
        metric=asked.metric,
        unit=metric.unit,
        op=asked.op,
        value=reading.value,
        low=reading.low,
        high=reading.high,
        standing=Standing.NOT_JUDGED,
        place=written.place,
    )
    if not asked.relative:
        return _settled(blank, asked, metric, reading, amount)
    if against.updating:
        return attrs.evolve(blank, reason="this run is the new baseline")
    if against.baseline is None:
        msg = f"{_at(written.place)}{asked.text!r} needs a baseline"
        raise UsageError(
            msg, hint="Name its file: --baseline FILE; --update-baseline makes it of a run."
        )
    return _relative(blank, asked, metric, reading, amount, against.baseline)


def _at(place: Place | None) -> str:
    if place is None:
        return ""
    return f"{place.file}:{place.line}: " if place.line is not None else f"{place.file}: "


def _hint(vocabulary: Vocabulary, name: str) -> str:
    if any(op in name for op in OPERATORS):
        return "A budget holds one metric to one limit: write a budget for each."
    known = list(vocabulary.near(name))
    close = [each for each in known if each.startswith((f"{name}.", f"{name}_ms."))][:_MOST_CLOSE]
    close = close or closest(name, known, most=_MOST_CLOSE)
    near = f"Close to it: {listed(close)}. " if close else ""
    return f"{near}'pytscope check RUN --list' lists what can have a budget."


def _relative(
    blank: Judged,
    asked: Demand,
    metric: Metric,
    reading: Reading,
    amount: float,
    baseline: Baseline,
) -> Judged:
    base = baseline.metrics.get(asked.metric)
    if base is None:
        missing = f"the baseline has no {asked.metric}; --update-baseline renews it"
        return _unmeasured(blank, asked, missing)
    assert asked.factor is not None  # noqa: S101  # it is relative
    limit = asked.factor * base + amount
    if not math.isfinite(limit):
        msg = (
            f"{_at(blank.place)}{asked.text!r}: with a baseline of {base:g} its limit is no number"
        )
        raise UsageError(msg)
    return _settled(attrs.evolve(blank, baseline=base), asked, metric, reading, limit)


def _settled(
    blank: Judged, asked: Demand, metric: Metric, reading: Reading, limit: float
) -> Judged:
    held = attrs.evolve(blank, limit=limit)
    if reading.value is None:
        return _unmeasured(held, asked, reading.missing)
    kept = asked.holds(reading.value, limit)
    said = [] if kept else [_missed(held, metric, reading.value, limit)]
    if reading.note:
        said.append(reading.note)
    if reading.low is not None and reading.high is not None:
        inside = reading.low <= limit <= reading.high
        ends = f"{told(reading.low, metric.unit)} to {told(reading.high, metric.unit)}"
        if inside:
            said.append(f"close: the limit lies within the 95% interval of this run, {ends}")
    standing = Standing.PASSED if kept else Standing.FAILED
    return attrs.evolve(held, standing=standing, reason="; ".join(said))


def _unmeasured(blank: Judged, asked: Demand, missing: str) -> Judged:
    if asked.optional:
        return attrs.evolve(blank, standing=Standing.SKIPPED, reason=f"not measured: {missing}")
    return attrs.evolve(blank, standing=Standing.NOT_MEASURED, reason=missing)


def _missed(held: Judged, metric: Metric, value: float, limit: float) -> str:
    """By how much a budget is missed."""
    shown = f"{told(value, metric.unit, limit)} is not {held.op} {told(limit, metric.unit, value)}"
    if held.baseline is not None and held.baseline > 0:
        change = value / held.baseline - 1
        shown += f"; {abs(change):.1%} {'above' if change >= 0 else 'below'} the baseline's "
        shown += told(held.baseline, metric.unit, value)
    return shown


def judged_findings(report: Report, severity: Severity, place: Place | None) -> Judged:
    """The budget that `fail-on` is: no finding of a severity or above."""
    reading = counted(report, severity.value, up=True)
    standing = Standing.PASSED
    if reading.value is None:
        standing = Standing.NOT_MEASURED
    elif reading.value:
        standing = Standing.FAILED
    return Judged(
        budget=f"{FAIL_ON} {severity.value}",
        metric=FAIL_ON,
        unit="count",
        op="==",
        limit=0.0,
        value=reading.value,
        standing=standing,
        reason=reading.missing or reading.note,
        place=place,
    )
