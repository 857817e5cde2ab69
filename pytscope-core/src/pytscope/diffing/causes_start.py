"""Causes that lie in what the runs began with: precision, weights, the model's random numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytscope.diffing.evidence import BATCHES, PairEvidence, relative
from pytscope.diffing.facts import INITIAL_WEIGHTS
from pytscope.diffing.numbers import are
from pytscope.diffing.roles import Role
from pytscope.model.comparison import At, Cause, CauseKind, Difference, Kind, Likelihood
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence

_COARSEST = 0.05
"""Share of a first loss by which arithmetic in 16 bits, or in 8, hardly moves it."""
_SOON = 5
"""Steps after the first by which weights that differ by little show."""
TINY = 10.0
"""Gaps up to so many times what rounding makes are taken for rounding."""


def start_causes(evidence: PairEvidence, *, seeded: bool) -> Iterator[Cause]:
    """Causes at the start.

    Args:
        evidence: What the runs show.
        seeded: Whether the seed explains other weights.
    """
    precision = _precision(evidence)
    yield from precision
    weights = [
        one
        for one in evidence.topic(Kind.WEIGHTS)
        if one.likelihood is Likelihood.YES and not (one.key == INITIAL_WEIGHTS and seeded)
    ]
    model = [one for one in weights if "model.parameters" in one.key or "model.trained" in one.key]
    if model:
        yield _model(evidence, model, [one.key for one in weights if one.key == INITIAL_WEIGHTS])
    elif weights:
        yield _weights(evidence, weights)
    elif not seeded and not precision:
        yield from _drawn(evidence)


def is_tiny(evidence: PairEvidence) -> bool:
    """Whether the first difference of the numbers is one that rounding makes."""
    at = evidence.number
    return at is not None and relative(at) <= TINY * evidence.rtol


def _precision(evidence: PairEvidence) -> list[Cause]:
    found = evidence.topic(Kind.PRECISION)
    if not found or evidence.number is None:
        return []
    keys = [one.key for one in found]
    if any(one.key == "torch.model.dtypes" for one in found):
        keys += [one.key for one in evidence.differences if one.key == INITIAL_WEIGHTS]
    clear = evidence.at_start and not _other_batches(evidence) and _of_rounding(evidence, found)
    detail = f"{are(found)}."
    if evidence.at_start:
        detail += f" The first {evidence.number.series} is {evidence.values(evidence.number)}."
    elif not evidence.first_value:
        detail += " The first step's numbers are the same, so the forward pass is not touched."
    return [
        Cause(
            id=CauseId.PRECISION,
            kind=CauseKind.INITIAL if evidence.first_value else CauseKind.BACKWARD,
            title="the precision of the arithmetic",
            detail=detail,
            keys=tuple(keys),
            fix="Use one element type, one autocast setting and one precision of matrix products.",
            confidence=Confidence.CONFIRMED if clear else Confidence.SUGGESTIVE,
        )
    ]


def _of_rounding(evidence: PairEvidence, found: list[Difference]) -> bool:
    """Whether the gap is one that coarse rounding makes, by what was surely in use.

    Another element type was; another precision of matrix products may have been, and is
    what is left where weights, batches and seeds are known to be the same.
    """
    at = evidence.number
    hashes = evidence.told(INITIAL_WEIGHTS)
    alike = hashes[0] is not None and hashes[0] == hashes[1] and evidence.seen(Role.BATCH)
    drawn = any(one.likelihood is Likelihood.YES for one in evidence.topic(Kind.SEED))
    used = (alike and not drawn) or any(one.likelihood is Likelihood.YES for one in found)
    return used and at is not None and (relative(at) <= _COARSEST or not _finite(at))


def _finite(at: At) -> bool:
    return math.isfinite(at.first) and math.isfinite(at.second)


def _other_batches(evidence: PairEvidence) -> bool:
    """Whether what the first differing step was fed differs by more than an element type."""
    batch, number = evidence.first(*BATCHES), evidence.number
    if batch is None or number is None or batch.step > number.step:
        return False
    integers = evidence.first(Role.INTEGERS)
    same = evidence.seen(Role.INTEGERS) and (integers is None or integers.step > number.step)
    return not same


def _weights(evidence: PairEvidence, weights: list[Difference]) -> Cause:
    hashed = any(one.key == INITIAL_WEIGHTS for one in weights)
    detail = f"{are(weights)}."
    batch = evidence.first(*BATCHES)
    at = evidence.number
    if at is not None and evidence.first_value:
        fed = evidence.seen(Role.BATCH) and (batch is None or batch.step > at.step)
        also = ", though both were fed the same batch" if fed else ""
        detail += f" {at.series} at step {at.step} is {evidence.values(at)}{also}."
    elif at is not None:
        detail += f" Yet {at.series} agrees up to step {at.step}."
    begin = evidence.begin
    grown = at is not None and begin is not None and at.step <= begin + _SOON and is_tiny(evidence)
    sure = hashed and (evidence.first_value or grown)
    return Cause(
        id=CauseId.INITIAL_WEIGHTS,
        kind=CauseKind.INITIAL,
        title="the initial weights",
        detail=detail,
        keys=tuple(one.key for one in weights),
        fix="Seed before the model is made, or load the same weights.",
        confidence=Confidence.CONFIRMED if sure else Confidence.SUGGESTIVE,
    )


def _drawn(evidence: PairEvidence) -> Iterator[Cause]:
    """The first step differs with the same batch: weights that no hash tells, or random numbers."""
    at = evidence.number
    if at is None or not evidence.first_value or _other_batches(evidence) or is_tiny(evidence):
        return
    first, second = evidence.told(INITIAL_WEIGHTS)
    batches = "the same batch" if evidence.seen(Role.BATCH) else "batches not fingerprinted"
    if first is None or second is None:
        yield Cause(
            id=CauseId.INITIAL_WEIGHTS_OR_MODEL_RANDOMNESS,
            kind=CauseKind.INITIAL,
            title="the initial weights, or random numbers in the model",
            detail=f"{at.series} at step {at.step}, the first, is {evidence.values(at)}, with "
            f"{batches}. Whether the weights were the same is not recorded.",
            fix="Give AutoProfiler the model, so that its initial weights are hashed; seed before "
            "the model is made.",
            confidence=Confidence.SUGGESTIVE,
        )
        return
    key = "torch.random_states.torch"
    states = [one.key for one in evidence.differences if one.key == key]
    if states and evidence.at_start:
        yield Cause(
            id=CauseId.MODEL_RANDOMNESS,
            kind=CauseKind.INITIAL,
            title="random numbers drawn in the model",
            detail=f"Initial weights and {batches}, yet {at.series} at step {at.step} is "
            f"{evidence.values(at)}; PyTorch's random state after the first step differs.",
            keys=(key,),
            fix="Seed right before training; dropout and sampling draw from PyTorch's generator.",
        )


def _model(evidence: PairEvidence, found: list[Difference], hashes: list[str]) -> Cause:
    same_size = all(one.key.endswith(".trained") for one in found)
    sure = evidence.second if same_size else evidence.first_value
    told = "They train other parts of it" if same_size else "The models are not of one size"
    return Cause(
        id=CauseId.MODEL,
        kind=CauseKind.INITIAL,
        title="the parts of the model that are trained" if same_size else "the model",
        detail=f"{are(found)}. {told}.",
        keys=(*(one.key for one in found), *hashes),
        fix="Make the model with the same settings.",
        confidence=Confidence.CONFIRMED if sure else Confidence.SUGGESTIVE,
    )
