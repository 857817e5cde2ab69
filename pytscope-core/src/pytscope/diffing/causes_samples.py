"""The same samples in the same order with other values: augmentation, or data that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pytscope.diffing.aligned import Pair
from pytscope.diffing.evidence import PairEvidence
from pytscope.diffing.logged import common
from pytscope.diffing.numbers import are
from pytscope.diffing.roles import Role
from pytscope.model.comparison import At, Cause, CauseKind, Difference, Kind
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence
from pytscope.model.wording import listed

AUGMENTATION_FIX = (
    "Seed numpy and random before the loader is made (numpy.random.seed, random.seed), give "
    "numpy.random.default_rng a seed, and seed them in worker_init_fn where workers load."
)
SETTINGS_FIX = "Make the batches with the same settings."
GENERATORS = {"python": "Python's random", "numpy": "numpy's"}
UNSEEDED = "unseeded random numbers in the data"
CONTENTS_FIX = (
    "Give both runs the same data, such as by a checksum of its files, and seed what draws for a "
    "sample."
)
_MOST = 6
_FIXES = {CauseId.DATA: SETTINGS_FIX, CauseId.SAMPLE_CONTENTS: CONTENTS_FIX}
_NEARLY_ALL = 0.9
"""Part of the batches that random numbers for every sample change, at least."""
_FEWEST = 4
_AS_BEFORE = (
    "Samples that come again have the values that they had, so nothing draws for them: the data "
    "changed."
)


def same_samples(evidence: PairEvidence, batch: At) -> bool:
    """Whether batches that differ are of the same samples: by their numbers, else their labels."""
    for role in (Role.SAMPLES, Role.INTEGERS):
        if evidence.seen(role):
            at = evidence.first(role)
            return at is None or at.step > batch.step
    return False


def augmentation(
    evidence: PairEvidence, batch: At, making: Sequence[Difference], workers: Sequence[Difference]
) -> Cause:
    """The samples are the same; what came of them is not.

    Args:
        evidence: What the runs show.
        batch: Where they first differ.
        making: Settings of the data that differ, but of their order.
        workers: Numbers of workers that differ.
    """
    states = generators(evidence)
    seen = (
        f"From step {batch.step}{evidence.rank(batch)} on the batches differ, while "
        f"{_proof(evidence)}: the same samples in the same order, with other values."
    )
    keys = tuple(states.values())
    dtype = _other_types(evidence) and not making
    few, redrawn = _few_of(evidence, batch), _redrawn(evidence)
    sure = not dtype
    if making:
        keys = tuple(one.key for one in making)
        told = f"What makes them differs: {listed(keys, _MOST)}."
        which, title = CauseId.DATA, "the data"
    elif workers:
        keys = (*(one.key for one in workers), *keys)
        told = f"{are(workers)}: each worker draws random numbers of its own, for its share."
        which = CauseId.AUGMENTATION_WORKERS
        title = "augmentation, whose random numbers depend on the workers"
    elif dtype:
        told = "The element types of the runs differ as well, which alone could do it."
        which = CauseId.BATCH_VALUES_OR_DTYPE
        title = "the values of the batches, or their element type"
    elif few or redrawn is False:
        told = few or _AS_BEFORE
        which, title = CauseId.SAMPLE_CONTENTS, "the contents of the samples"
    elif states:
        names = " and ".join(GENERATORS[name] for name in states)
        told = f"PyTorch's seed is the same; {names} state at the start is not."
        which, title = CauseId.AUGMENTATION, "augmentation with unseeded random numbers"
    elif redrawn:
        told = "Samples that come again have other values, and no global generator tells of it."
        which = CauseId.AUGMENTATION_OWN_GENERATOR
        title = "augmentation with random numbers of its own"
    else:
        told = "The data may have changed, or a generator of the data set's own may draw."
        which, title = CauseId.SAMPLE_CONTENTS, "the contents of the samples"
        sure = False
    return Cause(
        id=which,
        kind=CauseKind.BATCH,
        title=title,
        detail=f"{seen} {told}",
        keys=keys,
        fix=_FIXES.get(which, AUGMENTATION_FIX),
        confidence=Confidence.CONFIRMED if sure else Confidence.SUGGESTIVE,
    )


def _few_of(evidence: PairEvidence, batch: At) -> str:
    """That only some batches differ, as where a few samples changed; empty where most do."""
    pair = evidence.series_of(batch).pair
    differ = pair.unequal()[int(np.searchsorted(pair.step, batch.step)) :]
    if len(differ) < _FEWEST or float(differ.mean()) >= _NEARLY_ALL:
        return ""
    return (
        f"Of the {len(differ):,} batches from there on {int(differ.sum()):,} differ, so some "
        "samples have other values, and not all: their data changed, or random numbers are drawn "
        "for few."
    )


def _redrawn(evidence: PairEvidence) -> bool | None:
    """Whether samples that come again in a run have other values; None where none do."""
    again = False
    for which, values in _of_one_rank(evidence):
        _, left, right = common(which.step, values.step)
        for drawn, batches in ((which.first, values.first), (which.second, values.second)):
            order = np.argsort(drawn[left], kind="stable")
            same = np.diff(drawn[left][order]) == 0
            again = again or bool(same.any())
            if bool((same & (np.diff(batches[right][order]) != 0)).any()):
                return True
    return False if again else None


def _of_one_rank(evidence: PairEvidence) -> Iterator[tuple[Pair, Pair]]:
    """Which samples were drawn and what became of them, rank by rank."""
    drawn = [pair for one in evidence.of(Role.SAMPLES) for pair in one.pairs]
    made = [pair for one in evidence.of(Role.BATCH) for pair in one.pairs]
    return ((which, values) for which in drawn for values in made if which.rank == values.rank)


def also_unseeded(evidence: PairEvidence) -> Iterator[Cause]:
    """Generators in other states that were drawn from, where another order hides what they did."""
    states = generators(evidence)
    if states:
        names = " and ".join(GENERATORS[name] for name in states)
        yield Cause(
            id=CauseId.UNSEEDED_GENERATORS,
            kind=CauseKind.BATCH,
            title=UNSEEDED,
            detail=f"{names} state at the start differs too; with other samples in the batches, "
            "what came of it does not show.",
            keys=tuple(states.values()),
            fix=AUGMENTATION_FIX,
            confidence=Confidence.SUGGESTIVE,
        )


def _proof(evidence: PairEvidence) -> str:
    if evidence.seen(Role.SAMPLES):
        return "the sampler drew the same samples"
    return "the whole numbers in them, such as labels, are the same"


def _other_types(evidence: PairEvidence) -> bool:
    return any("dtype" in one.key for one in evidence.topic(Kind.PRECISION))


def generators(evidence: PairEvidence) -> dict[str, str]:
    """Generators whose state at the start differs and that may have been drawn from."""
    known = {one.key for one in evidence.topic(Kind.SEED)}
    found: dict[str, str] = {}
    for name in GENERATORS:
        for key in (f"torch.initial_random_states.{name}", f"seeds.{name}"):
            if key in known:
                found.setdefault(name, key)
    return found
