"""One rank's timeline out of its file and the attempts that are analysed."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from pytscope.model.records import COUNTS, Flag
from pytscope.runs.accounts import Account, account, clock_steps, end_epoch_ns
from pytscope.runs.columns import BlockColumns
from pytscope.runs.pts import RankFile
from pytscope.runs.recorded import RecordedAttempt
from pytscope.runs.run import Attempt, Ints, ReadNote, Timeline


@attrs.frozen(eq=False)
class Member:
    """An attempt of one rank, and the number of the launch it is part of."""

    launch: int
    recorded: RecordedAttempt


def timeline(
    file: RankFile, rank: int, members: Sequence[Member]
) -> tuple[Timeline, tuple[ReadNote, ...]]:
    """Build a rank's timeline.

    Args:
        file: The rank's file.
        rank: The rank.
        members: The attempts to analyse, in order; at least one.

    Returns:
        The timeline, and notes on its clocks.
    """
    recorded = [member.recorded for member in members]
    blocks = [block for attempt in recorded for block in attempt.blocks]
    sizes = [sum(block.n for block in attempt.blocks) for attempt in recorded]
    step = _steps(recorded)
    bounds = np.cumsum([0, *sizes]).tolist()
    columns = BlockColumns(file.view, blocks, _late_values(recorded, step, bounds))
    wall, negative = columns.wall_ns()
    accounts = [
        account(attempt, wall[a:b])
        for attempt, a, b in zip(recorded, bounds, bounds[1:], strict=False)
    ]
    micro, flags = columns.constants()
    _flag_redone(flags, step, recorded, bounds)
    notes = [*_clock_back(negative, accounts, rank), *_clock_step(recorded, rank)]
    built = Timeline(
        rank,
        _attempts(members, accounts),
        step=step,
        attempt=np.repeat(np.array([m.launch for m in members], np.int64), sizes),
        start_ns=np.concatenate([a.start_ns for a in accounts]),
        wall_ns=wall,
        flags=flags,
        micro_batches=micro,
        columns=columns.store(),
        metadata=_metadata(file, recorded[-1]),
    )
    return built, tuple(notes)


def _steps(recorded: Sequence[RecordedAttempt]) -> Ints:
    blocks = [block for attempt in recorded for block in attempt.blocks]
    sizes = np.array([block.n for block in blocks], np.int64)
    firsts = np.array([block.step for block in blocks], np.int64)
    before = np.cumsum(sizes) - sizes
    return np.repeat(firsts - before, sizes) + np.arange(sizes.sum())


def _late_values(
    recorded: Sequence[RecordedAttempt], step: Ints, bounds: Sequence[int]
) -> dict[str, dict[int, int | float]]:
    late: dict[str, dict[int, int | float]] = {}
    for i, attempt in enumerate(recorded):
        if not attempt.logs:
            continue
        first = bounds[i]
        row_of = {
            number: first + k for k, number in enumerate(step[first : bounds[i + 1]].tolist())
        }
        for log in attempt.logs:
            row = row_of.get(log.step)
            if row is not None:  # else the step's own record is lost
                for name, value in log.values.items():
                    known = late.setdefault(name, {})
                    known[row] = known.get(row, 0) + value if name in COUNTS else value
    return late


def _flag_redone(
    flags: Ints, step: Ints, recorded: Sequence[RecordedAttempt], bounds: Sequence[int]
) -> None:
    """Flag the steps that a later attempt started over from."""
    for i, attempt in enumerate(recorded):
        earlier = slice(0, bounds[i])
        flags[earlier][step[earlier] >= attempt.first_step] |= int(Flag.REDONE)


def _attempts(members: Sequence[Member], accounts: Sequence[Account]) -> tuple[Attempt, ...]:
    attempts: list[Attempt] = []
    last_epoch_ns: int | None = None
    for member, counted in zip(members, accounts, strict=True):
        start = counted.attempt.start_epoch_ns
        downtime = 0 if last_epoch_ns is None else max(0, start - last_epoch_ns)
        attempts.append(attrs.evolve(counted.attempt, number=member.launch, downtime_ns=downtime))
        last_epoch_ns = end_epoch_ns(member.recorded, counted.wall_ns)
    return tuple(attempts)


def _clock_back(negative: int, accounts: Sequence[Account], rank: int) -> list[ReadNote]:
    back = negative + sum(gap.ns < 0 for counted in accounts for gap in counted.attempt.gaps)
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


def _metadata(file: RankFile, last: RecordedAttempt) -> dict[str, object]:
    run = last.run
    return {
        "file": file.name,
        "environment": {**(run.environment if run else {}), **last.provenance},
        "local_rank": run.local_rank if run else None,
        "job": run.job if run else None,
        "restart": run.restart if run else None,
        "recorded": run.recorded if run else None,
    }
