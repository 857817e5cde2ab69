"""Which causes to name first: those that are shown, then those that are likeliest.

A run records much that differs in every fresh process, such as the state of a
generator that nobody seeded. What is recorded and could have made the first
difference comes before what can only be guessed, and that before what the numbers
themselves speak against.
"""

from __future__ import annotations

import enum

from pytscope.diffing.causes_recorded import OF_ROUNDING
from pytscope.diffing.causes_start import is_tiny
from pytscope.diffing.evidence import PairEvidence
from pytscope.diffing.roles import Role
from pytscope.model.comparison import Cause, CauseKind, Likelihood
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence

_GUESSES = (
    CauseId.UNSEEDED_GENERATORS,
    CauseId.INITIAL_WEIGHTS_OR_MODEL_RANDOMNESS,
    CauseId.COMMAND_LINE,
)
"""Causes that hardly a pair of runs is without, or that nothing recorded tells apart."""


class Place(enum.IntEnum):
    """How near the front a cause is named."""

    SHOWN = 0
    OF_THE_SIZE = 1
    RECORDED = 2
    PERHAPS = 3
    GUESSED = 4
    SPOKEN_AGAINST = 5
    TOO_SMALL = 6


def place(evidence: PairEvidence, cause: Cause) -> Place:
    """Where a cause stands among the others.

    Args:
        evidence: What the runs show.
        cause: One of the causes.
    """
    if cause.confidence is Confidence.CONFIRMED:
        return Place.SHOWN
    if _spoken_against(evidence, cause):
        return Place.SPOKEN_AGAINST
    if cause.id in OF_ROUNDING:
        return Place.OF_THE_SIZE if is_tiny(evidence) else Place.TOO_SMALL
    if cause.id in _GUESSES or not cause.keys:
        return Place.GUESSED
    likely = {o.key for o in evidence.differences if o.likelihood is Likelihood.YES}
    return Place.RECORDED if likely & set(cause.keys) else Place.PERHAPS


def _spoken_against(evidence: PairEvidence, cause: Cause) -> bool:
    """Whether the numbers show that a cause did not make the first difference."""
    if cause.id in (CauseId.LEARNING_RATE_SETTINGS, CauseId.LATER_BATCHES):
        return True
    if cause.kind is CauseKind.SCHEDULE or cause.id is CauseId.OPTIMIZER:
        return evidence.at_start or _rounded_rate(evidence, cause)
    if cause.id is CauseId.UNSEEDED_GENERATORS:
        return evidence.number is not None and not evidence.first_value
    return cause.id in (CauseId.SEED, CauseId.INITIAL_WEIGHTS) and not evidence.first_value


def _rounded_rate(evidence: PairEvidence, cause: Cause) -> bool:
    """Whether rates that differ by rounding would have to explain more than that."""
    rounded = cause.kind is CauseKind.SCHEDULE and evidence.first(Role.RATE) is not None
    return rounded and evidence.first(Role.RATE, material=True) is None and not is_tiny(evidence)
