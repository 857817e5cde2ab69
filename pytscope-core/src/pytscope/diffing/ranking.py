"""Which causes to name first: those that are shown, then those that are likeliest.

A run records much that differs in every fresh process, such as the state of a
generator that nobody seeded. What is recorded and could have made the first
difference comes before what can only be guessed, and that before what the numbers
themselves speak against.
"""

from __future__ import annotations

import enum

from pytscope.diffing.causes_data import LATER, UNSEEDED
from pytscope.diffing.causes_recorded import COMMAND_LINE, OF_ROUNDING
from pytscope.diffing.causes_start import DRAWN, WEIGHTS, is_tiny
from pytscope.diffing.causes_update import OPTIMIZER, RATE_ALIKE
from pytscope.diffing.evidence import PairEvidence
from pytscope.model.comparison import Cause, CauseKind, Likelihood
from pytscope.model.findings import Confidence


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
    if cause.title in OF_ROUNDING:
        return Place.OF_THE_SIZE if is_tiny(evidence) else Place.TOO_SMALL
    if cause.title in (UNSEEDED, DRAWN, COMMAND_LINE) or not cause.keys:
        return Place.GUESSED
    likely = {o.key for o in evidence.differences if o.likelihood is Likelihood.YES}
    return Place.RECORDED if likely & set(cause.keys) else Place.PERHAPS


def _spoken_against(evidence: PairEvidence, cause: Cause) -> bool:
    """Whether the numbers show that a cause did not make the first difference."""
    if cause.title == RATE_ALIKE or cause.title.startswith(LATER):
        return True
    if cause.kind is CauseKind.SCHEDULE or cause.title == OPTIMIZER:
        return evidence.at_start
    if cause.title == UNSEEDED:
        return evidence.number is not None and not evidence.first_value
    return cause.title in ("the seed", WEIGHTS) and not evidence.first_value
