"""Records put together into attempts, whoever wrote them and in whatever order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pytscope.runs.blocks import StepBlock, step_block
from pytscope.runs.codec import HeaderError, structure
from pytscope.runs.headers import FORMAT, VERSION, RunLine
from pytscope.runs.layouts import Layouts
from pytscope.runs.recorded import AttemptBuilder, RecordedAttempt, header_kind
from pytscope.runs.scan import Record

KINDS = frozenset(("run", "anchor", "steps", "spans", "event", "open", "end"))
"""Kinds of records that this version knows; others are passed over and counted."""
_MOST_NS = 2.0**61
"""Time that the long durations of one file may claim: a life time, within 64 bits."""


class OtherFormat(Exception):
    """The file is of a format that this reader does not know."""


class NewerFormat(OtherFormat):
    """The file is of a later version of the format."""


class Assembly:
    """The attempts of one file, as its records come.

    A record belongs to the attempt that began last. Only when two processes
    wrote one file, on a file system without locks, may it be an earlier one's:
    one that has not ended, and whose next step begins at the record's very
    nanosecond.

    Args:
        layouts: Layouts met so far.

    Attributes:
        rank: The rank that the last first line says, or None.
        errors: Why records that are intact cannot be used.
        unknown: Records of unknown kinds, by kind.
        returned: Records that went to an attempt other than the last one.
    """

    def __init__(self, layouts: Layouts) -> None:
        self._layouts = layouts
        self._builders: list[AttemptBuilder] = []
        self._unfinished: list[AttemptBuilder] = []
        self._before = 0
        self._claimed_ns = 0.0
        self.rank: int | None = None
        self.errors: list[str] = []
        self.unknown: Counter[str] = Counter()
        self.returned = 0

    def attempts(self) -> tuple[RecordedAttempt, ...]:
        """The attempts, in the order of their beginnings."""
        return tuple(builder.built() for builder in self._builders)

    def damage(self, size: int) -> None:
        """Count bytes that were skipped here."""
        if self._builders:
            self._builders[-1].damage(size)
        else:
            self._before += size

    def add(self, record: Record) -> bool:
        """Take the next record; tells whether it could be used.

        Raises:
            OtherFormat: It begins a recording that this version cannot read.
        """
        try:
            return self._take(record)
        except HeaderError as error:
            self.errors.append(f"a record of kind {record.kind!r} cannot be used: {error}")
            if record.kind == "run":
                self._begin(None)
            return False

    def _take(self, record: Record) -> bool:
        if record.kind == "steps":
            return self._steps(record)
        header = record.header
        if not isinstance(header, dict):  # only blocks of steps have another
            return False
        if record.kind == "run":
            self._begin(_run_line(header))
            return True
        if record.kind not in KINDS:
            self.unknown[record.kind] += 1
        builder = self._owner(record.kind, header)
        if record.kind == "spans":
            builder.spans(header, record.line)
        else:
            builder.take(record.kind, header)
        return True

    def _steps(self, record: Record) -> bool:
        block = step_block(record, self._layouts)
        if block is None or self._claimed_ns + block.claimed_ns > _MOST_NS:
            return False
        self._claimed_ns += block.claimed_ns
        self._owner("steps", block).block(block)
        return True

    def _owner(self, kind: str, header: Mapping[str, Any] | StepBlock) -> AttemptBuilder:
        current = self._builders[-1] if self._builders else None
        if self._unfinished and current is not None:
            earlier = self._earlier(current, kind, header)
            if earlier is not None:
                self.returned += 1
                return earlier
        if current is None or not current.follows(kind, header):
            return self._begin(None)
        return current

    def _earlier(
        self, current: AttemptBuilder, kind: str, header: Mapping[str, Any] | StepBlock
    ) -> AttemptBuilder | None:
        """The earlier attempt that a record goes on, if it does not go on the last one."""
        self._unfinished = [b for b in self._unfinished if not b.ended]
        if header_kind(header) == "startup":
            waiting = [b for b in self._unfinished if b.lacks_startup()]
            return waiting[-1] if waiting and not current.lacks_startup() else None
        place = _place(kind, header)
        if place is None or (not current.ended and _goes_on(current, *place)):
            return None
        return next((b for b in reversed(self._unfinished) if _goes_on(b, *place)), None)

    def _begin(self, run: RunLine | None) -> AttemptBuilder:
        if self._builders and not self._builders[-1].ended:
            self._unfinished.append(self._builders[-1])
        builder = AttemptBuilder(run)
        self._builders.append(builder)
        if self._before:
            builder.damage(self._before)
            self._before = 0
        if run is not None:
            self.rank = run.rank
        return builder


def _place(kind: str, header: Mapping[str, Any] | StepBlock) -> tuple[int | None, int] | None:
    """The step, if it says so, and the end of the step before it that a record follows."""
    if isinstance(header, StepBlock):
        return header.step, header.t0
    after = {"end": ("wall_ns", "shutdown"), "open": ("t", "segments")}.get(kind)
    if after is None:
        return None
    at, parts = header.get(after[0]), header.get(after[1], [])
    try:
        return None, at - sum(ns for _, ns in parts)
    except (TypeError, ValueError):
        return None


def _goes_on(builder: AttemptBuilder, step: int | None, at: int) -> bool:
    expected = builder.expects()
    return expected[1] == at and step in (None, expected[0])


def _run_line(header: dict[str, object]) -> RunLine:
    run = structure(header, RunLine)
    if run.format != FORMAT:
        msg = f"is of format {run.format!r}, not {FORMAT!r}"
        raise OtherFormat(msg)
    if run.v > VERSION:
        msg = f"is of version {run.v} of its format; this pytscope reads up to {VERSION}"
        raise NewerFormat(msg)
    return run
