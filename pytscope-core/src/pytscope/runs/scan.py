"""Records out of bytes: checksums, bounds, and where to go on after damage.

Nothing here trusts the file. A record counts only when its header and the
bytes that belong to it match the checksum; sizes are compared with the file
before anything is allocated for them. Bytes are read piece by piece, never
mapped: a file that is cut short meanwhile is a file that ends early.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import attrs

MAX_LINE_BYTES = 16 * 2**20
"""Longest header line that is looked at; the longest honest one carries a user's config."""
MAX_DATA_BYTES = 2**30
"""Most bytes of one record; the recorder packs some kilobytes at a time."""
PIECE_BYTES = 8 * 2**20
"""Bytes asked for at a time."""

_NEWLINE = 0x0A
_START = b'{"b":"'
_DECODER = json.JSONDecoder()
_TAIL = re.compile(rb',"crc":(\d{1,10})\}\Z')
_TAIL_BYTES = 20
_USUAL_STEPS = re.compile(
    rb'\{"b":"steps","pats":(.*),"step":(\d{1,18}),"n":(\d{1,9}),'
    rb'"t0":(-?\d{1,18}),"len":(\d{1,15}),"crc":\d{1,10}\}'
)


@attrs.frozen
class StepsLine:
    """The header of a block of steps, its layout not yet looked at.

    Attributes:
        layouts: The bytes of the list of patterns, as a key and as JSON.
        step: Number of the first step.
        n: Number of steps.
        t0: Start of the first step, nanoseconds since the attempt's start.
    """

    layouts: bytes
    step: int
    n: int
    t0: int


@attrs.frozen(eq=False)
class Record:
    """One intact record.

    Attributes:
        kind: Its kind.
        header: Its header line, parsed; a `StepsLine` for a block in the usual
            order of keys, which is not worth a JSON parse.
        line: The header line, as it was written.
        data: The bytes that belong to it.
        size: Bytes of the whole record.
    """

    kind: str
    header: StepsLine | dict[str, Any]
    line: bytes
    data: memoryview
    size: int


@attrs.frozen
class Damage:
    """Bytes that are no intact record, up to the next one or the end.

    Attributes:
        size: How many.
        ends_the_file: Whether no record follows.
    """

    size: int
    ends_the_file: bool


Read = Callable[[int], bytes]
"""Gives at most so many of the next bytes; none when there are no more."""

_NO_DATA = memoryview(b"")


def scan(read: Read, size: int) -> Iterator[Record | Damage]:
    """Every intact record, and what was skipped between them, in order.

    Args:
        read: Gives the file's bytes from its beginning.
        size: How many there are, at most.
    """
    window = _Window(read, size)
    damaged = 0
    while not window.is_done():
        record = window.record()
        if record is None:
            damaged += window.skip()
            continue
        if damaged:
            yield Damage(damaged, ends_the_file=False)
            damaged = 0
        yield record
    if damaged:
        yield Damage(damaged, ends_the_file=True)


class _Window:
    """The part of the file that is looked at: from the next record on."""

    def __init__(self, read: Read, size: int) -> None:
        self._read = read
        self._left = size
        self._bytes = b""
        self._view = _NO_DATA
        self._at = 0

    def is_done(self) -> bool:
        return self._at >= len(self._bytes) and not self._more(1)

    def record(self) -> Record | None:
        """The record that begins here, which the window then leaves; None when none does."""
        line_end = self._find(b"\n", MAX_LINE_BYTES)
        if line_end < 0:
            return None
        line = self._bytes[self._at : line_end]
        tail = _TAIL.search(line, max(0, len(line) - _TAIL_BYTES))
        parsed = None if tail is None else _header(line)
        if tail is None or parsed is None:
            return None
        kind, header, data_bytes = parsed
        size = len(line) + 1 if data_bytes is None else len(line) + data_bytes + 2
        if data_bytes is not None and (data_bytes > MAX_DATA_BYTES or not self._holds(size)):
            return None
        crc = zlib.crc32(line[: tail.start()])
        data = _NO_DATA
        if data_bytes is not None:
            data_at = self._at + len(line) + 1
            data = self._view[data_at : data_at + data_bytes]
            crc = zlib.crc32(data, crc)
            if self._view[data_at + data_bytes] != _NEWLINE:
                return None
        if crc != int(tail[1]):
            return None
        self._at += size
        return Record(kind, header, line, data, size)

    def skip(self) -> int:
        """Go to where the next record may begin; the number of bytes passed over."""
        passed, here = 0, 1
        # The end of the line before it may be lost, so any place will do but this one.
        while (found := self._bytes.find(_START, self._at + here)) < 0:
            # The last bytes may be the beginning of what is looked for.
            keep = max(self._at, len(self._bytes) - len(_START) + 1)
            here = here if keep == self._at else 0
            passed += keep - self._at
            self._at = keep
            if not self._more(1):
                passed += len(self._bytes) - self._at
                self._at = len(self._bytes)
                return passed
        passed += found - self._at
        self._at = found
        return passed

    def _find(self, what: bytes, most: int) -> int:
        looked = self._at
        while (found := self._bytes.find(what, looked, self._at + most)) < 0:
            begun = len(self._bytes) - self._at
            if begun >= most or not self._more(1):
                return -1
            looked = self._at + begun
        return found

    def _holds(self, size: int) -> bool:
        """Whether so many bytes follow from here on; they are then in the window."""
        missing = self._at + size - len(self._bytes)
        if missing > self._left:
            return False
        while missing > 0 and self._more(missing):
            missing = self._at + size - len(self._bytes)
        return missing <= 0

    def _more(self, least: int) -> bool:
        if not self._left:
            return False
        more = self._read(min(max(least, PIECE_BYTES), self._left))
        self._left = self._left - len(more) if more else 0
        rest = self._bytes[self._at :] if self._at < len(self._bytes) else b""
        self._bytes = rest + more if rest else more
        self._view = memoryview(self._bytes)
        self._at = 0
        return bool(more)


def _header(line: bytes) -> tuple[str, StepsLine | dict[str, Any], int | None] | None:
    usual = _USUAL_STEPS.fullmatch(line)
    if usual is not None:
        layouts, step, n, t0, data_bytes = usual.groups()
        return "steps", StepsLine(layouts, int(step), int(n), int(t0)), int(data_bytes)
    header = parse_json(line)
    if not isinstance(header, dict) or not isinstance(header.get("b"), str):
        return None
    data_bytes = header.get("len")
    if data_bytes is not None and (type(data_bytes) is not int or data_bytes < 0):
        return None
    return header["b"], header, data_bytes


def parse_json(text: bytes) -> Any:
    """JSON of bytes that may be anything; None when they are no JSON in UTF-8.

    Text that cannot be encoded again (half of a surrogate pair) is replaced,
    so that no later stage has to think of it.
    """
    try:
        decoded = text.decode()
        value, end = _DECODER.raw_decode(decoded)
        if end < len(decoded):
            value = json.loads(decoded)  # it may end in white space
        return _encodable(value) if rb"\ud" in text.lower() else value
    except (ValueError, RecursionError):
        return None


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [_encodable(v) for v in value]
    if isinstance(value, dict):
        return {_encodable(k): _encodable(v) for k, v in value.items()}
    return value
