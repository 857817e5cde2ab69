"""Matching the attempts of many ranks into launches, and launches into chains.

A launch is one start of the whole job: one attempt on each rank that took
part. A chain is a fresh start and the resumes that follow it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import attrs

from pytscope.model.errors import UsageError

APART_NS = 600 * 1_000_000_000
"""A process that starts this long after all others ended is no part of their launch."""


@attrs.frozen
class Start:
    """One attempt of one rank.

    Attributes:
        rank: The rank.
        ordinal: Place of the attempt in the rank's file.
        epoch_ns: Time of day of its start.
        end_epoch_ns: Time of day when it was last heard of.
        first_step: First step it would record.
        launcher: Job and restart count, or None when not both are recorded.
    """

    rank: int
    ordinal: int
    epoch_ns: int
    end_epoch_ns: int
    first_step: int
    launcher: tuple[str | int, int] | None = None


@attrs.frozen
class Launch:
    """Attempts that belong together, by rank; one for each rank that took part."""

    starts: Mapping[int, Start]

    @property
    def first_step(self) -> int:
        """The lowest first step of its attempts."""
        return min(start.first_step for start in self.starts.values())

    @property
    def launcher(self) -> tuple[str | int, int] | None:
        """Job and restart count, where all its attempts say the same."""
        told = {start.launcher for start in self.starts.values()}
        return told.pop() if len(told) == 1 else None

    @property
    def middle_ns(self) -> int:
        """The median start: a host with a wrong clock does not move it."""
        times = sorted(start.epoch_ns for start in self.starts.values())
        return times[len(times) // 2]


def launches(starts: Iterable[Start]) -> list[Launch]:
    """Match attempts into launches, in the order of their starts.

    Attempts of one launcher's job and restart count belong together; where
    that was not recorded for all, attempts that started at about the same
    time do. No launch holds two attempts of one rank: where one would, the
    cut is made at the longest pause between two starts.

    Args:
        starts: Every attempt of every rank.
    """
    ordered = _in_order(starts)
    by_launcher: dict[object, list[Start]] = {}
    told = all(start.launcher is not None for start in ordered)
    for start in ordered:
        by_launcher.setdefault(start.launcher if told else None, []).append(start)
    found = [launch for group in by_launcher.values() for launch in _split(group)]
    return sorted(found, key=lambda launch: launch.middle_ns)


def last_chain(found: Sequence[Launch]) -> range:
    """Places of the launches of the last chain.

    A launch that starts at or below the first step of the one before it is a
    fresh start; any other is a resume. Where the launcher says that it
    restarted the same job, a second resume from one checkpoint is a resume as
    well: fresh is only what starts at or below the first step of the chain.
    """
    first = 0
    for i in range(1, len(found)):
        before = found[first if _restarted(found[i - 1], found[i]) else i - 1]
        if found[i].first_step <= before.first_step:
            first = i
    return range(first, len(found))


def _restarted(before: Launch, after: Launch) -> bool:
    """Whether the launcher counted on: the same job, restarted."""
    if before.launcher is None or after.launcher is None:
        return False
    return before.launcher[0] == after.launcher[0] and before.launcher[1] < after.launcher[1]


def _in_order(starts: Iterable[Start]) -> list[Start]:
    """Starts by time; within a rank the order of its file holds, whatever its clock says."""
    latest: dict[int, int] = {}
    ordered = []
    for start in sorted(starts, key=lambda s: (s.rank, s.ordinal)):
        epoch = max(start.epoch_ns, latest.get(start.rank, start.epoch_ns - 1) + 1)
        latest[start.rank] = epoch
        ordered.append(start if epoch == start.epoch_ns else attrs.evolve(start, epoch_ns=epoch))
    return sorted(ordered, key=lambda s: (s.epoch_ns, s.ordinal, s.rank))


def _split(ordered: list[Start]) -> Iterable[Launch]:
    group: list[Start] = []
    place: dict[int, int] = {}
    last_end = 0
    for start in ordered:
        cut = 0
        if group and start.epoch_ns > last_end + APART_NS:
            cut = len(group)
        elif start.rank in place:
            cut = _longest_pause([*group[place[start.rank] :], start]) + place[start.rank]
        if cut:
            yield Launch({s.rank: s for s in group[:cut]})
            group = group[cut:]
            place = {s.rank: i for i, s in enumerate(group)}
            last_end = max((s.end_epoch_ns for s in group), default=0)
        place[start.rank] = len(group)
        group.append(start)
        last_end = max(last_end, start.end_epoch_ns)
    if group:
        yield Launch({s.rank: s for s in group})


def _longest_pause(ordered: list[Start]) -> int:
    """Place of the start that follows the longest pause; the last of equals."""
    pauses = [b.epoch_ns - a.epoch_ns for a, b in itertools.pairwise(ordered)]
    return max(range(len(pauses)), key=lambda i: (pauses[i], i)) + 1


def chosen(started: Sequence[Launch], attempt: int | None) -> range:
    """The launches to analyse: the last chain, or the one asked for.

    Raises:
        UsageError: There is no such attempt.
    """
    if attempt is None:
        return last_chain(started)
    if not 0 <= attempt < len(started):
        numbers = ", ".join(str(i) for i in range(len(started)))
        msg = f"the run has no attempt {attempt}; its attempts are: {numbers}"
        raise UsageError(msg)
    return range(attempt, attempt + 1)
