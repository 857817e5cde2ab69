"""The source of runs that pytscope 0.2.x recorded.

Those runs know the durations of phases, and the wall of the whole run when it
reached `finish()`; they do not know the wall of a step. A step's time is
therefore the recorded time, the sum of its phases. What the run's wall holds
beyond it is time at no known place, which the budget books as `other`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from pytscope.model.errors import RunUnreadable
from pytscope.model.records import Flag
from pytscope.model.wording import listed
from pytscope.runs.attempt import Attempt, Gap
from pytscope.runs.launches import Launch, Start, chosen
from pytscope.runs.run import Ints, ReadNote, Run, Timeline
from pytscope.runs.source import Source
from pytscope.runs.sources.legacy_layout import Part, detects, layout
from pytscope.runs.sources.legacy_meta import NAME, owner
from pytscope.runs.sources.legacy_steps import Span, StepFile

_LISTED = 5


@attrs.frozen(eq=False)
class _Rank:
    """One rank, read; `owned` is the attempt that its `run.json` is of."""

    part: Part
    file: StepFile
    owned: int | None

    @property
    def label(self) -> str:
        return self.part.label.removesuffix(self.part.steps.name) + NAME


def open_legacy(path: Path, attempt: int | None = None) -> Run:
    """Open a run of 0.2.x: its folder, or a step file.

    Args:
        path: The folder or file.
        attempt: Number of the only attempt to open; the last chain by default.

    Raises:
        RunUnreadable: Nothing there can be used.
        UsageError: There is no attempt of that number.
    """
    path = Path(path)
    found = layout(path)
    notes = list(found.notes)
    ranks = sorted((_read(part, notes) for part in found.parts), key=lambda r: r.part.rank)
    if not any(rank.file.spans for rank in ranks):
        raise RunUnreadable(_nothing(path, ranks, notes))
    started = _launches(ranks)
    chain = chosen(started, attempt)
    notes += _odd_attempts(ranks, len(started))
    known = [_has_wall(rank, chain, len(started)) for rank in ranks]
    notes += _basis(ranks, known)
    timelines = [_timeline(rank, len(started), chain, wall=all(known)) for rank in ranks]
    notes += _too_long(timelines)
    notes += _left_out(timelines)
    return _run(path, ranks, tuple(timelines), started, chain, notes)


legacy = Source("pytscope-0.2", detects, open_legacy)


def _read(part: Part, notes: list[ReadNote]) -> _Rank:
    file = StepFile()
    try:
        file.read(part.steps)
    except FileNotFoundError:
        notes.append(ReadNote("empty_file", f"{part.label} is not there", part.rank))
    except OSError as error:
        why = error.strerror or str(error)
        notes.append(ReadNote("unreadable_file", f"{part.label} cannot be read: {why}", part.rank))
    else:
        if not file.records:
            notes.append(ReadNote("empty_file", f"{part.label} is empty", part.rank))
    rank = _Rank(part, file, owner(part.meta, file.spans))
    notes += [ReadNote(kind, text, part.rank) for kind, text in file.notes(part.label)]
    notes += [ReadNote("metadata", f"{rank.label} {text}", part.rank) for text in part.meta.faults]
    if part.meta.finished and file.spans and rank.owned != len(file.spans) - 1:
        of = "another recording" if rank.owned is None else f"attempt {rank.owned}"
        notes.append(ReadNote("metadata", f"{rank.label} is of {of}", part.rank))
    return rank


def _nothing(path: Path, ranks: Sequence[_Rank], notes: Sequence[ReadNote]) -> str:
    met = [note.message for note in notes if note.kind != "metadata"]
    if not any(rank.file.skipped.total for rank in ranks) and len(ranks) == 1:
        return f"{path} holds no step: {met[0] if met else 'there is no record'}"
    more = f"; and {len(met) - _LISTED} more" if len(met) > _LISTED else ""
    return f"{path} holds no usable step: {'; '.join(met[:_LISTED])}{more}"


def _launches(ranks: Sequence[_Rank]) -> list[Launch]:
    """Starts of the job; attempts of different ranks are matched from the last one back."""
    total = max(len(rank.file.spans) for rank in ranks)
    starts: list[dict[int, Start]] = [{} for _ in range(total)]
    for rank in ranks:
        number, spans = rank.part.rank, rank.file.spans
        for i, span in enumerate(spans):
            launch = total - len(spans) + i
            starts[launch][number] = Start(number, i, 0, 0, span.first_step)
    return [Launch(of_launch) for of_launch in starts]


def _odd_attempts(ranks: Sequence[_Rank], total: int) -> Iterator[ReadNote]:
    for rank in ranks:
        found = len(rank.file.spans)
        if 0 < found < total:
            text = f"{rank.part.label} has {found} of {total} attempts, taken for the last ones"
            yield ReadNote("missed_launch", text, rank.part.rank)


def _timeline(rank: _Rank, total: int, chain: range, *, wall: bool) -> Timeline:
    """A rank's steps in the attempts of the chain."""
    file, spans = rank.file, rank.file.spans
    shift = total - len(spans)
    members = [i - shift for i in chain if i >= shift]
    step: Ints = np.array(file.steps, np.int64)
    numbers = np.arange(shift, total, dtype=np.int64)
    attempt: Ints = np.repeat(numbers, [span.rows for span in spans])
    wall_ns = file.columns.wall_ns()
    recorded = [int(wall_ns[span.first : span.first + span.rows].sum()) for span in spans]
    attempts = tuple(_attempt(rank, i, i + shift, recorded[i], wall=wall) for i in members)
    attempts = attempts or (_stepless(rank, chain[-1], wall=wall),)
    whole = Timeline(
        rank.part.rank,
        attempts,
        step=step,
        attempt=attempt,
        start_ns=_starts(wall_ns, spans),
        wall_ns=wall_ns,
        flags=_redone(step, spans, members),
        micro_batches=np.ones(len(step), np.int64),
        columns=file.columns.store(),
        metadata=_metadata(rank),
    )
    if len(members) == len(spans):
        return whole
    return whole.select(np.isin(attempt, list(chain)), attempts)


def _metadata(rank: _Rank) -> Mapping[str, Any]:
    """How many steps the attempt completed that `run.json` is of, those not stored included."""
    steps = rank.part.meta.steps
    return {} if steps is None or rank.owned is None else {"completed_steps": steps}


def _starts(wall: Ints, spans: Sequence[Span]) -> Ints:
    """Recorded time before every step, in its attempt: when it began is not known."""
    before = np.cumsum(wall) - wall
    firsts = np.array([before[span.first] for span in spans], np.int64)
    starts: Ints = before - np.repeat(firsts, [span.rows for span in spans])
    return starts


def _redone(step: Ints, spans: Sequence[Span], members: Sequence[int]) -> Ints:
    flags = np.zeros(len(step), np.int64)
    for i in members:
        earlier = slice(spans[members[0]].first, spans[i].first)
        flags[earlier][step[earlier] >= spans[i].first_step] |= int(Flag.REDONE)
    return flags


def _attempt(rank: _Rank, place: int, number: int, recorded_ns: int, *, wall: bool) -> Attempt:
    span, meta = rank.file.spans[place], rank.part.meta
    own = place == rank.owned
    gaps = list(span.gaps)
    if own and meta.steps is not None and meta.steps > span.reached + 1:
        gaps.append(Gap(span.reached + 1, meta.steps - span.reached - 1, 0))
    return Attempt(
        number,
        span.first_step,
        round((meta.started or 0) * 1e9) if own else 0,
        lost_steps=sum(gap.steps for gap in gaps),
        damaged_bytes=span.damaged_bytes,
        finished=own,
        unplaced_ns=meta.wall_ns - recorded_ns if wall and meta.wall_ns is not None else None,
        gaps=tuple(gaps),
    )


def _stepless(rank: _Rank, number: int, *, wall: bool) -> Attempt:
    """The attempt of a rank without a usable step."""
    meta = rank.part.meta
    gaps = (Gap(0, meta.steps, 0),) if meta.steps else ()
    return Attempt(
        number,
        lost_steps=meta.steps or 0,
        damaged_bytes=rank.file.bad_bytes,
        finished=meta.finished,
        unplaced_ns=meta.wall_ns if wall else None,
        gaps=gaps,
    )


def _has_wall(rank: _Rank, chain: range, total: int) -> bool:
    """Whether the wall of all of a rank's attempts in the chain was measured."""
    shift = total - len(rank.file.spans)
    members = [i - shift for i in chain if i >= shift]
    return rank.part.meta.wall_ns is not None and members in ([], [rank.owned])


def _basis(ranks: Sequence[_Rank], known: Sequence[bool]) -> Iterator[ReadNote]:
    """Measured wall does not compare with recorded time: it is shown of all ranks or of none."""
    without = [str(rank.part.rank) for rank, told in zip(ranks, known, strict=True) if not told]
    if 0 < len(without) < len(ranks):
        text = f"no wall_time of rank {listed(without, _LISTED)}"
        yield ReadNote("metadata", f"{text}: all ranks are shown by their recorded time")


def _too_long(timelines: Sequence[Timeline]) -> Iterator[ReadNote]:
    for timeline in timelines:
        over = -sum(a.unplaced_ns or 0 for a in timeline.attempts)
        if over > 0:
            said = f"the phases of rank {timeline.rank} sum to {over / 1e9:.6g} s more"
            yield ReadNote("wall_time", f"{said} than its wall_time", timeline.rank)


def _left_out(timelines: Sequence[Timeline]) -> Iterator[ReadNote]:
    """Steps before the first one: 0.2.x counted its warm-up and did not store it."""
    for timeline in timelines:
        first = timeline.attempts[0].first_step
        if first and len(timeline):
            said = f"steps before {first} of rank {timeline.rank} are not in the records"
            yield ReadNote("warmup", f"{said}: 0.2.x does not store its warm-up", timeline.rank)


def _run(
    path: Path,
    ranks: Sequence[_Rank],
    timelines: tuple[Timeline, ...],
    started: Sequence[Launch],
    chain: range,
    notes: Sequence[ReadNote],
) -> Run:
    first = ranks[0].part.meta
    worlds = [rank.part.meta.world for rank in ranks if rank.part.meta.world is not None]
    return Run(
        path=str(path),
        name=first.name or path.resolve().name,
        timelines=timelines,
        world_size=max(*worlds, timelines[-1].rank + 1) if worlds else None,
        config=first.config,
        environment=_environment(ranks),
        source=legacy.name,
        has_timeline=False,
        other_attempts=tuple(i for i in range(len(started)) if i not in chain),
        notes=tuple(notes),
    )


def _environment(ranks: Sequence[_Rank]) -> Mapping[str, Any]:
    """Provenance of the lowest rank that has any."""
    return next((r.part.meta.environment for r in ranks if r.part.meta.environment), {})
