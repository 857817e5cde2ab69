"""Values of the options of `diff`, read strictly."""

from __future__ import annotations

import re
from pathlib import Path

import attrs

from pytscope.cli.parameters import Never, whole
from pytscope.diffing.gate import RegressionGate

_PERCENT = re.compile(r"([0-9]*\.?[0-9]+)\s*(%?)")
_LABEL = re.compile(r"[A-Z]+")


def regression(text: str) -> RegressionGate | Never:
    """`regression`, `regression:5%`, `regression:0.05`, or `never`."""
    word, colon, limit = text.strip().lower().partition(":")
    if word == "never" and not colon:
        return "never"
    found = _PERCENT.fullmatch(limit.strip())
    if word != "regression" or bool(colon) != bool(found):
        msg = f"{text!r} is not regression, regression:5% or never"
        raise ValueError(msg)
    if found is None:
        return RegressionGate()
    return RegressionGate(float(found[1]) / (100 if found[2] else 1))


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


def store(text: str) -> Path:
    """The file of a noise store."""
    if text in ("", "-"):
        msg = "a noise store is a file: name one"
        raise ValueError(msg)
    return Path(text)
