"""Causes that lie in how weights are updated: the optimizer, and the order of sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pytscope.diffing.advice import determinism_advice, not_recorded
from pytscope.diffing.causes_start import is_tiny
from pytscope.diffing.evidence import BATCHES, PairEvidence, relative
from pytscope.diffing.facts import INITIAL_WEIGHTS
from pytscope.diffing.numbers import are
from pytscope.diffing.roles import Role
from pytscope.model.comparison import At, Cause, CauseKind, Kind
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence
from pytscope.model.records import Flag
from pytscope.runs.run import Run

_OPTIMIZER = frozenset(
    """optimizer optim momentum beta beta1 beta2 betas eps epsilon weight_decay wd clip nesterov
    amsgrad dampening max_grad_norm grad_clip clip_grad gradient_clip_val
    adam_beta1 adam_beta2 adam_epsilon""".split()  # noqa: SIM905  # reads better without quotes
)
MOST_GROWN = 0.01
"""Gap, of the value, up to which rounding may have grown between steps that were logged."""
COARSE = (
    CauseId.SEED,
    CauseId.SETTINGS,
    CauseId.CODE,
    CauseId.ENVIRONMENT,
    CauseId.COMMAND_LINE,
)
"""Causes that are unlikely to change numbers by no more than rounding, after equal ones."""


def update_causes(evidence: PairEvidence) -> Iterator[Cause]:
    """The optimizer's settings, and steps that one run skipped."""
    skipped = _skipped(evidence)
    if skipped is not None:
        yield skipped
    rates = {one.key for one in evidence.rates()}
    found = [
        one
        for one in evidence.topic(Kind.CONFIG)
        if is_optimizers(one.key) and one.key not in rates
    ]
    if not found:
        return
    told = are(found)
    at = evidence.number
    later = at is not None and not evidence.first_value
    after = ""
    if at is not None and later:
        after = f" Numbers agree up to the update before step {at.step}."
    elif evidence.at_start:
        after = " It cannot have changed the first step's numbers, which differ."
    yield Cause(
        id=CauseId.OPTIMIZER,
        kind=CauseKind.BACKWARD,
        title="the optimizer's settings",
        detail=f"{told}.{after}",
        keys=tuple(one.key for one in found),
        fix="Make the optimizer with the same settings.",
        confidence=Confidence.CONFIRMED if evidence.second else Confidence.SUGGESTIVE,
    )


def is_optimizers(key: str) -> bool:
    """Whether a fact is a setting of the optimizer."""
    parts = key.replace("-", "_").lower().split(".")
    return key.startswith("torch.optimizer") or bool(_OPTIMIZER & set(parts[1:]))


def _skipped(evidence: PairEvidence) -> Cause | None:
    """A step that changed no weights in one run alone, before the numbers differ."""
    a, b = evidence.runs
    for rank in sorted(set(a.ranks) & set(b.ranks)):
        steps = [
            set(t.step[t.has(Flag.SKIPPED) & ~t.has(Flag.REDONE)].tolist())
            for t in (a.rank(rank), b.rank(rank))
        ]
        both = (s for s in sorted(steps[0] ^ steps[1]) if all(_made(r, rank, s) for r in (a, b)))
        alone = next(both, None)
        if alone is not None and alone <= evidence.horizon:
            who = evidence.labels[0 if alone in steps[0] else 1]
            return Cause(
                id=CauseId.SKIPPED_STEP,
                kind=CauseKind.BACKWARD,
                title=f"step {alone} was skipped in {who} alone",
                detail="Its gradients were not finite there, so its weights were not updated.",
                fix="Compare the scale of the loss in both runs.",
            )
    return None


def _made(run: Run, rank: int, step: int) -> bool:
    return bool(np.any(run.rank(rank).step == step))


def nondeterminism(evidence: PairEvidence, others: Sequence[Cause]) -> Iterator[Cause]:
    """An operation whose result depends on timing: for what nothing else explains.

    Args:
        evidence: What the runs show.
        others: The causes found so far.
    """
    at = evidence.number
    batch, rate = evidence.first(*BATCHES), evidence.first(Role.RATE)
    if at is None or any(other.step <= at.step for other in (batch, rate) if other is not None):
        return
    tiny = is_tiny(evidence)
    if not tiny and relative(at) > MOST_GROWN:
        return
    if any(_explains(evidence, cause, tiny=tiny) for cause in others):
        return
    missing = not_recorded(evidence)
    dense = _previous(evidence, at) == at.step - 1
    if not tiny and (dense or evidence.at_start or not evidence.seen(Role.BATCH)):
        return
    doubt = any(c.kind not in (CauseKind.SCHEDULE, CauseKind.RESUME) for c in others)
    sure = tiny and not doubt and _ruled_out(evidence)
    yield Cause(
        id=CauseId.NONDETERMINISM,
        kind=CauseKind.BACKWARD,
        title="a nondeterministic operation",
        detail=_shown(evidence, at, missing, tiny=tiny, others=doubt),
        fix=determinism_advice(evidence),
        confidence=Confidence.CONFIRMED if sure else Confidence.SUGGESTIVE,
    )


def _ruled_out(evidence: PairEvidence) -> bool:
    """Whether what else makes gaps like rounding was recorded, and is the same.

    Of code too: Adam hardly minds another limit of the gradients' norm.
    """
    needed = ["torch.version", "git.sha", "git.dirty", *([INITIAL_WEIGHTS] * evidence.at_start)]
    recorded = all(own.get(name) is not None for own in evidence.facts for name in needed)
    forbidden = all(evidence.told("torch.determinism.algorithms"))
    return recorded and evidence.seen(Role.BATCH) and evidence.seen(Role.RATE) and not forbidden


def _explains(evidence: PairEvidence, cause: Cause, *, tiny: bool) -> bool:
    """Whether a cause could have made the first difference, of its size and at its step."""
    if cause.kind is CauseKind.SCHEDULE:
        return evidence.first(Role.RATE) is None and not evidence.at_start
    if cause.kind is CauseKind.RESUME:
        return False  # of a later step: asked only then
    if cause.id is CauseId.OPTIMIZER:
        return not evidence.at_start
    if tiny and cause.confidence is Confidence.SUGGESTIVE:
        return not (cause.kind is CauseKind.BATCH or cause.id in COARSE)
    return True


def _shown(evidence: PairEvidence, at: At, missing: str, *, tiny: bool, others: bool) -> str:
    before = _previous(evidence, at)
    place = (
        f"in the forward pass of step {at.step} already"
        if evidence.at_start
        else f"at step {at.step}, the first after step {before}"
        if before is not None
        else f"at step {at.step}, the first that both logged"
    )
    size = "no more than rounding" if tiny else "which may have grown between the logged steps"
    known = []
    if evidence.seen(Role.BATCH):
        known.append("batches")
    if evidence.seen(Role.RATE):
        known.append("learning rates")
    alike = f" Up to there {' and '.join(known)} are the same." if known else ""
    facts = (
        ""
        if others
        else " All that is recorded of settings, code, packages and devices and may change "
        "numbers is the same."
    )
    lacking = f" Not recorded: {missing}." if missing else ""
    return (
        f"{at.series} differs {place}: {evidence.values(at)}, {size}.{_passes(evidence, at)}{alike}"
        f"{facts}{lacking}"
    )


def _passes(evidence: PairEvidence, at: At) -> str:
    """What the gradient norms add."""
    gradient = evidence.first(Role.GRADIENT)
    if not evidence.seen(Role.GRADIENT) or at.series in {
        c.name for c in evidence.of(Role.GRADIENT)
    }:
        return ""
    if gradient is not None and gradient.step < at.step:
        return f" Gradient norms differ from step {gradient.step} on: it is in the backward pass."
    return f" Gradient norms agree up to step {(gradient or at).step}."


def _previous(evidence: PairEvidence, at: At) -> int | None:
    """The step before at which the series was compared."""
    one = evidence.series_of(at)
    place = one.place(at.step)
    return int(one.pair.step[place - 1]) if place else None
