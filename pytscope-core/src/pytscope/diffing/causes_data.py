"""Causes that lie in what the runs were fed: the seed, the order of the data, the data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from pytscope.diffing.causes_samples import (
    AUGMENTATION_FIX,
    GENERATORS,
    SETTINGS_FIX,
    UNSEEDED,
    also_unseeded,
    augmentation,
    generators,
    same_samples,
)
from pytscope.diffing.evidence import BATCHES, PairEvidence
from pytscope.diffing.facts import INITIAL_WEIGHTS
from pytscope.diffing.numbers import are
from pytscope.diffing.roles import Role
from pytscope.model.comparison import At, Cause, CauseKind, Difference, Kind, Likelihood
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence
from pytscope.model.wording import listed

SEED_FIX = (
    "Give both runs one seed before the model and the loader are made, such as "
    "torch.manual_seed(0); seed random and numpy too where they are used."
)
_ORDERING = re.compile(
    r"seed|order|sampler|shuffle|workers|prefetch|pin_memory|\.after_steps", re.IGNORECASE
)
"""Settings that decide in which order samples come."""
ORDER_FIX = (
    "Give the sampler a generator with a fixed seed, "
    "DataLoader(generator=torch.Generator().manual_seed(0)), and keep the data set's order."
)
_MOST = 6


def seed_cause(evidence: PairEvidence) -> Cause | None:
    """The seed, where the runs recorded different ones."""
    found = [one for one in evidence.topic(Kind.SEED) if one.likelihood is Likelihood.YES]
    if not found:
        return None
    batch, number = evidence.first(*BATCHES), evidence.number
    shows = []
    if batch is not None and batch.step <= evidence.horizon:
        shows.append(f"the batches differ from step {batch.step} on")
    weights = [o.key for o in evidence.differences if o.key == INITIAL_WEIGHTS]
    if weights:
        shows.append("the initial weights differ")
    if evidence.at_start and number is not None:
        shows.append(f"{number.series} differs in the first step already")
    doubt = len(shows) == 1 and evidence.at_start and batch is None and _else_at_start(evidence)
    told = are(found)
    if shows:
        detail = f"{told}: {', '.join(shows)}."
    elif evidence.at_start or evidence.first_value:
        detail = f"{told}. Initial weights, order of the data and dropout come from the seed."
    else:
        detail = f"{told}; yet the runs begin alike, so it can only show in later random numbers."
    return Cause(
        id=CauseId.SEED,
        kind=CauseKind.BATCH if batch is not None else CauseKind.INITIAL,
        title="the seed",
        detail=detail,
        keys=(*(one.key for one in found), *weights, *generators(evidence).values()),
        fix=SEED_FIX,
        confidence=Confidence.CONFIRMED if shows and not doubt else Confidence.SUGGESTIVE,
    )


def _else_at_start(evidence: PairEvidence) -> bool:
    """Whether another element type may be all that moves the first step's numbers.

    That is so where weights and batches are known to be the same.
    """
    hashes = evidence.told(INITIAL_WEIGHTS)
    alike = hashes[0] is not None and hashes[0] == hashes[1] and evidence.seen(Role.BATCH)
    types = evidence.topic(Kind.PRECISION)
    return alike and any(one.likelihood is Likelihood.YES for one in types)


def batch_causes(evidence: PairEvidence, *, seed: Cause | None, resumed: bool) -> Iterator[Cause]:
    """Batches that differ, and what about them does.

    Args:
        evidence: What the runs show.
        seed: The seed as a cause, which explains another order if it is sure, or None.
        resumed: Whether a resume explains other batches.
    """
    seeded = seed is not None and seed.confidence is Confidence.CONFIRMED
    batch = evidence.first(*BATCHES)
    settings = [o for o in evidence.topic(Kind.DATA) if not o.key.startswith("data.")]
    if batch is not None:
        settings += [o for o in evidence.topic(Kind.PARALLELISM) if o.key == "world_size"]
    if batch is None:
        yield from _without_batches(evidence, settings, seeds=seed is not None)
        return
    if resumed:
        return
    if batch.step > evidence.horizon:
        yield _later(evidence, batch)
        return
    ordering = [one for one in settings if _ORDERING.search(one.key)]
    making = [one for one in settings if one not in ordering]
    if same_samples(evidence, batch):
        workers = [one for one in ordering if one.key.endswith("num_workers")]
        yield augmentation(evidence, batch, making, workers)
    elif not seeded:
        yield _order(evidence, batch, ordering, making)
        if ordering or making:
            yield from also_unseeded(evidence)
        return
    if settings and seeded:
        yield _settings(batch, settings)


def _order(
    evidence: PairEvidence,
    batch: At,
    ordering: Sequence[Difference],
    making: Sequence[Difference],
) -> Cause:
    """The batches differ as a whole: their order, or what they are made of.

    Args:
        evidence: What the runs show.
        batch: Where they first differ.
        ordering: Settings of the order that differ.
        making: Other settings of the data that differ.
    """
    keys = [one.key for one in (*making, *ordering)]
    states = generators(evidence)
    again = _met_again(evidence, batch)
    detail = f"{_since(evidence, batch, making)} {again}".rstrip()
    which, title, fix = CauseId.DATA_ORDER, "the order of the data", ORDER_FIX
    if keys:
        detail += f" What makes them differs: {listed(keys, _MOST)}."
        if making:
            which, title, fix = CauseId.DATA, "the data", SETTINGS_FIX
    elif states and not (evidence.seen(Role.INTEGERS) or evidence.seen(Role.SAMPLES)):
        names = " and ".join(GENERATORS[name] for name in states)
        which = CauseId.DATA_ORDER_OR_AUGMENTATION
        title = "the order of the data, or their augmentation"
        detail += f" {names} state at the start differs, which matters if the data draw from it."
        keys = list(states.values())
    elif states:
        names = " and ".join(GENERATORS[name] for name in states)
        detail += f" {names} state at the start differs, from which the order may be drawn."
        keys = list(states.values())
    else:
        detail += " No seed that was recorded differs."
        if not (again or evidence.seen(Role.SAMPLES)):
            which, title = CauseId.DATA_ORDER_OR_DATA, "the order of the data, or the data"
            detail += " Whether the samples are the same is not recorded."
    return Cause(
        id=which, kind=CauseKind.BATCH, title=title, detail=detail, keys=tuple(keys), fix=fix
    )


def _since(evidence: PairEvidence, batch: At, making: Sequence[Difference]) -> str:
    """From where on the batches differ, and how that is known."""
    at = f"step {batch.step}{evidence.rank(batch)}"
    drew = "the sampler drew other samples" if evidence.seen(Role.SAMPLES) and not making else ""
    if evidence.series_of(batch).place(batch.step) == 0:
        return f"The batches differ from the first one on, at {at}{drew and f': {drew}'}."
    return f"The batches are the same up to {at}, from where on {drew or 'they differ'}."


def _met_again(evidence: PairEvidence, batch: At) -> str:
    """Whether batches of one run come in the other at other steps."""
    pair = evidence.series_of(batch).pair
    if pair.role is not Role.BATCH or len(pair.step) < 2:  # noqa: PLR2004  # one has no order
        return ""
    differ = pair.unequal()
    shared = np.isin(pair.second[differ], pair.first)
    share = float(shared.mean()) if len(shared) else 0.0
    if share < 0.5:  # noqa: PLR2004  # most of them
        return ""
    first, second = evidence.labels
    return f"{share:.0%} of the batches of {second} there are batches of {first} at other steps."


def _settings(batch: At, settings: Sequence[Difference]) -> Cause:
    keys = tuple(one.key for one in settings)
    return Cause(
        id=CauseId.DATA_SETTINGS,
        kind=CauseKind.BATCH,
        title="the data's settings",
        detail=f"Not the same: {listed(keys, _MOST)}; batches differ from step {batch.step} on.",
        keys=keys,
        fix=SETTINGS_FIX,
        confidence=Confidence.SUGGESTIVE,
    )


def _later(evidence: PairEvidence, batch: At) -> Cause:
    return Cause(
        id=CauseId.LATER_BATCHES,
        kind=CauseKind.BATCH,
        title=f"other batches from step {batch.step} on",
        detail=f"The batches are the same up to there{evidence.rank(batch)}; the runs had parted "
        "before, so this is a further cause, or follows from it.",
        fix=ORDER_FIX,
        confidence=Confidence.SUGGESTIVE,
    )


def _without_batches(
    evidence: PairEvidence, settings: Sequence[Difference], *, seeds: bool
) -> Iterator[Cause]:
    """No batch is known to differ: settings of the data, and generators that were not seeded."""
    if settings:
        keys = tuple(one.key for one in settings)
        seen = evidence.seen(Role.BATCH)
        told = (
            "the fingerprints of the batches are the same, though they cover but a part"
            if seen
            else "fingerprints of the batches were not recorded, so what they did is not known"
        )
        yield Cause(
            id=CauseId.DATA_SETTINGS,
            kind=CauseKind.BATCH,
            title="the data's settings",
            detail=f"Not the same: {listed(keys, _MOST)}; {told}.",
            keys=keys,
            fix=SETTINGS_FIX,
            confidence=Confidence.SUGGESTIVE,
        )
    states = generators(evidence)
    if states and not seeds and not evidence.seen(Role.BATCH):
        at, later = evidence.number, ""
        if at is not None and not evidence.first_value:
            later = f" The numbers agree up to step {at.step}, so it can only matter from there on."
        names = " and ".join(GENERATORS[name] for name in states)
        yield Cause(
            id=CauseId.UNSEEDED_GENERATORS,
            kind=CauseKind.BATCH,
            title=UNSEEDED,
            detail=f"{names} state at the start differs; whether the data draw from it is not "
            f"known, for fingerprints of the batches were not recorded.{later}",
            keys=tuple(states.values()),
            fix=AUGMENTATION_FIX,
            confidence=Confidence.SUGGESTIVE,
        )
