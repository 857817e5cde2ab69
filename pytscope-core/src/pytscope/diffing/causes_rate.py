"""Causes that lie in the learning rate: as it was logged, or as it is set."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytscope.diffing.causes_start import is_tiny
from pytscope.diffing.evidence import PairEvidence
from pytscope.diffing.numbers import are, told_apart
from pytscope.diffing.roles import Role
from pytscope.diffing.words import words_of
from pytscope.model.comparison import At, Cause, CauseKind, Kind
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence
from pytscope.model.wording import listed

_LENGTH = frozenset(("epochs", "steps", "iters", "iterations"))
"""Words of settings that a schedule is stretched over."""
_OTHER_GROUP = re.compile(r"torch\.optimizers?(\[\d+\])?\.groups\[(?!0\])\d+\]\.\w*lr")
"""Rates of groups of parameters beyond the first, whose rate is the one that is logged."""
_RATE = (CauseId.LEARNING_RATE, "the learning rate")
_SCHEDULE = (CauseId.SCHEDULE, "the learning-rate schedule")
_FIX = "Set the same rate, schedule, warm-up and number of steps."


def rate_causes(evidence: PairEvidence, *, resumed: bool) -> Iterator[Cause]:
    """The learning rate.

    Args:
        evidence: What the runs show.
        resumed: Whether a resume explains another rate.
    """
    settings = tuple(one.key for one in evidence.rates())
    at = evidence.first(Role.RATE, material=True) or evidence.first(Role.RATE)
    if at is not None:
        if not resumed:
            yield _logged(evidence, at, settings)
    elif settings and not evidence.seen(Role.RATE):
        yield _set(evidence, settings)
    elif settings and all(map(_OTHER_GROUP.fullmatch, settings)):
        yield _of_other_groups(evidence, settings)
    elif settings:
        yield _set_alike(settings)


def _logged(evidence: PairEvidence, at: At, settings: Sequence[str]) -> Cause:
    rounding = evidence.first(Role.RATE, material=True) is None
    begins = evidence.series_of(at).place(at.step) == 0
    lengths = (o.key for o in evidence.topic(Kind.CONFIG) if _LENGTH & set(words_of(o.key)))
    which, title = _RATE if begins else _SCHEDULE
    first, second = told_apart(at.first, at.second)
    where = f"{at.series} is {first} and {second} at step {at.step}"
    before = "" if begins else ", the first that differs"
    small = ", by no more than rounding" if rounding else ""
    late = at.step > evidence.horizon
    sure = not late and (not rounding or is_tiny(evidence))
    return Cause(
        id=which,
        kind=CauseKind.SCHEDULE,
        title=f"{title}, rounded otherwise" if rounding else title,
        detail=f"{where}{before}{small}; {_after(evidence, at, late=late)}.",
        keys=tuple(dict.fromkeys((*settings, *lengths))),
        fix=_FIX,
        confidence=Confidence.CONFIRMED if sure else Confidence.SUGGESTIVE,
    )


def _after(evidence: PairEvidence, at: At, *, late: bool) -> str:
    """What training did when the rate was another one."""
    number = evidence.number
    if late:
        return "the runs had parted before: a further cause, or a schedule that follows the loss"
    if number is None:
        return "nothing that was logged of training differs"
    if number.step < at.step:
        return f"a smaller difference was there from step {number.step} on"
    if number.step == at.step:
        return f"{number.series} differs at the same step"
    return f"{number.series} first differs at step {number.step}, after it"


def _set(evidence: PairEvidence, settings: tuple[str, ...]) -> Cause:
    told = are(evidence.rates())
    first = " It cannot have changed the first step's numbers, which differ." * evidence.at_start
    later = not evidence.first_value and not any(map(_is_rate, settings))
    which, title = _SCHEDULE if later else _RATE
    return Cause(
        id=which,
        kind=CauseKind.SCHEDULE,
        title=title,
        detail=f"{told}. The rate of each step was not recorded.{first}",
        keys=settings,
        fix=_FIX,
        confidence=Confidence.SUGGESTIVE,
    )


def _is_rate(key: str) -> bool:
    """Whether a setting is the rate itself, and not of how it moves."""
    return not {"schedule", "scheduler", "decay", "warmup", "cosine", "anneal", "gamma"} & set(
        words_of(key)
    )


def _of_other_groups(evidence: PairEvidence, settings: tuple[str, ...]) -> Cause:
    first = " It cannot have changed the first step's numbers, which differ." * evidence.at_start
    return Cause(
        id=CauseId.LEARNING_RATE,
        kind=CauseKind.SCHEDULE,
        title="the learning rate of some parameters",
        detail=f"{are(evidence.rates())}. That of each step was recorded of the first group of "
        f"parameters alone, of which it is the same.{first}",
        keys=settings,
        fix=_FIX,
        confidence=Confidence.CONFIRMED if evidence.second else Confidence.SUGGESTIVE,
    )


def _set_alike(settings: tuple[str, ...]) -> Cause:
    return Cause(
        id=CauseId.LEARNING_RATE_SETTINGS,
        kind=CauseKind.SCHEDULE,
        title="settings of the learning rate",
        detail=f"Not the same: {listed(settings, 6)}; yet the rate that was recorded is the same "
        "at every common step.",
        keys=settings,
        confidence=Confidence.SUGGESTIVE,
    )
