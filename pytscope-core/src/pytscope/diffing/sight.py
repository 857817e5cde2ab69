"""What a comparison of few runs could have seen, and what nobody can tell by it."""

from __future__ import annotations

import math

from pytscope.diffing.numbers import quantity, relative
from pytscope.model.comparison import Measured, Verdict

DOUBTFUL = 0.2
"""Chance below which a worsening is too unlikely between repeats to be called none."""


def unclear(measured: Measured) -> bool:
    """Whether no difference was seen, and yet nobody can tell that there is none.

    That is a result which came out worse by an amount that repeats of one configuration
    show in fewer than one comparison of ten (p below 0.2, of which half are worse), or by
    a test that says of no size that it would be seen. Few runs miss true differences
    often, and what they miss mostly lies there: above 0.05, and not far. The chance
    counts as it is, without Holm's correction: that guards what is called a regression,
    and here nothing is. A bound on the size that would be seen, as a share of the value,
    was not taken: an accuracy of 0.97 would come out otherwise than its error of 0.03.

    It changes no verdict. Between equal arms it holds up one result of ten.
    """
    if measured.verdict is not Verdict.NO_DIFFERENCE or not _worse(measured):
        return False
    no_size = measured.smallest is None
    return no_size or (measured.p is not None and measured.p < DOUBTFUL)


def share_seen(measured: Measured) -> float | None:
    """The smallest difference that would have been seen over the first arm's mean, or None."""
    if measured.smallest is None or not measured.first:
        return None
    base = abs(math.fsum(measured.first) / len(measured.first))
    return measured.smallest / base if base and math.isfinite(base) else None


def least_seen(measured: Measured) -> str:
    """The same as text, in units where there is no share of it; empty when it is not known."""
    share = share_seen(measured)
    if share is not None:
        return relative(share).lstrip("+")
    return "" if measured.smallest is None else quantity(measured.smallest, measured.unit, 2)


def _worse(measured: Measured) -> bool:
    """Whether the second arm is on the worse side; runs without a number are worst."""
    if measured.lower_is_better is None:
        return False
    if not math.isfinite(measured.difference):
        lost = [
            sum(not math.isfinite(v) for v in arm) / len(arm)
            for arm in (measured.first, measured.second)
        ]
        return lost[1] > lost[0]
    return (measured.difference > 0) == measured.lower_is_better and measured.difference != 0
