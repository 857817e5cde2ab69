"""A step file of 0.2.x, read once: its usable records, its attempts, and what was skipped."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path

import attrs

from pytscope.runs.attempt import Gap
from pytscope.runs.sources.legacy_columns import MOST_NAMES, LegacyColumns
from pytscope.runs.sources.legacy_lines import LONGEST, lines
from pytscope.runs.sources.legacy_record import Record, Unusable, parse

MOST_S = 9.0e9
"""Seconds of recorded time that a file may hold: what 64 bits of nanoseconds can."""
_TOO_LONG = "longer than any record"
_TOO_MUCH = "more time than a run can hold"
_TOLD = 4
_MARK = b"\xef\xbb\xbf"


@attrs.define(eq=False)
class Span:
    """One attempt's stretch of a file; it grows while the file is read.

    Attributes:
        first: Row of its first step.
        first_step: Number of that step.
        last_step: Number of its last usable step.
        reached: Number of the last step known of, whether its record is usable or not.
        rows: Number of its usable steps.
        gaps: Where steps are missing.
        damaged_bytes: Bytes of the lines skipped in it.
        first_stamp: Time of day of its first step, or None.
        last_stamp: Time of day of its last step, or None.
    """

    first: int
    first_step: int
    last_step: int
    reached: int
    rows: int = 0
    gaps: list[Gap] = attrs.field(factory=list)
    damaged_bytes: int = 0
    first_stamp: float | None = None
    last_stamp: float | None = None

    def missing(self, before: int) -> None:
        """The steps after the last usable one and before another have no usable record."""
        first = self.last_step + 1
        if before > first:
            self.gaps.append(Gap(first, before - first, 0))


class Faults:
    """What could not be used, by reason: how often, and where first."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}

    def add(self, reason: str, line: int) -> None:
        """Count one more of a kind."""
        times, first = self._seen.get(reason, (0, line))
        self._seen[reason] = (times + 1, first)

    @property
    def total(self) -> int:
        """Number of all of them."""
        return sum(times for times, _ in self._seen.values())

    def __str__(self) -> str:
        by_count = sorted(self._seen.items(), key=lambda item: (-item[1][0], item[1][1]))
        said = [
            f"{reason} ({times:,}, first on line {line:,})"
            for reason, (times, line) in by_count[:_TOLD]
        ]
        rest = len(by_count) - _TOLD
        return ", ".join(said) + (f" and {rest:,} other reasons" if rest > 0 else "")


def _too_long() -> Record:
    raise Unusable(_TOO_LONG)


class StepFile:
    """The records of one step file, none until they are read.

    Attributes:
        columns: The usable records.
        steps: Numbers of their steps.
        spans: The attempts; a step number that goes back begins one.
        records: Number of lines that are not empty.
        skipped: Records that are no step.
        repeated: Records that repeat the step of the one before.
        left_out: Values that are none.
        bad_bytes: Bytes of the unreadable lines that no attempt has counted.
    """

    def __init__(self) -> None:
        self.columns = LegacyColumns()
        self.steps = array("q")
        self.spans: list[Span] = []
        self.records = 0
        self.skipped = Faults()
        self.repeated = Faults()
        self.left_out = Faults()
        self._seconds = 0.0
        self._bad = self.bad_bytes = 0

    def read(self, path: Path) -> None:
        """Read a file, once.

        Args:
            path: The file.

        Raises:
            OSError: It cannot be read, or only in part.
        """
        for number, (size, line) in enumerate(lines(path), 1):
            text = line.strip() if number > 1 else line.removeprefix(_MARK).strip()
            if text:
                self.records += 1
                self._take(number, size, text)
        if self.spans:
            self._end()

    def _take(self, number: int, size: int, line: bytes) -> None:
        try:
            record = parse(line) if size <= LONGEST else _too_long()
            self._count(record)
        except Unusable as fault:
            self.skipped.add(fault.reason, number)
            self._bad += 1
            self.bad_bytes += size
            if self.spans and fault.step == self.spans[-1].reached + 1:
                self.spans[-1].reached = fault.step
            return
        if self.spans and record.step == self.spans[-1].last_step:
            self.repeated.add("", number)
            return
        self._place(record.step, record.stamp)
        for reason in record.left_out:
            self.left_out.add(reason, number)
        self.columns.add(record)
        self.steps.append(record.step)

    def _count(self, record: Record) -> None:
        if self._seconds + record.recorded_s > MOST_S:
            raise Unusable(_TOO_MUCH, record.step)
        self._seconds += record.recorded_s

    def _place(self, step: int, stamp: float | None) -> None:
        """Find the attempt of the next row."""
        span = self.spans[-1] if self.spans else None
        if span is None or step <= span.last_step:
            if span is not None:
                span.missing(span.reached + 1)
            # Unusable lines just before the first usable step are the steps before it.
            first = max(0, step - self._bad)
            span = Span(len(self.steps), first, first - 1, step, first_stamp=stamp)
            self.spans.append(span)
        span.missing(step)
        span.last_step = step
        span.reached = max(span.reached, step)
        span.last_stamp = stamp
        span.rows += 1
        span.damaged_bytes += self.bad_bytes
        self._bad = self.bad_bytes = 0

    def _end(self) -> None:
        self.spans[-1].missing(self.spans[-1].reached + 1)
        self.spans[-1].damaged_bytes += self.bad_bytes
        self.bad_bytes = 0

    def notes(self, label: str) -> Iterator[tuple[str, str]]:
        """What reading met: a kind and a sentence each.

        Args:
            label: The file, as the report is to call it.
        """
        if self.skipped.total:
            said = f"{self.skipped.total:,} of {self.records:,} records unreadable"
            yield "damaged", f"{label}: {said}: {self.skipped}"
        if self.repeated.total:
            said = f"{self.repeated.total:,} of {self.records:,} records repeat the step before"
            yield "repeated", f"{label}: {said}; the first of each counts"
        if self.left_out.total:
            yield "values", f"{label}: values left out: {self.left_out}"
        for kind in sorted(self.columns.crowded):
            rest = "the time of further ones is `other`" if kind == "phase" else "further ones go"
            yield "limit", f"{label}: more than {MOST_NAMES[kind]:,} {kind} names; {rest}"
        for i in self._overlapping():
            said = f"attempt {i} begins before the last step of attempt {i - 1}, by their stamps"
            yield "two_writers", f"{label}: {said}; two processes may have written this file"

    def _overlapping(self) -> Iterator[int]:
        for i, span in enumerate(self.spans[1:], 1):
            before = self.spans[i - 1].last_stamp
            if span.first_stamp is not None and before is not None and span.first_stamp < before:
                yield i
