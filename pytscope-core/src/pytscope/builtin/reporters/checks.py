"""The outcome of every check, and why where it is neither passed nor a finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pytscope.analyses import Timing
from pytscope.analyses.units import count
from pytscope.builtin.reporters.cells import pad
from pytscope.builtin.reporters.lines import Line, Span, Tone
from pytscope.builtin.reporters.pen import Pen
from pytscope.model.report import Check, Outcome, Report

_ALWAYS = (Outcome.ERROR, Outcome.INCONCLUSIVE, Outcome.NOT_MEASURED)
_VERBOSE = (Outcome.NOT_APPLICABLE, Outcome.DISABLED)
WORDS = {
    Outcome.FINDING: "with findings",
    Outcome.PASSED: "passed",
    Outcome.INCONCLUSIVE: "inconclusive",
    Outcome.NOT_MEASURED: "not measured",
    Outcome.NOT_APPLICABLE: "not applicable",
    Outcome.DISABLED: "disabled",
    Outcome.ERROR: "failed",
}
"""Outcomes as words."""
_TONES = {Outcome.ERROR: Tone.BAD, Outcome.INCONCLUSIVE: Tone.WATCH}
_COLUMN = 16


def checks_lines(report: Report, pen: Pen, *, show_passed: bool, verbose: bool) -> list[Line]:
    """The section that accounts for every check."""
    outcomes = Counter(check.outcome for check in report.checks)
    lines = pen.heading(_lamp(outcomes), "CHECKS", checks_headline(report))
    for outcome, rules, reason in unsettled(report, verbose=verbose):
        lines += _entry(outcome, f"{', '.join(rules)}: {reason}", pen)
    if show_passed and (passed := passed_rules(report)):
        lines += _entry(Outcome.PASSED, ", ".join(passed), pen)
    return lines


def checks_headline(report: Report) -> str:
    """How many checks there are, by outcome."""
    outcomes = Counter(check.outcome for check in report.checks)
    said = " · ".join(f"{outcomes[o]} {word}" for o, word in WORDS.items() if outcomes[o])
    total = count(len(report.checks), "check")
    shown = _shown_rank(report)
    return (f"{total}: {said}" if said else total) + shown


def _shown_rank(report: Report) -> str:
    """Which rank most checks of timing looked at, in a run of several."""
    timing, ranks = report.analyses.get("timing"), len(report.run.ranks)
    if ranks <= 1 or not isinstance(timing, Timing):
        return ""
    return f" · timing checked on rank {timing.rank} of {ranks:,}, data and gc on all"


def passed_rules(report: Report) -> list[str]:
    """The rules that passed."""
    return [check.rule for check in report.checks if check.outcome is Outcome.PASSED]


def unsettled(report: Report, *, verbose: bool) -> Iterator[tuple[Outcome, list[str], str]]:
    """Outcomes other than passed and finding: which rules, and why.

    Args:
        report: The report.
        verbose: With what was not applicable or disabled.
    """
    for outcome in (*_ALWAYS, *(_VERBOSE if verbose else ())):
        for reason, rules in _by_reason(report.checks, outcome).items():
            yield outcome, rules, reason


def _lamp(outcomes: Counter[Outcome]) -> Tone:
    if outcomes[Outcome.ERROR]:
        return Tone.BAD
    return Tone.WATCH if outcomes[Outcome.INCONCLUSIVE] else Tone.OK


def _by_reason(checks: tuple[Check, ...], outcome: Outcome) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for check in checks:
        if check.outcome is outcome:
            grouped.setdefault(check.reason or "no reason given", []).append(check.rule)
    return grouped


def _entry(outcome: Outcome, text: str, pen: Pen) -> list[Line]:
    word = pad(WORDS[outcome], _COLUMN)
    return pen.lines([Span("  "), Span(word, _TONES.get(outcome, Tone.FAINT))], text)
