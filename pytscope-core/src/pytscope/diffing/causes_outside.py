"""Causes outside of training: what is evaluated, and how steps are counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytscope.diffing.causes_resume import restored_optimizer
from pytscope.diffing.evidence import PairEvidence, resumes
from pytscope.diffing.facts import INITIAL_WEIGHTS
from pytscope.diffing.logged import names, series
from pytscope.diffing.roles import NUMBERS, Role, of_role
from pytscope.model.comparison import Cause, CauseKind, Kind
from pytscope.model.comparison_causes import CauseId
from pytscope.runs.run import Run

ALIKE = 5
"""Values in a row that show that one run computes what another does at other steps."""


def evaluation_cause(evidence: PairEvidence) -> Cause | None:
    """What is measured differs, and training goes on as if nothing did."""
    at = evidence.number
    trained = [one for one in evidence.of(Role.LOSS) if one.told.compared]
    if at is None or not trained or evidence.series_of(at).role is not Role.OTHER:
        return None
    if evidence.first(Role.LOSS, Role.GRADIENT) is not None:
        return None
    longest = max(trained, key=lambda one: one.told.compared)
    after = longest.told.compared - longest.place(at.step + 1)
    if after <= 0:
        return None
    settings = [one.key for one in evidence.topic(Kind.CONFIG) if "Evaluation" in one.why]
    return Cause(
        id=CauseId.EVALUATION,
        kind=CauseKind.UNKNOWN,
        title="what is evaluated, not what is trained",
        detail=(
            f"{at.series} differs at step {at.step}: {evidence.values(at)}; yet {longest.name} is "
            f"the same at every common step, {after:,} of them after it, so the weights are. "
            "Left are the data of the evaluation, its random numbers, buffers of the model such as "
            "running means, and how it is measured."
        ),
        keys=tuple(settings),
        fix="Evaluate the same data in one order, in eval mode, and load buffers with the weights.",
    )


def numbered_apart(runs: Sequence[Run]) -> int | None:
    """By how many steps the numbers of the second run are those of the first, or None.

    One begins at a later step than the other, and yet its first losses are the other's
    first ones to the last bit: it began anew.

    Args:
        runs: Two runs.
    """
    later = next((one for one in resumes(runs) if one.began), None)
    if later is None:
        return None
    mine, other = runs[later.place], runs[1 - later.place]
    for name in of_role([n for n in names(mine) if n in names(other)], Role.LOSS):
        own, theirs = series(mine, name), series(other, name)
        if own is None or theirs is None:
            continue
        shift = int(own.steps[0] - theirs.steps[0])
        steps = own.steps[:ALIKE] - shift, theirs.steps[:ALIKE]
        values = own.values[:ALIKE], theirs.values[:ALIKE]
        told = len(np.unique(values[0])) > 1 and len(values[0]) == ALIKE
        if shift > 0 and told and all(np.array_equal(*pair) for pair in (steps, values)):
            return shift if later.place == 1 else -shift
    return None


def numbering_cause(evidence: PairEvidence) -> Cause | None:
    """Steps that two runs count from different numbers."""
    shift = numbered_apart(evidence.runs)
    told = _fresh(evidence) if shift is None else shift_words(evidence.labels, shift)
    if not told:
        return None
    at = evidence.first(*NUMBERS) or evidence.first()
    where = f" So {at.series} differs at step {at.step} and says nothing." if at else ""
    return Cause(
        id=CauseId.STEP_NUMBERS_OR_RESUME,
        kind=CauseKind.RESUME,
        title="steps that are counted from another number, or a resume that restored nothing",
        detail=f"{told}{where}",
        fix="Count the steps of both from one number; if the later one was to go on, it did not.",
    )


def _fresh(evidence: PairEvidence) -> str:
    """That a run that begins later remembers nothing of the steps before, or an empty string.

    It has the weights that the other began with, or begins with step 1, from which nobody
    resumes: many count so.
    """
    later = next((one for one in resumes(evidence.runs) if one.began), None)
    if later is None or restored_optimizer(later) is not False:
        return ""
    initial = evidence.facts[1 - later.place].get(INITIAL_WEIGHTS)
    same = initial is not None and later.facts.get(INITIAL_WEIGHTS) == initial
    if not same and later.step != 1:
        return ""
    late, early = evidence.labels[later.place], evidence.labels[1 - later.place]
    weights = f"the weights that {early} began with and " if same else ""
    return (
        f"{late} begins at step {later.step} with {weights}an optimizer that remembers no step "
        "before: it began anew."
    )


def shift_words(labels: tuple[str, str], shift: int) -> str:
    """That a run begins anew at a later step, as a sentence."""
    early, late = labels if shift > 0 else (labels[1], labels[0])
    steps = "one step" if abs(shift) == 1 else f"{abs(shift):,} steps"
    return f"The first losses of {late} are those of {early}, {steps} on: it began anew."
