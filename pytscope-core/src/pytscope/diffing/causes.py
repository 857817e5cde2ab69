"""Why two runs part: every cause that what they recorded bears out, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from pytscope.diffing.advice import not_recorded
from pytscope.diffing.batches import FACT
from pytscope.diffing.causes_data import batch_causes, seed_cause
from pytscope.diffing.causes_recorded import recorded_causes
from pytscope.diffing.causes_resume import Resumption, resume_causes, resumption
from pytscope.diffing.causes_start import start_causes
from pytscope.diffing.causes_update import nondeterminism, rate_causes, update_causes
from pytscope.diffing.evidence import PairEvidence
from pytscope.diffing.ranking import place
from pytscope.model.comparison import Cause, CauseKind
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence

_ORDER = {kind: place for place, kind in enumerate(CauseKind)}


def causes(evidence: PairEvidence) -> tuple[Cause, ...]:
    """All causes: what the series show first, then what provenance alone suggests.

    Looked for in this order: batches, the state at the start, the backward pass
    and the update, the schedule, a resume. No cause hides another one.

    Args:
        evidence: What the runs show.

    Returns:
        The causes; empty for runs that do not part.
    """
    if evidence.first() is None:
        return ()
    resumed = resumption(evidence)
    found = [_with_batches(evidence, one) for one in _found(evidence, resumed)]
    if not found:
        found = [_unknown(evidence)]
    return tuple(sorted(found, key=lambda cause: place(evidence, cause)))


def _with_batches(evidence: PairEvidence, cause: Cause) -> Cause:
    """A cause that other batches bear out, with the fact that tells of them."""
    told = any(one.key == FACT for one in evidence.differences)
    fed = cause.kind is CauseKind.BATCH or cause.id is CauseId.RESUME_LOADER
    return attrs.evolve(cause, keys=(*cause.keys, FACT)) if told and fed else cause


def _found(evidence: PairEvidence, resumed: Resumption | None) -> Iterator[Cause]:
    early: list[Cause] = []
    if resumed is not None:
        early += resume_causes(evidence, resumed)
    if resumed is None or not resumed.from_first:
        seed = seed_cause(evidence)
        early += [seed] if seed else []
        seeded = seed is not None and seed.confidence is Confidence.CONFIRMED
        early += batch_causes(evidence, seed=seed, resumed=resumed is not None)
        early += start_causes(evidence, seeded=seeded)
    early += rate_causes(evidence, resumed=resumed is not None)
    early += update_causes(evidence)
    told = {key for cause in early for key in cause.keys}
    early += recorded_causes(evidence, told)
    early.sort(key=lambda cause: _ORDER[cause.kind] if cause.kind is not CauseKind.RESUME else -1)
    yield from early
    if resumed is None or not resumed.from_first:
        yield from nondeterminism(evidence, early)


def _unknown(evidence: PairEvidence) -> Cause:
    at = evidence.number or evidence.first()
    where = f"from step {at.step} on ({at.series}: {evidence.values(at)})" if at else "somewhere"
    missing = not_recorded(evidence)
    return Cause(
        id=CauseId.UNKNOWN,
        kind=CauseKind.UNKNOWN,
        title="something that is not recorded",
        detail=(
            f"The runs differ {where}, and nothing that both recorded explains it. "
            + (f"Not recorded: {missing}." if missing else "Everything recorded of them is equal.")
        ),
        fix="Record with AutoProfiler(model, optimizer, fingerprint_batches=True) and log the "
        "learning rate."
        if missing
        else "",
        confidence=Confidence.SUGGESTIVE,
    )
