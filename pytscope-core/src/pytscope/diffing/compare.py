"""From runs to a comparison. No files, clocks, environment or terminal in here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from pytscope.analysis.orchestrator import analyzed
from pytscope.diffing.arms import repeats_key
from pytscope.diffing.differences import differences
from pytscope.diffing.divergence import divergence
from pytscope.diffing.facts import cut_short
from pytscope.diffing.facts import facts as recorded_facts
from pytscope.diffing.gate import evaluated
from pytscope.diffing.headline import headline
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
from pytscope.model.report import Problem, Report
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
        NothingUsable: A run, or the asked-for part of it, is empty.
        PluginError: A plugin failed and `raise_errors` is set.
    """
    return comparison_of(compared, registry, options or CompareOptions())[0]


def comparison_of(
    compared: Compared, registry: Registry, options: CompareOptions
) -> tuple[Comparison, tuple[tuple[Report, Run], ...]]:
    """The comparison, and every run's report with the run as it was prepared for it."""
    read = tuple(analyzed(run, registry, options.analysis) for run in compared.runs)
    reports = tuple(report for report, _ in read)
    runs = tuple(run for _, run in read)
    prepared = attrs.evolve(compared, runs=runs)
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
        shared=shared_steps(runs, compared.labels),
        checks=tuple(map(counted, reports)),
        findings=rules,
        gained=gained(rules, compared.arms),
        lost=lost(rules, compared.arms),
        problems=_problems(reports),
        tool_version=reports[0].tool_version,
    )
    return _finished(plain, options), read


def _finished(plain: Comparison, options: CompareOptions) -> Comparison:
    """With what is told of it as a whole."""
    known = attrs.evolve(plain, identical=_identical(plain.divergences))
    if options.gate is not None:
        gated, reason = evaluated(options.gate, plain.outcomes, plain.timings)
        known = attrs.evolve(known, gate=gated.value, gate_reason=f"{options.gate}: {reason}")
    drawn = panels(known, detailed=options.detailed)
    return attrs.evolve(known, headline=headline(known), panels=drawn)


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
