"""Why two runs part: every cause that what they recorded bears out, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from pytscope.diffing.advice import not_recorded
from pytscope.diffing.batches import FACT
from pytscope.diffing.causes_data import batch_causes, seed_cause
from pytscope.diffing.causes_outside import evaluation_cause, numbering_cause
from pytscope.diffing.causes_rate import rate_causes
from pytscope.diffing.causes_recorded import recorded_causes
from pytscope.diffing.causes_resume import resume_causes, resumption
from pytscope.diffing.causes_start import start_causes
from pytscope.diffing.causes_update import nondeterminism, update_causes
from pytscope.diffing.evidence import PairEvidence
from pytscope.diffing.facts import INITIAL_WEIGHTS
from pytscope.diffing.ranking import Place, place
from pytscope.diffing.roles import Role
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
    apart = numbering_cause(evidence)
    if apart is not None:
        seed = seed_cause(evidence)
        return (apart,) if seed is None else (apart, seed)
    found = [_with_batches(evidence, one) for one in _found(evidence)]
    if all(place(evidence, one) >= Place.SPOKEN_AGAINST for one in found):
        found.append(_unknown(evidence))
    return tuple(sorted(found, key=lambda cause: place(evidence, cause)))


def _with_batches(evidence: PairEvidence, cause: Cause) -> Cause:
    """A cause that other batches bear out, with the fact that tells of them."""
    told = any(one.key == FACT for one in evidence.differences)
    fed = cause.kind is CauseKind.BATCH or cause.id is CauseId.RESUME_LOADER
    return attrs.evolve(cause, keys=(*cause.keys, FACT)) if told and fed else cause


def _found(evidence: PairEvidence) -> Iterator[Cause]:
    measured = evaluation_cause(evidence)
    if measured is not None:
        yield measured
        yield from recorded_causes(evidence, measured.keys)
        return
    resumed = resumption(evidence)
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
    told = f"Not recorded: {missing}." if missing else "Everything recorded of them is equal."
    return Cause(
        id=CauseId.UNKNOWN,
        kind=CauseKind.UNKNOWN,
        title="something that is not recorded",
        detail=(
            f"The runs differ {where}, and nothing that both recorded explains it."
            f"{within_step(evidence)} {told}"
        ),
        fix="Record with AutoProfiler(model, optimizer, fingerprint_batches=True) and log the "
        "learning rate."
        if missing
        else "",
        confidence=Confidence.SUGGESTIVE,
    )


def within_step(evidence: PairEvidence) -> str:
    """Where in the making of a step the first difference lies, as far as anything tells."""
    at = evidence.number
    if at is None:
        return ""
    role = evidence.series_of(at).role
    if role is Role.GRADIENT and evidence.at_step(at.step, Role.LOSS):
        return (
            f" The loss of step {at.step} is the same, so it is in the backward pass, or in what "
            "scales or clips gradients."
        )
    if role is not Role.LOSS:
        return ""
    first, second = evidence.told(INITIAL_WEIGHTS)
    if evidence.at_start and first is not None and first == second:
        return (
            " Hashes of weights cover no buffers of the model, nor what it does with them, such as "
            "the share that dropout drops."
        )
    if evidence.at_step(at.step - 1, Role.GRADIENT):
        return (
            f" The gradient norm of step {at.step - 1} is the same, so it is in the update after "
            "it, or in random numbers of the next forward pass."
        )
    return ""
