"""What a comparison found as panels, in drawing order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytscope.analyses.units import count, duration
from pytscope.diffing.amounts import outcomes_panel, timings_panel
from pytscope.diffing.numbers import recorded_apart, together
from pytscope.diffing.parted import divergence_panel
from pytscope.model.comparison import (
    ComparedRule,
    Comparison,
    Difference,
    Likelihood,
    SharedStep,
    Side,
)
from pytscope.model.panels import Panel, Row, Status, Table, Text
from pytscope.model.report import Outcome
from pytscope.model.wording import listed

_MOST_ROWS = 20
_MOST_COLUMNS = 3
_MOST_NAMES = 12


def panels(comparison: Comparison, *, detailed: bool = False) -> tuple[Panel, ...]:
    """The sections of a comparison.

    Args:
        comparison: What was found.
        detailed: Whether to show facts that hardly change numbers, and tests of phases, as
            well.
    """
    sides = comparison.sides
    return (
        *left_out_panel(comparison),
        provenance_panel(comparison, detailed=detailed),
        divergence_panel(comparison.divergences),
        outcomes_panel(comparison.outcomes, sides, comparison.not_compared),
        timings_panel(comparison.timings, sides, detailed=detailed),
        shared_panel(comparison),
        findings_panel(comparison),
    )


def left_out_panel(comparison: Comparison) -> Iterator[Panel]:
    """Runs that were given and that the comparison goes without, where there are any."""
    out = comparison.left_out
    if not out:
        return
    said = f"{listed((one.label for one in out), _MOST_NAMES)}: all that follows is without"
    rows: list[Row] = [Text(f"{one.label}: {one.reason}") for one in out]
    first = comparison.sides[0].label if comparison.sides else ""
    if not comparison.grouped and any(one.label == "A" for one in out):
        rows.append(Text(f"the others are compared with {first}, the first that can be"))
    yield Panel("left_out", "LEFT OUT", said, Status.BAD, rows, 5)


def provenance_panel(comparison: Comparison, *, detailed: bool = False) -> Panel:
    """Which recorded facts differ, the likeliest to change numbers first."""
    differences, sides = comparison.differences, comparison.sides
    hardly = [d for d in differences if d.likelihood is Likelihood.HARDLY]
    telling = [d for d in differences if d.likelihood is not Likelihood.HARDLY]
    rows: list[Row] = []
    if telling:
        rows.append(_facts(telling[:_MOST_ROWS], sides))
        rows += _reasons(telling[:_MOST_ROWS])
    if len(telling) > _MOST_ROWS:
        more = listed((d.key for d in telling[_MOST_ROWS:]), _MOST_NAMES)
        rows.append(Text(f"and more that may change numbers: {more}"))
    if hardly and detailed:
        rows += [Text("hardly change numbers:"), _facts(hardly, sides)]
    elif hardly:
        rows.append(Text(f"hardly change numbers: {listed((d.key for d in hardly), _MOST_NAMES)}"))
    if comparison.cut:
        names = listed(comparison.cut, _MOST_NAMES)
        rows.append(Text(f"recorded in part, for their length, and compared so far: {names}"))
    status = Status.WATCH if telling else Status.OK if comparison.facts else Status.NOT_MEASURED
    headline = _provenance_words(differences, comparison.facts)
    return Panel("provenance", "PROVENANCE", headline, status, rows, 10)


def _provenance_words(differences: Sequence[Difference], facts: int) -> str:
    if not facts:
        return "nothing was recorded of how the runs were made"
    if not differences:
        return f"none of {count(facts, 'recorded fact')} differs"
    by = [(how, sum(d.likelihood is how for d in differences)) for how in Likelihood]
    said = (f"{number} {_plural(how, number)}" for how, number in by if number)
    return f"{len(differences)} of {count(facts, 'recorded fact')} not the same: {', '.join(said)}"


def _plural(how: Likelihood, number: int) -> str:
    return how.value.replace("changes", "change") if number != 1 else how.value


def _facts(differences: Sequence[Difference], sides: Sequence[Side]) -> Table:
    labels = [side.label for side in sides]
    if len(labels) <= _MOST_COLUMNS:
        header = ("fact", *labels, "kind")
        rows = ((d.key, *recorded_apart(d.values), d.kind.value) for d in differences)
        return Table(header, tuple(rows))
    grouped = ((d.key, _by_value(d.values, labels), d.kind.value) for d in differences)
    return Table(("fact", "values", "kind"), tuple(grouped))


def _by_value(values: Iterable[object], labels: Sequence[str]) -> str:
    """Values with the runs that have them: `1 (A, B), 2 (C)`."""
    of: dict[str, list[str]] = {}
    for label, value in zip(labels, recorded_apart([*values]), strict=True):
        of.setdefault(value, []).append(label)
    return ", ".join(f"{value} ({together(who)})" for value, who in of.items())


def _reasons(differences: Sequence[Difference]) -> Iterator[Row]:
    """What differences do to numbers; a sentence that several share stands once."""
    of: dict[str, list[str]] = {}
    for difference in differences:
        if said := _sentence(difference):
            of.setdefault(said, []).append(difference.key)
    for said, keys in of.items():
        yield Text(f"{listed(keys, _MOST_NAMES)}: {said}")


def _sentence(difference: Difference) -> str:
    inside = "differs between runs of one arm too" if difference.within else ""
    return "; ".join(filter(None, (difference.why.rstrip("."), inside)))


def shared_panel(comparison: Comparison) -> Panel:
    """Bad steps that siblings have in common."""
    shared = comparison.shared
    if not comparison.watched:
        said = "no training loss or gradient norm that several of the runs logged"
        return Panel("shared", "SHARED STEPS", said, Status.NOT_MEASURED, order=50)
    if not shared:
        said = f"no bad step in common, looked for in {listed(comparison.watched, _MOST_NAMES)}"
        return Panel("shared", "SHARED STEPS", said, Status.OK, order=50)
    rows: list[Row] = [
        Table(
            ("step", "series", "runs", "over the level", "by chance"),
            tuple(_shared_row(step) for step in shared),
            (0,),
        )
    ]
    rows += [Text(text) for text in dict.fromkeys(s.detail for s in shared if s.detail)]
    steps = listed(dict.fromkeys(str(s.step) for s in shared), _MOST_NAMES)
    many = "s" if len({s.step for s in shared}) > 1 else ""
    headline = f"step{many} {steps}: the same bad step in several runs, so their data"
    return Panel("shared", "SHARED STEPS", headline, Status.WATCH, rows, 50)


def _shared_row(step: SharedStep) -> tuple[str, ...]:
    low, high = (f"x{of(step.ratios):.2f}" for of in (min, max))
    ratios = low if low == high else f"{low} to {high}"
    return (str(step.step), step.series, together(step.runs), ratios, f"p {step.chance:.1e}")


def findings_panel(comparison: Comparison) -> Panel:
    """Findings that one arm has and the other lacks."""
    said = []
    if comparison.gained:
        said.append(f"gained: {listed(comparison.gained)}")
    if comparison.lost:
        said.append(f"lost: {listed(comparison.lost)}")
    both = len(comparison.findings) - len(comparison.gained) - len(comparison.lost)
    if both:
        said.append(f"{both} in both")
    labels = [side.label for side in comparison.sides]
    if not said:
        said = ["no rule has a finding in any of the runs", _checked(comparison.checks, labels)]
    headline = " · ".join(filter(None, said))
    rows: list[Row] = []
    if comparison.findings:
        rows.append(_findings(comparison.findings, labels))
    status = Status.WATCH if comparison.gained else Status.OK
    if not any(c.get(o) for c in comparison.checks for o in (Outcome.PASSED, Outcome.FINDING)):
        status = Status.NOT_MEASURED
    return Panel("findings", "FINDINGS", headline, status, rows, 60)


def _checked(checks: Sequence[Mapping[Outcome, int]], labels: Sequence[str]) -> str:
    """How many checks passed: without that, no finding says nothing."""
    passed = (c.get(Outcome.PASSED, 0) for c in checks)
    each = _by_value((f"{number} passed" for number in passed), labels[: len(checks)])
    return f"checks: {each}" if each else ""


def _findings(findings: Sequence[ComparedRule], labels: Sequence[str]) -> Table:
    if len(labels) <= _MOST_COLUMNS:
        rows = ((f.rule, *(_cell(f, i) for i in range(len(labels)))) for f in findings)
        return Table(("rule", *labels), tuple(rows))
    rows = (
        (f.rule, _by_value((_cell(f, i) for i in range(len(labels))), labels)) for f in findings
    )
    return Table(("rule", "runs"), tuple(rows))


def _cell(rule: ComparedRule, run: int) -> str:
    severity, cost = rule.severities[run], rule.costs_s[run]
    if severity is None:
        return rule.outcomes[run].value.replace("_", " ")
    return severity.value + ("" if cost is None else f", {duration(cost * 1e9)}")
