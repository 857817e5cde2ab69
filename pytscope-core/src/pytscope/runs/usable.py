"""Whether a run has a step that counts in rates, and what it has instead."""

from __future__ import annotations

from pytscope.model.errors import NothingUsable
from pytscope.model.records import Flag
from pytscope.runs.run import Run


def must_be_usable(run: Run) -> None:
    """Refuse a run without a usable step.

    Raises:
        NothingUsable: Says what the run has instead.
    """
    if reason := unusable_reason(run):
        raise NothingUsable(reason)


def unusable_reason(run: Run) -> str:
    """What a run without a usable step has instead; empty for one with such a step."""
    if any(bool(timeline.rated.any()) for timeline in run.timelines):
        return ""
    total = sum(len(timeline) for timeline in run.timelines)
    if not total:
        open_steps = [a.open_state for t in run.timelines for a in t.attempts if a.open_state]
        inside = f"; step {open_steps[-1].step} was open" if open_steps else ""
        alone = "; all it holds are evaluations outside of a training" if _untrained(run) else ""
        return f"no usable step: {run.path} holds no completed step{inside}{alone}"
    warm = sum(int(timeline.has(Flag.WARMUP).sum()) for timeline in run.timelines)
    slowed = sum(int((~t.rated & ~t.has(Flag.WARMUP | Flag.REDONE)).sum()) for t in run.timelines)
    redone = total - warm - slowed
    said = [f"{warm} warm-up"] if warm else []
    said += [f"{slowed} whose FLOPs were counted"] if slowed else []
    said += [f"{redone} done again later"] if redone else []
    return f"no usable step: of {total} steps found, {' and '.join(said)}"


def _untrained(run: Run) -> bool:
    return any(note.kind == "evaluations_alone" and note.rank is None for note in run.notes)
