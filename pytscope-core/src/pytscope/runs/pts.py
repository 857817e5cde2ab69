"""Reading one rank file: bytes to attempts, with what was met on the way."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import attrs

from pytscope.runs.blocks import step_block
from pytscope.runs.codec import HeaderError, structure
from pytscope.runs.headers import FORMAT, VERSION, RunLine
from pytscope.runs.layouts import Layouts
from pytscope.runs.locks import is_held
from pytscope.runs.recorded import AttemptBuilder, RecordedAttempt
from pytscope.runs.run import ReadNote
from pytscope.runs.scan import Buffer, Damage, Record, scan

MAPPED_FROM_BYTES = 64 * 2**20
"""Larger files are mapped, so that their bytes need not fit in memory; smaller
ones are read, so that thousands of ranks do not hold thousands of files open."""


@attrs.frozen(eq=False)
class RankFile:
    """One rank file, read.

    Attributes:
        name: File name.
        rank: Rank it says it is, or None when no record tells.
        view: Its bytes.
        attempts: Its attempts, in order.
        notes: What reading met.
        live: Whether a recorder holds it.
    """

    name: str
    rank: int | None = None
    view: memoryview = attrs.field(default=memoryview(b""), repr=False)
    attempts: tuple[RecordedAttempt, ...] = ()
    notes: tuple[ReadNote, ...] = ()
    live: bool = False


class _OtherFormat(Exception):
    """The file is of a format, or a version of it, that this reader does not know."""


def read_rank_file(path: Path, layouts: Layouts, rank: int | None = None) -> RankFile:
    """Read a rank file.

    Args:
        path: The file.
        layouts: Layouts met so far; give one to all files of a run.
        rank: Rank that its name says, for a file that lost its first line.

    Returns:
        The file; without attempts, and with a note why, when it cannot be used.
    """
    try:
        data = _contents(path)
        reading = _Reading(path.name, data, layouts)
        live = not reading.finished and is_held(path)
        if not (live or reading.finished) and path.stat().st_size > len(data):
            # A recorder ended between the read and the look at its lock.
            reading = _Reading(path.name, _contents(path), layouts)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return _unusable(path.name, rank, "unreadable_file", f"cannot be read: {reason}")
    except _OtherFormat as error:
        return _unusable(path.name, rank, "unreadable_file", str(error))
    if not len(data):
        return _unusable(path.name, rank, "empty_file", "is empty")
    return reading.rank_file(rank, live=live)


def _unusable(name: str, rank: int | None, kind: str, why: str) -> RankFile:
    return RankFile(name, rank, notes=(ReadNote(kind, f"{name} {why}", rank),))


def _contents(path: Path) -> Buffer:
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size  # once: a live file grows meanwhile
        if size < MAPPED_FROM_BYTES:
            return file.read(size)
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)


class _Reading:
    """The attempts of one file's bytes."""

    def __init__(self, name: str, data: Buffer, layouts: Layouts) -> None:
        self._name = name
        self._view = memoryview(data)
        self._layouts = layouts
        self._done: list[RecordedAttempt] = []
        self._builder: AttemptBuilder | None = None
        self._before = 0
        self._damage: list[int] = []
        self._torn_bytes = 0
        self._errors: list[str] = []
        self._rank: int | None = None
        self._ours = bytes(self._view[:5]) == b'{"b":'
        for piece in scan(data, self._view):
            if isinstance(piece, Record):
                self._record(piece)
            elif piece.end < len(self._view):
                self._damaged(piece)
            else:
                self._torn_bytes = piece.end - piece.start
        self._close()

    @property
    def finished(self) -> bool:
        return bool(self._done) and self._done[-1].end is not None and not self._torn_bytes

    def rank_file(self, rank: int | None, *, live: bool) -> RankFile:
        # The tail of a live file is a record being written, no damage.
        if self._torn_bytes and not live:
            self._damage.append(self._torn_bytes)
            if self._done:
                last = self._done[-1]
                size = last.damaged_bytes + self._torn_bytes
                self._done[-1] = attrs.evolve(last, damaged_bytes=size)
        if not self._done and not live:
            what = "holds no intact record" if self._ours else "is no recording"
            kind = "damaged" if self._ours else "foreign_file"
            return _unusable(self._name, rank, kind, what)
        rank = rank if self._rank is None else self._rank
        attempts = tuple(self._done)
        return RankFile(self._name, rank, self._view, attempts, self._notes(rank), live)

    def _notes(self, rank: int | None) -> tuple[ReadNote, ...]:
        notes = [ReadNote("damaged", f"{self._name}: {error}", rank) for error in self._errors]
        if self._damage:
            places = "1 place" if len(self._damage) == 1 else f"{len(self._damage)} places"
            text = f"{sum(self._damage):,} damaged bytes at {places} of {self._name} were skipped"
            notes.append(ReadNote("damaged", text, rank))
        return tuple(notes)

    def _damaged(self, piece: Damage | Record) -> None:
        size = piece.end - piece.start
        self._damage.append(size)
        if self._builder is None:
            self._before += size
        else:
            self._builder.damage(size)

    def _record(self, record: Record) -> None:
        try:
            if record.kind == "run" and isinstance(record.header, dict):
                self._open(_run_line(record.header))
            elif record.kind == "steps":
                self._steps(record)
            elif isinstance(record.header, dict):
                builder = self._owner(record.kind, record.header)
                builder.take(record.kind, record.header)
        except HeaderError as error:
            self._errors.append(f"a record of kind {record.kind!r} cannot be used: {error}")
            if record.kind == "run":
                self._open(None)
            self._damaged(record)

    def _steps(self, record: Record) -> None:
        block = step_block(record, self._view, self._layouts)
        if block is None:
            self._damaged(record)
            return
        builder = self._builder
        if builder is None or not builder.follows("steps", block):
            builder = self._open(None)
        builder.block(block)

    def _owner(self, kind: str, header: dict[str, object]) -> AttemptBuilder:
        if self._builder is None or not self._builder.follows(kind, header):
            return self._open(None)
        return self._builder

    def _open(self, run: RunLine | None) -> AttemptBuilder:
        self._close()
        self._builder = AttemptBuilder(run)
        if self._before:
            self._builder.damage(self._before)
            self._before = 0
        if run is not None:
            self._rank = run.rank
        return self._builder

    def _close(self) -> None:
        if self._builder is not None:
            self._done.append(self._builder.built())


def _run_line(header: dict[str, object]) -> RunLine:
    run = structure(header, RunLine)
    if run.format != FORMAT:
        msg = f"is of format {run.format!r}, not {FORMAT!r}"
        raise _OtherFormat(msg)
    if run.v > VERSION:
        msg = f"is of version {run.v} of its format; this pytscope reads up to {VERSION}"
        raise _OtherFormat(msg)
    return run
