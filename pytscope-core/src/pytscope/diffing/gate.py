"""`--fail-on regression[:5%]`: whether the second arm is worse, or nobody can tell."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence

import attrs

from pytscope.diffing.metrics import STEP_TIME
from pytscope.diffing.numbers import named, relative
from pytscope.diffing.sight import least_seen, unclear
from pytscope.model.comparison import Measured, Verdict
from pytscope.model.wording import listed

_MOST = 4


class Gated(enum.Enum):
    """What became of a gate."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_EVALUATED = "not evaluated"


@attrs.frozen
class RegressionGate:
    """A gate on regressions.

    Attributes:
        limit: The smallest relative worsening that counts, such as 0.05; 0 for
            any that is a regression.
        typed: How it was written, where it was.
    """

    limit: float = 0.0
    typed: str = attrs.field(default="", eq=False)

    def __str__(self) -> str:
        return self.typed or (f"regression:{self.limit:.4g}" if self.limit else "regression")


@attrs.frozen
class _Judged:
    metric: str
    gated: Gated
    reason: str


def evaluated(
    gate: RegressionGate, outcomes: Iterable[Measured], timings: Iterable[Measured]
) -> tuple[Gated, str]:
    """The outcome of a gate, with a sentence.

    Every result with a known better direction counts, and the step time. One
    that regressed by the limit or more fails the gate. It passes when every
    result was judged; a step time that nobody can judge does not hold up
    results that could be. What could not be judged is named, and never passes
    by itself: verdicts that cannot tell, intervals that reach beyond the
    limit, and, without a limit, what is `unclear`. Where none is seen and there is
    no limit, nothing is ruled out: the reason says what would have been seen.

    Args:
        gate: The gate.
        outcomes: Losses and other results.
        timings: Durations.
    """
    results = [_judged(m, gate) for m in outcomes if m.lower_is_better is not None]
    times = [
        _judged(m, gate) for m in timings if m.metric == STEP_TIME
    ]  # phases only say where it went
    failed = _having(Gated.FAILED, (*results, *times))
    open_ = _having(Gated.NOT_EVALUATED, (*results, *times))
    if failed:
        return Gated.FAILED, _told(failed)
    if _having(Gated.NOT_EVALUATED, results) or not _having(Gated.PASSED, (*results, *times)):
        return Gated.NOT_EVALUATED, _told(open_) or "no result or step time that both have"
    said = _passed(gate, _having(Gated.PASSED, (*results, *times)))
    return Gated.PASSED, f"{said}; not evaluated: {_told(open_)}" if open_ else said


def _passed(gate: RegressionGate, judged: Sequence[_Judged]) -> str:
    """What was found not to be there, and what only was not seen."""
    clear = [j for j in judged if not j.reason]
    size = f" of {relative(gate.limit).lstrip('+')} or more" if gate.limit else ""
    said = [f"no regression{size} in {listed((j.metric for j in clear), _MOST)}"] if clear else []
    rest = _told(j for j in judged if j.reason)
    return "; ".join(filter(None, (*said, rest)))


def _having(gated: Gated, judged: Sequence[_Judged]) -> list[_Judged]:
    return [j for j in judged if j.gated is gated]


def _told(judged: Iterable[_Judged]) -> str:
    """Reasons, those that several metrics share once."""
    of: dict[str, list[str]] = {}
    for each in judged:
        of.setdefault(each.reason, []).append(each.metric)
    return "; ".join(f"{listed(names, _MOST)}: {reason}" for reason, names in of.items())


def _judged(measured: Measured, gate: RegressionGate) -> _Judged:
    return _Judged(named(measured), *_outcome(measured, gate))


def _outcome(measured: Measured, gate: RegressionGate) -> tuple[Gated, str]:
    verdict = measured.verdict
    if verdict is Verdict.UNDECIDED:
        return Gated.NOT_EVALUATED, measured.detail.rstrip(".") or "cannot tell"
    if verdict is Verdict.REGRESSION:
        if measured.relative is None:
            return Gated.FAILED, "worse, from zero"
        said = relative(measured.relative)
        if abs(measured.relative) >= gate.limit:
            beyond = f", {relative(gate.limit)} or more" if gate.limit else ""
            return Gated.FAILED, f"worse by {said.lstrip('+-')}{beyond.replace('+', '')}"
        return Gated.PASSED, f"worse by {said.lstrip('+-')} only"
    if verdict is Verdict.NO_DIFFERENCE and _reaches(measured, gate.limit):
        limit = relative(gate.limit).lstrip("+")
        return Gated.NOT_EVALUATED, f"too few runs to rule out a regression of {limit}"
    if verdict is Verdict.NO_DIFFERENCE and not gate.limit:
        return _none_seen(measured)
    return Gated.PASSED, ""


def _none_seen(measured: Measured) -> tuple[Gated, str]:
    """Of a gate without a limit: what was not seen, beside what would have been."""
    least = least_seen(measured)
    seen = f"{least} or more would have been seen" if least else ""
    if unclear(measured):
        size = (
            "" if measured.relative is None else f" by {relative(measured.relative).lstrip('+-')}"
        )
        p = "" if measured.p is None else f", p {measured.p:.2g}"
        said = f"worse{size}{p}: too few runs to tell whether that is chance"
        return Gated.NOT_EVALUATED, f"{said}, {seen}" if seen else said
    if seen:
        return Gated.PASSED, f"none seen, {seen}"
    return Gated.PASSED, "" if measured.low is not None else "none seen"


def _reaches(measured: Measured, limit: float) -> bool:
    """Whether the interval holds a worsening of the limit or more."""
    worst = measured.high if measured.lower_is_better else measured.low
    if not limit or worst is None or not measured.first:
        return False
    base = abs(math.fsum(measured.first) / len(measured.first))
    return (worst if measured.lower_is_better else -worst) >= limit * base
