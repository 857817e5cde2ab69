"""Values of the options of `diff`, read strictly."""

from __future__ import annotations

import re

import attrs

from pytscope.cli.parameters import Never, whole
from pytscope.diffing.gate import RegressionGate
from pytscope.gates.units import converted, quantity

_FORM = "regression, regression:5% or never"
_LABEL = re.compile(r"[A-Z]+")


def regression(text: str) -> RegressionGate | Never:
    """`regression`, `regression:5%`, `regression:0.05`, or `never`."""
    word, colon, limit = text.strip().lower().partition(":")
    if word == "never" and not colon:
        return "never"
    if word != "regression" or bool(colon) != bool(limit.strip()):
        msg = f"{text!r} is not {_FORM}"
        raise ValueError(msg)
    if not colon:
        return RegressionGate()
    return RegressionGate(_share(limit, text), typed=f"regression:{limit.strip()}")


def _share(limit: str, text: str) -> float:
    try:
        share = converted(*quantity(limit), "share")
    except ValueError as error:
        msg = f"{text!r} is not {_FORM}: {error}"
        raise ValueError(msg) from None
    if share < 0:
        msg = f"{text!r} is not {_FORM}: a limit is no less than 0%"
        raise ValueError(msg)
    return share


@attrs.frozen
class AttemptOf:
    """The attempt of one run, or of every run that no label names.

    Attributes:
        number: The attempt.
        label: `A`, `B`, …, or None.
    """

    number: int
    label: str | None = None


def attempt(text: str) -> AttemptOf:
    """`N` for every run, `B=N` for one."""
    label, equals, number = text.rpartition("=")
    if equals and not _LABEL.fullmatch(label.strip().upper()):
        msg = f"{text!r} is not N, nor B=N with the letter of a run"
        raise ValueError(msg)
    return AttemptOf(whole(number), label.strip().upper() if equals else None)
