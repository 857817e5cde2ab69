"""The outcome of every check, and why where it is neither passed nor a finding."""

from __future__ import annotations

from collections import Counter

from pytscope.analyses.units import count
from pytscope.builtin.reporters.cells import pad
from pytscope.builtin.reporters.lines import Line, Span, Tone
from pytscope.builtin.reporters.pen import Pen
from pytscope.model.report import Check, Outcome, Report

_ALWAYS = (Outcome.ERROR, Outcome.INCONCLUSIVE, Outcome.NOT_MEASURED)
_VERBOSE = (Outcome.NOT_APPLICABLE, Outcome.DISABLED)
_WORDS = {
    Outcome.FINDING: "with findings",
    Outcome.PASSED: "passed",
    Outcome.INCONCLUSIVE: "inconclusive",
    Outcome.NOT_MEASURED: "not measured",
    Outcome.NOT_APPLICABLE: "not applicable",
    Outcome.DISABLED: "disabled",
    Outcome.ERROR: "failed",
}
_TONES = {Outcome.ERROR: Tone.BAD, Outcome.INCONCLUSIVE: Tone.WATCH}
_COLUMN = 16


def checks_lines(report: Report, pen: Pen, *, show_passed: bool, verbose: bool) -> list[Line]:
    """The section that accounts for every check."""
    outcomes = Counter(check.outcome for check in report.checks)
    said = " · ".join(f"{outcomes[o]} {word}" for o, word in _WORDS.items() if outcomes[o])
    total = count(len(report.checks), "check")
    lines = pen.heading(_lamp(outcomes), "CHECKS", f"{total}: {said}" if said else total)
    for outcome in (*_ALWAYS, *(_VERBOSE if verbose else ())):
        for reason, rules in _by_reason(report.checks, outcome).items():
            lines += _entry(outcome, f"{', '.join(rules)}: {reason}", pen)
    passed = [check.rule for check in report.checks if check.outcome is Outcome.PASSED]
    if show_passed and passed:
        lines += _entry(Outcome.PASSED, ", ".join(passed), pen)
    return lines


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
    word = pad(_WORDS[outcome], _COLUMN)
    return pen.lines([Span("  "), Span(word, _TONES.get(outcome, Tone.FAINT))], text)
