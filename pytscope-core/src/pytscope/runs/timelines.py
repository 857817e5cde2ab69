"""Timelines out of rank files and the attempts that are analysed."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np

from pytscope.model.records import COUNTS, Flag
from pytscope.runs.accounts import account, clock_steps, end_epoch_ns
from pytscope.runs.attempt import Attempt, Evaluation, Span
from pytscope.runs.blocks import StepBlock
from pytscope.runs.columns import BlockColumns
from pytscope.runs.evaluations import new_to, placed
from pytscope.runs.pts import RankFile
from pytscope.runs.rank_columns import RankColumns
from pytscope.runs.recorded import RecordedAttempt
from pytscope.runs.run import Ints, ReadNote, Timeline
from pytscope.runs.scan import parse_json

TOGETHER = 1 << 20
"""Steps that are decoded together, when several ranks share them."""


@attrs.frozen(eq=False)
class Member:
    """An attempt of one rank, and the number of the launch it is part of."""

    launch: int
    recorded: RecordedAttempt


@attrs.frozen(eq=False)
class Wanted:
    """A rank to build a timeline of.

    Attributes:
        rank: The rank.
        file: Its file.
        members: The attempts to analyse, in order; at least one.
        evaluations: Its evaluations outside of them.
    """

    rank: int
    file: RankFile
    members: tuple[Member, ...]
    evaluations: tuple[Evaluation, ...] = ()

    @property
    def blocks(self) -> list[StepBlock]:
        """Its blocks, in recording order."""
        return [block for member in self.members for block in member.recorded.blocks]


def timelines(wanted: Iterable[Wanted]) -> Iterator[tuple[Timeline, tuple[ReadNote, ...]]]:
    """Build timelines, many short ones together.

    Args:
        wanted: The ranks.

    Yields:
        Every rank's timeline, and notes on its clocks.
    """
    together: list[Wanted] = []
    steps = 0
    for one in wanted:
        size = sum(block.n for block in one.blocks)
        if together and steps + size > TOGETHER:
            yield from _built(together)
            together, steps = [], 0
        together.append(one)
        steps += size
    yield from _built(together)


class _Rows:
    """The rows of some ranks, in the order of their blocks.

    Attributes:
        step: Their numbers.
        start_ns: Where they start.
        sums: Wall time of every block.
    """

    def __init__(self, blocks: Sequence[StepBlock], wall_ns: Ints) -> None:
        sizes = np.array([block.n for block in blocks], np.int64)
        firsts = np.cumsum(sizes) - sizes
        numbers = np.array([block.step for block in blocks], np.int64)
        self.step: Ints = np.repeat(numbers - firsts, sizes)
        self.step += np.arange(len(self.step))
        # Running sums may wrap around over many ranks; their differences are right.
        before = np.cumsum(wall_ns) - wall_ns
        t0 = np.array([block.t0 for block in blocks], np.int64)
        before += np.repeat(t0 - before[firsts], sizes)
        self.start_ns: Ints = before
        self.sums: list[int] = np.add.reduceat(wall_ns, firsts).tolist() if len(sizes) else []


def _built(together: Sequence[Wanted]) -> Iterator[tuple[Timeline, tuple[ReadNote, ...]]]:
    per_rank = [one.blocks for one in together]
    blocks = list(itertools.chain.from_iterable(per_rank))
    table = BlockColumns(per_rank)
    wall = table.wall_ns()
    rows = _Rows(blocks, wall)
    micro, flags = table.constants()
    numbers = _numbers(together, table.rows)
    sums = iter(rows.sums)
    for place, one in enumerate(together):
        ends = table.bounds[place : place + 2]
        mine = slice(*ends)
        own = [list(itertools.islice(sums, len(m.recorded.blocks))) for m in one.members]
        counted = _attempts(one.members, own, one.evaluations)
        sizes = [sum(block.n for block in m.recorded.blocks) for m in one.members]
        recorded = [member.recorded for member in one.members]
        step = rows.step[mine]
        if len(recorded) > 1:
            _flag_redone(flags[mine], step, recorded, sizes)
        late = _late_values(recorded, step, sizes) if any(r.logs for r in recorded) else {}
        columns = RankColumns(table, place, late)
        if one.evaluations:
            new = new_to(columns, placed(one.evaluations, step, numbers[mine]))
            columns = RankColumns(table, place, _joined(late, new))
        negative = sum(int(np.diff(np.searchsorted(r, ends))[0]) for r in table.negative)
        timeline = Timeline(
            one.rank,
            counted,
            step=step,
            attempt=numbers[mine],
            start_ns=rows.start_ns[mine],
            wall_ns=wall[mine],
            flags=flags[mine],
            micro_batches=micro[mine],
            columns=columns,
            metadata=_metadata(one.file, recorded[-1]),
            spans=partial(_spans, one.members),
            steps_ns=sum(map(sum, own)),
        )
        yield (
            timeline,
            (*_clock_back(negative, counted, one.rank), *_clock_step(recorded, one.rank)),
        )


def _attempts(
    members: Sequence[Member], sums: Sequence[Sequence[int]], evaluations: Sequence[Evaluation]
) -> tuple[Attempt, ...]:
    attempts: list[Attempt] = []
    last_epoch_ns: int | None = None
    for member, own in zip(members, sums, strict=True):
        counted = account(member.recorded, own, member.launch, last_epoch_ns)
        attempt = counted.attempt
        between = range(last_epoch_ns or 0, attempt.start_epoch_ns)
        evaluated_ns = sum(e.wall_ns for e in evaluations if e.start_epoch_ns in between)
        downtime_ns = max(0, attempt.downtime_ns - evaluated_ns)
        attempts.append(attrs.evolve(attempt, downtime_ns=downtime_ns))
        last_epoch_ns = end_epoch_ns(member.recorded, counted.wall_ns)
    return tuple(attempts)


def _numbers(together: Sequence[Wanted], rows: int) -> Ints:
    """Number of the attempt of every step of some ranks."""
    members = [member for one in together for member in one.members]
    launches = [member.launch for member in members]
    if len(set(launches)) == 1:
        return np.broadcast_to(np.int64(launches[0]), rows)
    sizes = [sum(block.n for block in member.recorded.blocks) for member in members]
    return np.repeat(np.array(launches, np.int64), sizes)


def _late_values(
    recorded: Sequence[RecordedAttempt], step: Ints, sizes: Sequence[int]
) -> dict[str, dict[int, int | float]]:
    late: dict[str, dict[int, int | float]] = {}
    first = 0
    for attempt, size in zip(recorded, sizes, strict=True):
        mine = step[first : first + size]
        for log in attempt.logs:
            # Steps of an attempt ascend; a step that is not there lost its own record.
            at = int(np.searchsorted(mine, log.step)) if log.step is not None else size
            if at < size and mine[at] == log.step:
                for name, value in log.values.items():
                    known = late.setdefault(name, {})
                    row = first + at
                    known[row] = known.get(row, 0) + value if name in COUNTS else value
        first += size
    return late


def _joined(
    one: dict[str, dict[int, int | float]], other: dict[str, dict[int, int | float]]
) -> dict[str, dict[int, int | float]]:
    return {name: one.get(name, {}) | other.get(name, {}) for name in one | other}


def _flag_redone(
    flags: Ints, step: Ints, recorded: Sequence[RecordedAttempt], sizes: Sequence[int]
) -> None:
    """Flag the steps that a later attempt started over from."""
    ends = itertools.accumulate(sizes)
    for attempt, end, size in zip(recorded, ends, sizes, strict=True):
        earlier = slice(0, end - size)
        flags[earlier][step[earlier] >= attempt.first_step] |= int(Flag.REDONE)


def _clock_back(negative: int, attempts: Sequence[Attempt], rank: int) -> list[ReadNote]:
    back = negative + sum(gap.ns < 0 for attempt in attempts for gap in attempt.gaps)
    if not back:
        return []
    text = f"the clock of rank {rank} went back {_times(back)}; its times are kept as read"
    return [ReadNote("clock_back", text, rank)]


def _clock_step(recorded: Sequence[RecordedAttempt], rank: int) -> list[ReadNote]:
    jumps = [jump for attempt in recorded for jump in clock_steps(attempt)]
    if not jumps:
        return []
    most = max(jumps, key=abs)
    text = (
        f"the time of day of rank {rank} jumped {_times(len(jumps))}, by {most / 1e9:+.1f} s at "
        "most: the clock was set, or the machine was suspended"
    )
    return [ReadNote("clock_step", text, rank)]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _spans(members: Sequence[Member]) -> tuple[Span, ...]:
    lines = ((m.launch, parse_json(line)) for m in members for line in m.recorded.spans)
    return tuple(Span(launch, *row) for launch, line in lines for row in line["rows"])


def _metadata(file: RankFile, last: RecordedAttempt) -> dict[str, Any]:
    run = last.run
    return {
        "file": file.name,
        "environment": {**(run.environment if run else {}), **last.provenance},
        "local_rank": run.local_rank if run else None,
        "job": run.job if run else None,
        "restart": run.restart if run else None,
        "recorded": run.recorded if run else None,
    }
