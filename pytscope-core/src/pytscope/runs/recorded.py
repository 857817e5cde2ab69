"""One attempt as its records tell it, before anything is counted."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping
from typing import Any

import attrs

from pytscope.model.records import Segment
from pytscope.runs.blocks import StepBlock
from pytscope.runs.codec import structure
from pytscope.runs.headers import (
    Anchor,
    DroppedEvent,
    EndLine,
    LogEvent,
    OpenLine,
    RunLine,
    SpansLine,
    StartupEvent,
)


@attrs.frozen(eq=False)
class RecordedAttempt:
    """What one attempt left in its file.

    Attributes:
        run: Its first line, or None when that is damaged.
        blocks: Its steps.
        startup: What startup was made of, or None when no record says so.
        opened: Where it was when last heard of, if nothing completed since.
        end: Its last line, or None.
        anchors: Moments on both clocks, in order.
        logs: Values logged after their step was written.
        dropped: Steps given up by the writer, as far as it said so.
        events: Other rare records.
        provenance: What the writer found out about the process after its start.
        damaged_bytes: Bytes skipped within it.
        repeated: Blocks left out because their steps were there already.
        spans: Lines of what other threads did.
    """

    run: RunLine | None
    blocks: tuple[StepBlock, ...]
    startup: tuple[Segment, ...] | None
    opened: OpenLine | None
    end: EndLine | None
    anchors: tuple[Anchor, ...]
    logs: tuple[LogEvent, ...]
    dropped: int
    events: tuple[Mapping[str, Any], ...]
    provenance: Mapping[str, Any]
    damaged_bytes: int
    repeated: int = 0
    spans: tuple[bytes, ...] = ()

    @property
    def first_step(self) -> int:
        """Number of the first step it would record."""
        if self.run is not None:
            return self.run.step
        if not self.blocks:
            return 0
        first, last = self.blocks[0], self.blocks[-1]
        if self.end is None or self.end.steps is None:
            return first.step
        return max(0, min(first.step, last.next_step - self.end.steps - self.end.dropped))

    @property
    def evaluates(self) -> str:
        """What kind of evaluation outside of training it is; empty for a training."""
        kind = self.run.evaluates if self.run is not None else None
        return kind if kind and not self.blocks else ""

    @property
    def nameless(self) -> bool:
        """Whether neither a first line nor a step tells what it was of."""
        return self.run is None and not self.blocks

    @property
    def start_epoch_ns(self) -> int:
        """Time of day of its start; 0 when no record tells."""
        if self.run is not None:
            return self.run.epoch_ns
        return self.anchors[0].epoch_ns - self.anchors[0].t if self.anchors else 0

    @property
    def last_ns(self) -> int:
        """A lower bound of its length: the latest stamp on its surface."""
        stamps = [block.t0 for block in self.blocks[-1:]]
        stamps += [anchor.t for anchor in self.anchors[-1:]]
        if self.opened is not None:
            stamps.append(self.opened.t)
        if self.end is not None:
            stamps.append(self.end.wall_ns)
        return max(stamps, default=0)


class AttemptBuilder:
    """Collects the records of one attempt.

    Args:
        run: Its first line, or None when that was met damaged.
    """

    def __init__(self, run: RunLine | None) -> None:
        self.run = run
        self._blocks: list[StepBlock] = []
        self._startup: tuple[Segment, ...] | None = None
        self._opened: OpenLine | None = None
        self._end: EndLine | None = None
        self._anchors: list[Anchor] = []
        self._logs: list[LogEvent] = []
        self._dropped = 0
        self._events: list[Mapping[str, Any]] = []
        self._spans: list[bytes] = []
        self._provenance: Mapping[str, Any] = {}
        self._damaged_bytes = 0
        self._broken = False

    @property
    def ended(self) -> bool:
        """Whether it wrote its end."""
        return self._end is not None

    def expects(self) -> tuple[int, int | None]:
        """Number and start of the next step; the start is None before anything tells."""
        if self._blocks:
            return self._blocks[-1].next_step, self._blocks[-1].end_ns()
        startup = None if self._startup is None else sum(ns for _, ns in self._startup)
        return (self.run.step if self.run else 0), startup

    def lacks_startup(self) -> bool:
        """Whether it has not told yet what its startup was made of."""
        return self._startup is None and not self._blocks

    def damage(self, size: int) -> None:
        """Count bytes that were skipped here."""
        self._damaged_bytes += size
        self._broken = True

    def follows(self, kind: str, header: Mapping[str, Any] | StepBlock) -> bool:
        """Whether a record can be this attempt's, rather than one's whose first line is gone.

        Only damage can have hidden a first line, or the end of an attempt
        told that nothing more is coming.
        """
        if self._end is not None:
            told = kind in ("steps", "open", "end") or header_kind(header) == "startup"
            return not (told or self._broken)
        if not self._broken:
            return True
        last = self._blocks[-1] if self._blocks else None
        if isinstance(header, StepBlock):
            return last is None or (header.t0 >= last.t0 and header.step >= last.next_step)
        if kind in ("anchor", "open", "end"):
            known = [last.t0 if last else 0, *(anchor.t for anchor in self._anchors[-1:])]
            at = header.get("t")
            return not isinstance(at, int) or at >= max(known)
        return header_kind(header) != "startup" or self.lacks_startup()

    def block(self, block: StepBlock) -> None:
        """Take a block of steps."""
        self._broken = False
        self._blocks.append(block)
        self._opened = None

    def take(self, kind: str, header: Mapping[str, Any]) -> None:
        """Take any other record; kinds that this version does not know are passed over.

        Raises:
            HeaderError: A value of the record is of the wrong type.
        """
        if kind == "event":
            self._event(header)
        elif kind == "open":
            self._opened = structure(header, OpenLine)
            self._broken = False
        elif kind == "end":
            self._end = structure(header, EndLine)
            self._broken = False
        elif kind == "anchor":
            self._anchors.append(structure(header, Anchor))

    def spans(self, header: Mapping[str, Any], line: bytes) -> None:
        """Take what other threads did; the line is parsed again when it is asked for.

        Raises:
            HeaderError: A value of the record is of the wrong type.
        """
        structure(header, SpansLine)
        self._spans.append(line)

    def _event(self, header: Mapping[str, Any]) -> None:
        kind = header.get("kind")
        plain = {key: value for key, value in header.items() if key not in ("b", "crc", "len")}
        if kind == "startup":
            self._startup = structure(header, StartupEvent).segments
            self._opened = None
            self._broken = False
        elif kind == "provenance":
            found = {k: v for k, v in plain.items() if k not in ("kind", "t")}
            self._provenance = {**self._provenance, **found}
        elif kind == "torch":
            found = {k: v for k, v in plain.items() if k not in ("kind", "t")}
            self._provenance = {**self._provenance, kind: found}
        elif kind == "log" and header.get("step") is not None:
            self._logs.append(structure(header, LogEvent))
        elif isinstance(kind, str):
            if kind == "dropped":
                self._dropped += structure(header, DroppedEvent).steps
            self._events.append(plain)

    def built(self) -> RecordedAttempt:
        """The attempt, as far as it was told."""
        blocks, repeated = _in_order(self._blocks)
        return RecordedAttempt(
            self.run,
            blocks,
            self._startup,
            self._opened,
            self._end,
            tuple(self._anchors),
            tuple(self._logs),
            max(self._dropped, self._end.dropped if self._end else 0),
            tuple(self._events),
            self._provenance,
            self._damaged_bytes + sum(block.size for block in repeated),
            len(repeated),
            tuple(self._spans),
        )


def _in_order(blocks: list[StepBlock]) -> tuple[tuple[StepBlock, ...], list[StepBlock]]:
    """Blocks by step, and those left out because an earlier one has a step of theirs.

    A recorder never goes back, so blocks out of order were moved or doubled
    after they were written.
    """
    if all(a.next_step <= b.step for a, b in itertools.pairwise(blocks)):
        return tuple(blocks), []
    kept: list[StepBlock] = []
    repeated = []
    for block in blocks:
        at = bisect.bisect_right(kept, block.step, key=lambda known: known.step)
        before, after = kept[at - 1 : at], kept[at : at + 1]
        if (before and before[0].next_step > block.step) or (
            after and after[0].step < block.next_step
        ):
            repeated.append(block)
        else:
            kept.insert(at, block)
    return tuple(kept), repeated


def header_kind(header: Mapping[str, Any] | StepBlock) -> object:
    """The kind of an event's header, or None."""
    return None if isinstance(header, StepBlock) else header.get("kind")
