"""Records out of bytes: checksums, bounds, and where to go on after damage.

Nothing here trusts the file. A record counts only when its header and the
bytes that belong to it match the checksum; sizes are compared with the file
before anything is allocated for them.
"""

from __future__ import annotations

import json
import mmap
import re
import zlib
from collections.abc import Iterator
from typing import Any

import attrs

Buffer = bytes | mmap.mmap

MAX_LINE_BYTES = 16 * 2**20
"""Longest header line that is looked at; the longest honest one carries a user's config."""

_NEWLINE = 0x0A
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


@attrs.frozen
class Record:
    """One intact record.

    Attributes:
        kind: Its kind.
        header: Its header line, parsed; a `StepsLine` for a block in the usual
            order of keys, which is not worth a JSON parse.
        data_at: Where the bytes that belong to it begin.
        data_bytes: How many they are.
        start: Where the record begins.
        end: Where it ends.
    """

    kind: str
    header: StepsLine | dict[str, Any]
    data_at: int
    data_bytes: int
    start: int
    end: int


@attrs.frozen
class Damage:
    """Bytes that are no intact record, up to the next one or the end."""

    start: int
    end: int


def scan(data: Buffer, view: memoryview) -> Iterator[Record | Damage]:
    """Every intact record, and what was skipped between them, in order.

    Args:
        data: The bytes of a rank file.
        view: The same as a view, which is sliced without copying.
    """
    at, size = 0, len(view)
    while at < size:
        record = _record_at(data, view, at)
        if record is not None:
            yield record
            at = record.end
            continue
        found = data.find(b'\n{"b":', at)
        end = size if found < 0 else found + 1
        yield Damage(at, end)
        at = end


def _record_at(data: Buffer, view: memoryview, at: int) -> Record | None:
    line_end = data.find(b"\n", at, at + MAX_LINE_BYTES)
    if line_end < 0:
        return None
    line = data[at:line_end]
    tail = _TAIL.search(line, max(0, len(line) - _TAIL_BYTES))
    if tail is None:
        return None
    parsed = _header(line)
    if parsed is None:
        return None
    kind, header, data_bytes = parsed
    data_at = line_end + 1
    end = data_at if data_bytes is None else data_at + data_bytes + 1
    if end > len(view) or view[end - 1] != _NEWLINE:
        return None
    crc = zlib.crc32(line[: tail.start()])
    if data_bytes:
        crc = zlib.crc32(view[data_at : data_at + data_bytes], crc)
    if crc != int(tail[1]):
        return None
    return Record(kind, header, data_at, data_bytes or 0, at, end)


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
    """JSON of bytes that may be anything; None when they are no JSON.

    Text that cannot be encoded again (half of a surrogate pair) is replaced,
    so that no later stage has to think of it.
    """
    try:
        value = json.loads(text)
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
