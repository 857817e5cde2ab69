"""Reading one rank file: bytes to attempts, with what was met on the way."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import attrs

from pytscope.model.wording import listed
from pytscope.runs.assembly import Assembly, NewerFormat, OtherFormat
from pytscope.runs.layouts import Layouts
from pytscope.runs.locks import is_held
from pytscope.runs.recorded import RecordedAttempt
from pytscope.runs.run import ReadNote
from pytscope.runs.scan import Record, scan

_FIRST = b'{"b":'
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@attrs.frozen(eq=False)
class RankFile:
    """One rank file, read.

    Attributes:
        name: File name.
        rank: Rank it says it is, or None when no record tells.
        attempts: Its attempts, in order.
        notes: What reading met.
        live: Whether a recorder holds it.
    """

    name: str
    rank: int | None = None
    attempts: tuple[RecordedAttempt, ...] = ()
    notes: tuple[ReadNote, ...] = ()
    live: bool = False


def read_rank_file(path: str | Path, layouts: Layouts, rank: int | None = None) -> RankFile:
    """Read a rank file.

    Args:
        path: The file.
        layouts: Layouts met so far; give one to all files of a run.
        rank: Rank that its name says, for a file that lost its first line.

    Returns:
        The file; without attempts, and with a note why, when it cannot be used.
    """
    name = os.path.basename(path)  # noqa: PTH119  # thousands of files: a Path each takes its time
    try:
        reading = _read(path, layouts)
        live = not reading.finished and is_held(path)
        if not (live or reading.finished) and os.stat(path).st_size > reading.size:  # noqa: PTH116  # as above
            # A recorder ended between the read and the look at its lock.
            reading = _read(path, layouts)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return _unusable(name, rank, "unreadable_file", f"cannot be read: {reason}")
    except OtherFormat as error:
        kind = "newer_format" if isinstance(error, NewerFormat) else "unreadable_file"
        return _unusable(name, rank, kind, str(error))
    if not reading.size:
        return _unusable(name, rank, "empty_file", "is empty")
    return reading.rank_file(name, rank, live=live)


def _unusable(name: str, rank: int | None, kind: str, why: str) -> RankFile:
    return RankFile(name, rank, notes=(ReadNote(kind, f"{name} {why}", rank),))


def _read(path: str | Path, layouts: Layouts) -> _Reading:
    file = os.open(path, _FLAGS)
    try:
        # Its size once, for a live file grows meanwhile.
        return _Reading(file, os.fstat(file).st_size, layouts)
    finally:
        os.close(file)


class _Reading:
    """The records of one open file."""

    def __init__(self, file: int, size: int, layouts: Layouts) -> None:
        self.size = size
        self._assembly = Assembly(layouts)
        self._damage: list[int] = []
        self._torn_bytes = 0
        self._first = b""
        for piece in scan(partial(self._next, file), size):
            if isinstance(piece, Record):
                if not self._assembly.add(piece):
                    self._damaged(piece.size)
            elif piece.ends_the_file:
                self._torn_bytes = piece.size
            else:
                self._damaged(piece.size)
        self._attempts = self._assembly.attempts()
        last = self._attempts[-1] if self._attempts else None
        self.finished = last is not None and last.end is not None and not self._torn_bytes

    def _next(self, file: int, most: int) -> bytes:
        data = os.read(file, most)
        self._first = self._first or data[: len(_FIRST)]
        return data

    def rank_file(self, name: str, rank: int | None, *, live: bool) -> RankFile:
        attempts = self._attempts
        # The tail of a live file is a record being written, no damage.
        if self._torn_bytes and not live:
            self._damage.append(self._torn_bytes)
            if attempts:
                last = attempts[-1]
                size = last.damaged_bytes + self._torn_bytes
                attempts = (*attempts[:-1], attrs.evolve(last, damaged_bytes=size))
        if not attempts and not live:
            ours = self._first == _FIRST
            what = "holds no intact record" if ours else "is no recording"
            kind = "damaged" if ours else "foreign_file"
            return _unusable(name, rank, kind, what)
        rank = rank if self._assembly.rank is None else self._assembly.rank
        return RankFile(name, rank, attempts, self._notes(name, rank), live)

    def _notes(self, name: str, rank: int | None) -> tuple[ReadNote, ...]:
        notes = [ReadNote("damaged", f"{name}: {error}", rank) for error in self._assembly.errors]
        if self._damage:
            places = "1 place" if len(self._damage) == 1 else f"{len(self._damage)} places"
            text = f"{sum(self._damage):,} damaged bytes at {places} of {name} were skipped"
            notes.append(ReadNote("damaged", text, rank))
        if repeated := sum(attempt.repeated for attempt in self._attempts):
            blocks = "1 block" if repeated == 1 else f"{repeated:,} blocks"
            text = f"{blocks} of steps that were there already are left out of {name}"
            notes.append(ReadNote("damaged", text, rank))
        if returned := self._assembly.returned:
            text = f"two processes wrote {name} at once; {returned:,} records were told apart"
            notes.append(ReadNote("second_file", f"{text} by their times", rank))
        if unknown := self._assembly.unknown:
            kinds = listed(sorted(map(repr, unknown)), most=4)
            text = f"{unknown.total():,} records of unknown kinds ({kinds}) in {name}"
            notes.append(ReadNote("unknown_record", f"{text} were passed over", rank))
        return tuple(notes)

    def _damaged(self, size: int) -> None:
        self._damage.append(size)
        self._assembly.damage(size)
