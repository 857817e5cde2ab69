"""Causes that lie in a resume: state that was not restored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from pytscope.diffing.evidence import BATCHES, SOON, PairEvidence, Resume, resumes, went_on
from pytscope.diffing.facts import INITIAL_WEIGHTS
from pytscope.diffing.kinds import RATE
from pytscope.diffing.numbers import recorded_apart, told_apart
from pytscope.diffing.roles import NUMBERS, Role
from pytscope.model.comparison import At, Cause, CauseKind, Difference, Kind, Likelihood
from pytscope.model.comparison_causes import CauseId
from pytscope.model.findings import Confidence
from pytscope.model.wording import listed

_ALIKE = 5
"""Batches in a row that show a loader that began again."""
_STATE = "torch.optimizer.state_at_start"
_STEPS = "torch.optimizer.steps_after_first"
_NAMED = 6
_SET = re.compile(r"(config|argv)\.")
_OF_RATE = (CauseId.RESUME_SCHEDULE, CauseId.RESUME_LEARNING_RATE)
_WEIGHTS_OR_STATE = (
    CauseId.RESUME_WEIGHTS_OR_RANDOM_STATE,
    "the weights or the random state were not restored",
)
_WEIGHTS_OR_STATE_OR_LOADER = (
    CauseId.RESUME_WEIGHTS_OR_RANDOM_STATE_OR_LOADER,
    "the weights, the random state or the loader's position were not restored",
)
LOADER_FIX = (
    "Save and restore the position of the sampler and the random states, or skip the batches "
    "that were used."
)


@attrs.frozen(eq=False)
class Resumption:
    """A resume at which the runs part.

    Attributes:
        resume: The resume.
        material: Whether they differed before, by what does not matter.
        batch: Where the batches differ because of it, or None.
        rate: The same of the learning rate.
        number: The same of what training computes.
    """

    resume: Resume
    material: bool
    batch: At | None
    rate: At | None
    number: At | None

    @property
    def from_first(self) -> bool:
        """Whether nothing differed before it."""
        return not self.material


def resumption(evidence: PairEvidence) -> Resumption | None:
    """The resume right before the runs part, bitwise or else materially; None without one."""
    known = [*resumes(evidence.runs)]
    for material in (False, True):
        firsts = [
            evidence.first(*roles, material=material) for roles in (BATCHES, (Role.RATE,), NUMBERS)
        ]
        steps = [at.step for at in firsts if at is not None]
        if not steps:
            continue
        before = [one for one in known if one.step <= min(steps)]
        if not before:
            continue
        resume = before[-1]
        soon = [at if at is not None and _soon(evidence, at, resume) else None for at in firsts]
        if any(soon):
            return Resumption(resume, material, *soon)
    return None


def _soon(evidence: PairEvidence, at: At, resume: Resume) -> bool:
    return 0 <= evidence.since(resume.step, at) <= SOON


def resume_causes(evidence: PairEvidence, found: Resumption) -> Iterator[Cause]:
    """What the resume lost, and what was changed at it."""
    resume = found.resume
    who = evidence.labels[resume.place]
    begun = "begins" if resume.began else "was resumed"
    opening = f"{who} {begun} at step {resume.step}{_before(evidence, found)}."
    news = changed_at(evidence, found.resume)
    sure = any(one.likelihood is Likelihood.YES for one in news)
    if news:
        told = listed((f"{o.key} was {_plain(o, 0)} and is {_plain(o, 1)}" for o in news), _NAMED)
        yield Cause(
            id=CauseId.RESUME_CHANGED,
            kind=CauseKind.RESUME,
            title="what was changed at the resume",
            detail=f"{opening} Since the attempt before it, {told}.",
            keys=tuple(one.key for one in news),
            fix="Resume with the settings, the code and the packages that the run began with.",
            confidence=Confidence.CONFIRMED if sure else Confidence.SUGGESTIVE,
        )
    lost = [*_lost(evidence, found, news)]
    if not lost and not news:
        lost = [_something(found)]
    for which, title, told, fix, proved in lost:
        yield Cause(
            id=which,
            kind=CauseKind.RESUME,
            title=title,
            detail=f"{opening} {told}",
            keys=tuple(o.key for o in evidence.rates()) if which in _OF_RATE else (),
            fix=fix,
            confidence=Confidence.CONFIRMED if proved else Confidence.SUGGESTIVE,
        )


def changed_at(evidence: PairEvidence, resume: Resume) -> list[Difference]:
    """Facts that were changed at a resume; a rate that was recorded speaks for itself."""
    rated = evidence.seen(Role.RATE)
    return [one for one in resume.changed if not (rated and one.why == RATE)]


def _plain(one: Difference, place: int) -> str:
    return recorded_apart(one.values)[place]


_Lost = tuple[CauseId, str, str, str, bool]
"""Which cause, its title, what shows it, what to do, whether it is sure."""


def _lost(
    evidence: PairEvidence, found: Resumption, changed: Sequence[Difference]
) -> Iterator[_Lost]:
    if found.batch is not None:
        remade = any(one.kind is Kind.DATA for one in changed)
        yield _loader(evidence, found.resume, found.batch, remade=remade)
    if found.rate is not None:
        yield _schedule(evidence, found.resume, found.rate)
    restored = restored_optimizer(found.resume)
    optimizer = _optimizer(evidence, found, restored)
    if optimizer is not None:
        which, title, told, fix, sure = optimizer
        yield which, title, told, fix, sure and (restored is False or not changed)
    at = found.number
    if at is None or not _at_once(evidence, found.resume, at):
        return
    if _began_anew(evidence, found.resume):
        yield _weights(evidence, found, at)
    elif found.batch is None:
        fed = evidence.seen(Role.BATCH)
        what = "fed the same batch" if fed else "batches not recorded"
        which, title = _WEIGHTS_OR_STATE if fed else _WEIGHTS_OR_STATE_OR_LOADER
        yield (
            which,
            title,
            f"{at.series} differs at step {at.step}, the first, {what}: {evidence.values(at)}.",
            "Restore the weights in full precision and the random states with the checkpoint"
            + ("." if fed else ", and go on where the loader was."),
            fed and not changed,
        )


def _at_once(evidence: PairEvidence, resume: Resume, at: At) -> bool:
    """Whether a value is the first after a resume."""
    return evidence.since(resume.step, at) == 0


def _began_anew(evidence: PairEvidence, resume: Resume) -> bool:
    """Whether the weights after a resume are those that one of the runs began with."""
    initial = (
        resume.before.get(INITIAL_WEIGHTS),
        evidence.facts[1 - resume.place].get(INITIAL_WEIGHTS),
    )
    own = resume.facts.get(INITIAL_WEIGHTS)
    return own is not None and own in initial


def _weights(evidence: PairEvidence, found: Resumption, at: At) -> _Lost:
    """The weights of the start; a checkpoint may yet have been loaded after they were hashed."""
    resume = found.resume
    told = (
        f"It went on with the weights that training began with ({INITIAL_WEIGHTS} is "
        f"{resume.facts[INITIAL_WEIGHTS]}); {at.series} at step {at.step} is {evidence.values(at)}."
    )
    return (
        CauseId.RESUME_WEIGHTS,
        "the weights were not restored",
        told,
        "Load the model's state_dict before the first step.",
        found.batch is None or _as_at_first(evidence, resume, at),
    )


def _as_at_first(evidence: PairEvidence, resume: Resume, at: At) -> bool:
    """Whether the first value after a resume is one that training began with."""
    pair = evidence.series_of(at).pair
    mine, other = resume.sides(pair)
    value = mine[int(np.searchsorted(pair.step, resume.step))]
    return bool(value in (mine[0], other[0]))


def _loader(evidence: PairEvidence, resume: Resume, batch: At, *, remade: bool) -> _Lost:
    """Other batches: the place was lost, unless other settings make them otherwise."""
    again = _from(evidence, resume)
    told = f"It was fed other batches from step {batch.step} on."
    if again is not None:
        other = evidence.labels[1 - resume.place]
        told += (
            f" They are those of {other} from step {again} on: the loader began "
            + ("from the start." if again == evidence.runs[1 - resume.place].timelines[0].step[0]
               else "elsewhere.")
        )  # fmt: skip
    title = "the loader's position was not restored"
    return CauseId.RESUME_LOADER, title, told, LOADER_FIX, again is not None or not remade


def _from(evidence: PairEvidence, resume: Resume) -> int | None:
    """The step of the other run whose batches come after the resume, if they do."""
    for one in evidence.of(Role.BATCH):
        pair = one.pairs[0]
        mine, other = resume.sides(pair)
        start = int(np.searchsorted(pair.step, resume.step))
        wanted = mine[start : start + _ALIKE]
        for place in np.flatnonzero(other == wanted[0])[:_ALIKE].tolist() if len(wanted) else []:
            if np.array_equal(other[place : place + len(wanted)], wanted) and place != start:
                return int(pair.step[place])
    return None


def _schedule(evidence: PairEvidence, resume: Resume, rate: At) -> _Lost:
    """Another rate: the schedule's place was lost, or a run without a schedule got another one."""
    first, second = told_apart(rate.first, rate.second)
    told = f"{rate.series} is {first} and {second} at step {rate.step}."
    settings = [one.key for one in resume.changed if one.why == RATE and _SET.match(one.key)]
    if settings or _constant(evidence, resume, rate):
        said = f" Since the attempt before it, {listed(settings, _NAMED)} changed." * bool(settings)
        fix = "Resume with the rate that the run had."
        title = "another learning rate since the resume"
        return CauseId.RESUME_LEARNING_RATE, title, told + said, fix, True
    return (
        CauseId.RESUME_SCHEDULE,
        "the schedule's state was not restored",
        told,
        "Save and restore the scheduler's state_dict, and count steps on.",
        True,
    )


def _constant(evidence: PairEvidence, resume: Resume, rate: At) -> bool:
    """Whether neither run's rate ever moves but at the resume."""
    pair = evidence.series_of(rate).pair
    mine, other = resume.sides(pair)
    start = int(np.searchsorted(pair.step, resume.step))
    parts = (other, mine[:start], mine[start:])
    return len(other) > 1 and all(bool(np.all(part == part[:1])) for part in parts)


def restored_optimizer(resume: Resume) -> bool | None:
    """Whether the optimizer remembered earlier steps after the resume; None when not known."""
    steps, state = resume.facts.get(_STEPS), resume.facts.get(_STATE)
    if isinstance(steps, int):
        return steps > 1
    return True if isinstance(state, int) and state > 0 else None


def _optimizer(evidence: PairEvidence, found: Resumption, restored: bool | None) -> _Lost | None:
    fix = "Load the optimizer's state_dict along with the weights, before the first step."
    which, title = CauseId.RESUME_OPTIMIZER_STATE, "the optimizer's state was not restored"
    step = found.resume.step
    fresh = found.resume.facts.get(_STEPS)
    if restored is False:
        told = f"After step {step} its optimizer remembers {fresh} step, not {step + 1}."
        return which, title, told, fix, True
    at = found.number
    if restored or at is None or found.batch is not None or found.rate is not None:
        return None
    if _at_once(evidence, found.resume, at):
        return None
    known = evidence.seen(Role.BATCH) and evidence.seen(Role.RATE)
    alike = " with the same batches and learning rates" if known else ""
    told = (
        f"{at.series} is the same at step {step}, so the weights were restored; after the first "
        f"update, at step {at.step}, it is {evidence.values(at)}{alike}."
    )
    return which, title, told, fix, known or evidence.seen(Role.BATCH)


def _before(evidence: PairEvidence, found: Resumption) -> str:
    equal, compared = went_on(evidence, found.resume)
    if compared and equal == compared:
        other = evidence.labels[1 - found.resume.place]
        return f"; the {compared:,} steps beyond that it made before were those of {other}"
    return "" if found.material or found.resume.began else "; up to there nothing differs"


def _something(found: Resumption) -> _Lost:
    at = found.number or found.batch or found.rate
    told = f"{at.series} differs from step {at.step} on." if at else ""
    fix = "Restore weights, optimizer, schedule, scaler, random states and the loader's position."
    return CauseId.RESUME_UNKNOWN, "state that the resume did not restore", told, fix, False
