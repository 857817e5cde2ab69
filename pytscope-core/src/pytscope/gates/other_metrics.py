"""Metrics of findings, checks, records, memory, and of any analysis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from pytscope.analyses.coverage import Coverage
from pytscope.analyses.memory import Memory, MemoryColumn
from pytscope.analyses.units import count
from pytscope.gates.reading import Facts, Metric, Reading, absent, given
from pytscope.model.findings import Severity
from pytscope.model.jsonable import jsonable
from pytscope.model.report import Outcome, Report
from pytscope.model.wording import did_you_mean, listed

MEMORY_METRICS = {"high": "bytes", "last": "bytes", "growth": "bytes"}
"""Endings of the metrics of a memory column."""
_UNDECIDED = {
    Outcome.NOT_MEASURED: "was not measured",
    Outcome.INCONCLUSIVE: "had too little data",
    Outcome.DISABLED: "was left out",
    Outcome.ERROR: "failed",
}


def finding_metrics(facts: Facts) -> Iterator[Metric]:
    """Numbers of findings, by severity and by rule, and of checks by outcome."""
    report = facts.report
    for severity in Severity:
        about = f"findings of severity {severity.value}"
        read = partial(counted, report, severity.value)
        yield Metric(f"findings.{severity.value}", "count", about, read)
    yield Metric("findings.total", "count", "findings", partial(counted, report, None))
    for check in report.checks:
        about = f"findings of {check.rule}"
        read = partial(_of_rule, report, check.rule)
        yield Metric(f"findings.{check.rule}", "count", about, read)
    for outcome in Outcome:
        number = sum(check.outcome is outcome for check in report.checks)
        about = f"checks with the outcome {outcome.value.replace('_', ' ')}"
        yield Metric(f"checks.{outcome.value}", "count", about, partial(Reading, float(number)))


def counted(report: Report, severity: str | None, *, up: bool = False) -> Reading:
    """How many findings there are; not measured where no check could decide.

    Args:
        report: The analysis.
        severity: Of this severity, or None for all.
        up: Count the severities above it too.
    """
    outcomes = [check.outcome for check in report.checks]
    if Outcome.PASSED not in outcomes and Outcome.FINDING not in outcomes:
        return absent("no check could decide anything")
    least = None if severity is None else Severity(severity)
    found = [
        finding
        for finding in report.findings
        if least is None
        or finding.severity is least
        or (up and finding.severity.order < least.order)
    ]
    said = [listed(dict.fromkeys(f.rule for f in found))] if found else []
    if open_ := sum(outcome in _UNDECIDED for outcome in outcomes):
        said.append(f"{open_} of {count(len(outcomes), 'check')} could not be evaluated")
    return Reading(float(len(found)), note="; ".join(said))


def _of_rule(report: Report, rule: str) -> Reading:
    check = next(check for check in report.checks if check.rule == rule)
    if check.outcome in _UNDECIDED:
        why = f": {check.reason}" if check.reason else ""
        return absent(f"the check {_UNDECIDED[check.outcome]}{why}")
    note = f"does not apply: {check.reason}" if check.outcome is Outcome.NOT_APPLICABLE else ""
    return Reading(float(sum(f.rule == rule for f in report.findings)), note=note)


def record_metrics(facts: Facts) -> Iterator[Metric]:
    """What was recorded, and what is missing."""
    coverage = facts.analysis(Coverage)
    for name, unit, about, field in (
        ("steps.total", "count", "completed steps", "steps"),
        ("steps.rated", "count", "steps that count in rates", "rated_steps"),
        ("steps.redone", "count", "steps done again by a later attempt", "redone_steps"),
        ("steps.lost", "count", "steps whose records are gone, of all ranks", "lost_steps"),
        ("steps.skipped", "count", "steps whose update was skipped", "skipped_steps"),
        ("ranks.present", "count", "ranks that left records", "ranks_present"),
        ("ranks.missing", "count", "ranks that left none", "ranks_missing"),
        ("attempts", "count", "attempts analysed", "attempts"),
        ("finished", "", "1 when every rank wrote its end, else 0", "finished"),
        (
            "recording.share",
            "share",
            "part of the wall that recording took, at least",
            "overhead_share",
        ),
    ):
        yield Metric(name, unit, about, partial(_record, coverage, field))


def _record(coverage: Coverage | None, field: str) -> Reading:
    if coverage is None:
        return absent("the run has no account of its records")
    value: Any = getattr(coverage, field)
    return given(len(value) if isinstance(value, tuple) else value, "it was not recorded")


def memory_metrics(facts: Facts, column: str) -> Iterator[Metric]:
    """Metrics of one memory column, over the ranks that sampled it."""
    for ending, about in (
        ("high", f"largest {column} of any rank"),
        ("last", f"{column} after the last step, of the rank with most"),
        ("growth", f"{column} gained a step, of the rank with most"),
    ):
        name, read = f"memory.{column}.{ending}", partial(_memory, facts, column, ending)
        yield Metric(name, MEMORY_METRICS[ending], about, read)


def _memory(facts: Facts, column: str, ending: str) -> Reading:
    columns = [known[column] for known in _sampled(facts) if column in known]
    if not columns:
        return absent(f"no rank sampled memory as `{column}`")
    if ending == "growth":
        slopes = [c.growth.per_step for c in columns if c.growth is not None]
        return given(max(slopes, default=None), "too few samples to tell growth")
    return Reading(float(max(c.high_bytes if ending == "high" else c.last_bytes for c in columns)))


def memory_columns(facts: Facts) -> tuple[str, ...]:
    """Names of the memory columns that any rank sampled."""
    return tuple(dict.fromkeys(name for known in _sampled(facts) for name in known))


def _sampled(facts: Facts) -> list[Mapping[str, MemoryColumn]]:
    """The memory columns of each rank, by name."""
    memory = facts.analysis(Memory)
    return [rank.columns for rank in memory.ranks] if memory is not None else []


def analysis_metric(facts: Facts, path: str) -> Metric | None:
    """A number of an analysis as it stands in JSON, such as `distributed.imbalance`.

    Args:
        facts: The run.
        path: Name of the analysis, then keys, with dots between.

    Returns:
        None when an analysis of that name has no such number.
    """
    name, _, rest = path.partition(".")
    if not name:
        return None
    about = f"`{rest}` of the analysis {name}"
    if name not in facts.report.analyses:
        guess = did_you_mean(name, facts.report.analyses)
        missing = f"the report has no analysis {name!r}: nothing that is loaded could make it"
        return Metric(f"analyses.{path}", "", about, partial(absent, missing + guess))
    value = _at(jsonable(facts.report.analyses[name]), rest.split("."))
    if isinstance(value, bool | int | float):
        return Metric(f"analyses.{path}", "", about, partial(Reading, float(value)))
    if value in _NOT_FINITE:
        return Metric(f"analyses.{path}", "", about, partial(Reading, float(value)))
    if value is None and rest:
        return Metric(f"analyses.{path}", "", about, partial(absent, "it is null: not measured"))
    return None


def analysis_names(facts: Facts, path: str) -> list[str]:
    """Names of the numbers that stand in an analysis, but for those in lists; or of the analyses.

    Args:
        facts: The run.
        path: Name of the analysis, and whatever follows it.
    """
    name = path.partition(".")[0]
    if name not in facts.report.analyses:
        return [f"analyses.{each}" for each in facts.report.analyses]
    found = jsonable(facts.report.analyses[name])
    return [f"analyses.{name}{rest}" for rest in _numbers(found)]


def _numbers(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from (f".{key}{rest}" for rest in _numbers(inner))
    elif value is None or isinstance(value, int | float):
        yield ""


_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
"""How JSON has numbers that are not finite."""
_NOWHERE = object()


def _at(value: Any, keys: list[str]) -> Any:
    for key in keys:
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isascii() and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return _NOWHERE
    return value
