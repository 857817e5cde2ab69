"""Packing: columns of Python numbers to little-endian bytes, records to lines."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

INT64 = (-(2**63), 2**63 - 1)


def pack_ints(values: Sequence[int]) -> tuple[str, bytes]:
    """Pack integers, four bytes each when they fit, else eight."""
    n = len(values)
    try:
        return "<i4", struct.pack(f"<{n}i", *values)
    except struct.error:
        return "<i8", struct.pack(f"<{n}q", *values)


def pack_floats(values: Sequence[float]) -> tuple[str, bytes]:
    """Pack floats, four bytes each when none loses a bit by it, else eight."""
    n = len(values)
    wide = struct.pack(f"<{n}d", *values)
    try:
        narrow = struct.pack(f"<{n}f", *values)
    except OverflowError:
        return "<f8", wide
    if struct.pack(f"<{n}d", *struct.unpack(f"<{n}f", narrow)) == wide:
        return "<f4", narrow
    return "<f8", wide


class Pattern:
    """The columns of the steps of one shape.

    Attributes:
        count: Steps of this shape.
        columns: `(kind, name, values)` in writing order; `values` are as many
            as there are steps.
        meta: Constants of the shape.
    """

    __slots__ = ("columns", "count", "meta")

    def __init__(
        self, count: int, columns: list[tuple[str, str, Sequence[Any]]], meta: Mapping[str, int]
    ) -> None:
        self.count = count
        self.columns = columns
        self.meta = meta

    def pack(self) -> tuple[list[Any], bytes]:
        """The pattern's header entry and its bytes."""
        header, parts = [], []
        for kind, name, values in self.columns:
            dtype, data = (pack_floats if kind == "s" else pack_ints)(values)
            header.append([kind, name, dtype])
            parts.append(data)
        entry: list[Any] = [self.count, header]
        if self.meta:
            entry.append(self.meta)
        return entry, b"".join(parts)


def steps_record(first: int, t0: int, which: bytes, patterns: Sequence[Pattern]) -> bytes:
    """One block of steps.

    Args:
        first: Number of the first step.
        t0: Its start, nanoseconds since the attempt's start.
        which: Index of each step's pattern.
        patterns: The patterns, at most 256.
    """
    packed = [pattern.pack() for pattern in patterns]
    data = b"".join([which if len(patterns) > 1 else b"", *(part for _, part in packed)])
    header = {"b": "steps", "pats": [entry for entry, _ in packed], "step": first}
    return record({**header, "n": len(which), "t0": t0}, data)


def record(header: Mapping[str, Any], data: bytes | None = None) -> bytes:
    """A header line with its checksum, and the bytes that follow it."""
    line = dict(header) if data is None else {**header, "len": len(data)}
    text = json.dumps(line, separators=(",", ":"), allow_nan=False).encode()[:-1]
    crc = zlib.crc32(data or b"", zlib.crc32(text))
    head = b'%b,"crc":%d}\n' % (text, crc)
    return head if data is None else b"%b%b\n" % (head, data)
