"""The one line to read of a comparison."""

from __future__ import annotations

from collections.abc import Iterable

from pytscope.analyses.units import count
from pytscope.diffing.amounts import beyond_repeats, verdict_words
from pytscope.diffing.numbers import sized
from pytscope.diffing.parted import all_words
from pytscope.diffing.restated import repeats
from pytscope.model.comparison import Comparison, Likelihood, Measured, Verdict
from pytscope.model.wording import listed

_MOST_KEYS = 4
_JUDGED = (Verdict.REGRESSION, Verdict.IMPROVEMENT)


def headline(comparison: Comparison) -> str:
    """What to read when nothing else is read: who is worse, where runs part, and why."""
    measured = (*comparison.outcomes, *comparison.timings)
    said = [*_judged(measured), beyond_repeats(measured), *_parted(comparison)]
    said += _made_differently(comparison)
    if comparison.shared:
        steps = dict.fromkeys(str(step.step) for step in comparison.shared)
        said.append(f"bad data at step{'s' * (len(steps) > 1)} {listed(steps, _MOST_KEYS)}")
    if comparison.left_out:
        said.append(f"left out: {listed((o.label for o in comparison.left_out), _MOST_KEYS)}")
    return " · ".join(filter(None, said))


def _judged(measured: Iterable[Measured]) -> Iterable[str]:
    """Results that were judged: regressions and improvements, with their size."""
    found = [m for m in measured if m.verdict in _JUDGED]
    for verdict in _JUDGED:
        mine = [m for m in found if m.verdict is verdict]
        if mine:
            yield f"{verdict.value}: {listed(map(sized, mine), _MOST_KEYS)}"


def _parted(comparison: Comparison) -> Iterable[str]:
    if comparison.grouped:
        if not list(_judged(comparison.outcomes)) and comparison.outcomes:
            yield verdict_words(comparison.outcomes)
        return
    yield all_words(comparison.divergences)


def _made_differently(comparison: Comparison) -> Iterable[str]:
    """What was different in the making of runs, where nothing else says it."""
    told = {key for d in comparison.divergences for cause in d.causes for key in cause.keys}
    telling = [d for d in comparison.differences if d.likelihood is not Likelihood.HARDLY]
    rest = [d.key for d in telling if d.key not in told and not repeats(d)]
    if rest:
        what = count(len(rest), f"{'other ' if told else ''}recorded fact")
        verb = "differs" if len(rest) == 1 else "differ"
        yield f"{what} that may change numbers {verb}: {listed(rest, _MOST_KEYS)}"
