"""From runs to a comparison. No files, clocks, environment or terminal in here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from pytscope.analyses.event_mask import EventMask
from pytscope.analysis.options import AnalyzeOptions
from pytscope.analysis.orchestrator import analyzed
from pytscope.diffing.differences import differences
from pytscope.diffing.divergence import divergence
from pytscope.diffing.facts import cut_short
from pytscope.diffing.facts import facts as recorded_facts
from pytscope.diffing.gate import Gated, evaluated
from pytscope.diffing.headline import headline
from pytscope.diffing.identity import repeats_key
from pytscope.diffing.options import Compared, CompareOptions
from pytscope.diffing.outcomes import not_compared, outcomes
from pytscope.diffing.panels import panels
from pytscope.diffing.rules import compared_rules, counted, gained, lost
from pytscope.diffing.siblings import shared_steps, watched
from pytscope.diffing.timings import timings
from pytscope.model.comparison import (
    Comparison,
    Difference,
    Divergence,
    Measured,
    Side,
)
from pytscope.model.errors import NothingUsable
from pytscope.model.report import Problem, Report
from pytscope.model.wording import listed
from pytscope.plugins.registry import Registry
from pytscope.runs.run import Run

_PAIR = 2


def compare(
    compared: Compared, registry: Registry, options: CompareOptions | None = None
) -> Comparison:
    """Compare runs with everything registered.

    Args:
        compared: The runs as opened, and their arms.
        registry: Analyzers and rules.
        options: What the caller asks for.

    Raises:
        UsageError: An option names an unknown rule or threshold, or a value
            does not fit.
        NothingUsable: A run, or the asked-for part of it, is empty, and too few others are
            not: two, and one of each arm.
        PluginError: A plugin failed and `raise_errors` is set.
    """
    return comparison_of(compared, registry, options or CompareOptions())[0]


def comparison_of(
    compared: Compared, registry: Registry, options: CompareOptions
) -> tuple[Comparison, tuple[tuple[Report, Run], ...]]:
    """The comparison, and every run's report with the run as it was prepared for it."""
    prepared, read = _prepared(compared, registry, options.analysis)
    reports = tuple(report for report, _ in read)
    runs = prepared.runs
    sides = _sides(prepared, reports)
    found = _differences(prepared)
    results = _measured(
        prepared, lambda places, arms: outcomes([runs[i] for i in places], arms, options.noise)
    )
    durations = _measured(
        prepared,
        lambda places, arms: timings(
            [reports[i] for i in places], arms, options.noise, [runs[i] for i in places]
        ),
    )
    rules = compared_rules(reports)
    facts = [recorded_facts(run) for run in runs]
    plain = Comparison(
        sides=sides,
        left_out=prepared.left_out,
        grouped=compared.grouped,
        identical=None,
        headline="",
        facts=len({name for told in facts for name in told}),
        differences=found,
        divergences=_divergences(prepared, found),
        outcomes=results,
        timings=durations,
        not_compared=not_compared(runs),
        cut=tuple(dict.fromkeys(name for told in facts for name in cut_short(told))),
        watched=tuple(watched(runs)),
        shared=shared_steps(runs, prepared.labels, [*map(_mask, reports)]),
        checks=tuple(map(counted, reports)),
        findings=rules,
        gained=gained(rules, prepared.arms),
        lost=lost(rules, prepared.arms),
        problems=_problems(reports),
        tool_version=reports[0].tool_version,
    )
    return _finished(plain, options), read


_Read = tuple[tuple[Report, Run], ...]


def _prepared(
    compared: Compared, registry: Registry, asked: AnalyzeOptions
) -> tuple[Compared, _Read]:
    """The runs as prepared, and their reports; without a step only where too few have one.

    Raises:
        NothingUsable: A run is empty, and too few others are not.
    """
    read: dict[int, tuple[Report, Run]] = {}
    empty: dict[int, NothingUsable] = {}
    for place, run in enumerate(compared.runs):
        try:
            read[place] = analyzed(run, registry, asked)
        except NothingUsable as error:
            empty[place] = error
    bare = {
        place: "no completed step" for place, (report, _) in read.items() if not report.run.steps
    }
    nothing = {place: _nothing(compared.runs[place]) for place in empty}
    reasons = nothing | bare
    rest = compared.without(reasons) if reasons else compared
    if rest is None:
        if empty:
            raise next(iter(empty.values()))
        rest, reasons = compared, {}
    kept = tuple(one for place, one in read.items() if place not in reasons)
    return attrs.evolve(rest, runs=tuple(run for _, run in kept)), kept


def _nothing(run: Run) -> str:
    return "no step of those asked for" if run.timelines else "no record of any rank"


def _finished(plain: Comparison, options: CompareOptions) -> Comparison:
    """With what is told of it as a whole."""
    known = attrs.evolve(plain, identical=_identical(plain.divergences))
    if options.gate is not None:
        gated, reason = evaluated(options.gate, plain.outcomes, plain.timings)
        if gated is Gated.PASSED and plain.left_out and not plain.grouped:
            labels = listed(one.label for one in plain.left_out)
            gated, reason = Gated.NOT_EVALUATED, f"{labels}: left out; {reason}"
        known = attrs.evolve(known, gate=gated.value, gate_reason=f"{options.gate}: {reason}")
    drawn = panels(known, detailed=options.detailed)
    return attrs.evolve(known, headline=headline(known), panels=drawn)


def _mask(report: Report) -> EventMask | None:
    found = report.analyses.get("event_mask")
    return found if isinstance(found, EventMask) else None


def _sides(compared: Compared, reports: Sequence[Report]) -> tuple[Side, ...]:
    rows = zip(compared.labels, compared.arms, compared.runs, reports, strict=True)
    return tuple(
        Side(label=label, arm=arm, run=report.run, repeats=repeats_key(run))
        for label, arm, run, report in rows
    )


def _differences(compared: Compared) -> tuple[Difference, ...]:
    facts = differences(compared.runs, compared.arms)
    if compared.grouped:
        return facts
    return tuple(attrs.evolve(fact, within=False) for fact in facts)  # there is no arm of repeats


def _divergences(compared: Compared, facts: Sequence[Difference]) -> tuple[Divergence, ...]:
    labels, found = compared.labels, []
    for a, b in compared.pairs:
        two = (compared.runs[a], compared.runs[b])
        mine = tuple(facts) if len(labels) == _PAIR else differences(two, (0, 1))
        found.append(divergence(*two, mine, labels=(labels[a], labels[b])))
    return tuple(found)


def _measured(
    compared: Compared, measure: Callable[[Sequence[int], Sequence[int]], tuple[Measured, ...]]
) -> tuple[Measured, ...]:
    """What is measured of the two arms, or of each pair of runs, labelled.

    Args:
        compared: The runs.
        measure: Measures the runs of some places, given the arm of each.
    """
    if compared.grouped or len(compared.runs) == _PAIR:
        return measure(range(len(compared.runs)), compared.arms)
    found: list[Measured] = []
    for pair in compared.pairs:
        between = ", ".join(compared.labels[place] for place in pair)
        found += (attrs.evolve(m, between=between) for m in measure(pair, (0, 1)))
    return tuple(found)


def _identical(divergences: Sequence[Divergence]) -> bool | None:
    answers = [d.identical for d in divergences]
    if False in answers:
        return False
    return True if answers and all(answers) else None


def _problems(reports: Sequence[Report]) -> tuple[Problem, ...]:
    """What plugins failed at, in any of the runs; once where it is the same."""
    return tuple(dict.fromkeys(problem for report in reports for problem in report.problems))
