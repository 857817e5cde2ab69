"""Evaluations outside of training: attempts on disk that make no step.

They are beside the attempts of a run and not among them: an evaluation starts nothing
afresh, resumes nothing and does no step again, whatever model it was of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pytscope.model.records import COUNTS
from pytscope.runs.accounts import account
from pytscope.runs.attempt import Evaluation
from pytscope.runs.codec import HeaderError, structure
from pytscope.runs.headers import LogEvent
from pytscope.runs.rank_columns import RankColumns
from pytscope.runs.recorded import RecordedAttempt
from pytscope.runs.run import Ints, ReadNote

PROCESS = ("host", "pid")


def training(recorded: Mapping[int, Sequence[RecordedAttempt]]) -> dict[int, list[int]]:
    """Places of the attempts of each rank that trained, or were to.

    Where there is none in the whole run, the last attempt of each rank stands for it. One
    whose first line is gone and that has no step may have been an evaluation: it is none
    of them, so that it cannot stand in front of what was trained.

    Args:
        recorded: What each rank's file holds.
    """
    found = {
        rank: [i for i, one in enumerate(attempts) if not (one.evaluates or one.nameless)]
        for rank, attempts in recorded.items()
    }
    if any(found.values()):
        return found
    return {rank: [len(attempts) - 1] for rank, attempts in recorded.items() if attempts}


def left_out(
    rank: int, recorded: Sequence[RecordedAttempt], trained: Sequence[int]
) -> Iterator[ReadNote]:
    """A note on each attempt of a rank that is neither among the trained nor an evaluation."""
    for place, one in enumerate(recorded):
        if one.nameless and place not in trained:
            wall_ns = account(one, [], 0, None).wall_ns
            text = f"an attempt of rank {rank} that lost its first line, without a step"
            yield ReadNote("damaged", f"{text} and {wall_ns / 1e9:.3f} s long, is left out", rank)


def beside(
    rank: int,
    recorded: Sequence[RecordedAttempt],
    trained: Sequence[int],
    kept: Mapping[int, int],
    *,
    live: bool = False,
) -> Iterator[Evaluation]:
    """The evaluations of a rank that belong to some of its attempts, in order.

    Args:
        rank: The rank.
        recorded: What its file holds.
        trained: Places of its attempts, as `training` gives them.
        kept: Places of the attempts that are looked at, and their numbers.
        live: Whether the last one of the file is being recorded.
    """
    for place, one in enumerate(recorded):
        if one.evaluates:
            number = kept.get(_owner(place, recorded, trained))
            if number is not None:
                yield _evaluation(rank, number, one, live=live and one is recorded[-1])


def _owner(place: int, recorded: Sequence[RecordedAttempt], trained: Sequence[int]) -> int:
    """The attempt that an evaluation belongs to: the one before it, or of its own process."""
    before = max((i for i in trained if i <= place), default=None)
    after = min((i for i in trained if i > place), default=None)
    if before is None or after is None:
        return before if before is not None else after if after is not None else place
    own = _process(recorded[place])
    if own is not None and own == _process(recorded[after]) != _process(recorded[before]):
        return after
    return before


def _process(recorded: RecordedAttempt) -> tuple[Any, ...] | None:
    environment = recorded.run.environment if recorded.run is not None else {}
    told = tuple(environment.get(name) for name in PROCESS)
    return None if None in told else told


def _evaluation(rank: int, number: int, recorded: RecordedAttempt, *, live: bool) -> Evaluation:
    attempt = account(recorded, [], number, None).attempt
    return Evaluation(
        kind=recorded.evaluates,
        rank=rank,
        attempt=number,
        step=attempt.first_step,
        start_epoch_ns=attempt.start_epoch_ns,
        segments=(*attempt.startup, *attempt.shutdown),
        values=_values(recorded),
        lost_ns=attempt.lost_ns,
        finished=attempt.finished,
        live=live,
        events=attempt.events,
    )


def _values(recorded: RecordedAttempt) -> dict[str, int | float]:
    found = {name: value for log in recorded.logs for name, value in log.values.items()}
    for event in recorded.events:
        if event.get("kind") == "log":
            try:
                found.update(structure(event, LogEvent).values)
            except HeaderError:  # it holds something else than numbers
                continue
    return found


def placed(
    evaluations: Sequence[Evaluation], step: Ints, attempt: Ints
) -> dict[str, dict[int, int | float]]:
    """Values of evaluations by name and row: that of the last step their model had made.

    A step that a later attempt did again made another model.

    Args:
        evaluations: A rank's.
        step: Its steps, in recording order.
        attempt: Number of the attempt of each.
    """
    order: Ints = np.argsort(step, kind="stable")
    found: dict[str, dict[int, int | float]] = {}
    for one in evaluations:
        last = one.step - 1
        rows = order[slice(*(np.searchsorted(step, last, s, order) for s in ("left", "right")))]
        rows = rows[attempt[rows] <= one.attempt]
        for name, value in one.values.items() if len(rows) else ():
            if name not in COUNTS:  # they would be added to the step's own
                found.setdefault(name, {})[int(rows[-1])] = value
    return found


def new_to(
    columns: RankColumns, values: Mapping[str, Mapping[int, int | float]]
) -> dict[str, dict[int, int | float]]:
    """Those of the values whose row has none of that name: what training logged there stays."""
    known = columns.names("scalar")
    found = {}
    for name, by_row in values.items():
        taken = set(columns.get("scalar", name)[0].tolist()) if name in known else set()
        found[name] = {row: value for row, value in by_row.items() if row not in taken}
    return {name: by_row for name, by_row in found.items() if by_row}
