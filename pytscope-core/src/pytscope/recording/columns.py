"""Packing: columns of Python numbers to little-endian bytes, records to lines."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

INT64 = (-(2**63), 2**63 - 1)
_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


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
    wide = struct.Struct(f"<{n}d")
    try:
        narrow = struct.pack(f"<{n}f", *values)
    except OverflowError:
        return "<f8", wide.pack(*values)
    back = struct.unpack(f"<{n}f", narrow)
    if back == tuple(values):
        return "<f4", narrow
    exact = wide.pack(*values)
    if back[0] != values[0] == values[0]:
        return "<f8", exact
    # a NaN equals nothing, but its bits may be the same
    return ("<f4", narrow) if wide.pack(*back) == exact else ("<f8", exact)


class Pattern:
    """The steps of one shape, packed column by column.

    Attributes:
        count: How many there are.
    """

    __slots__ = ("_columns", "_meta", "_parts", "count")

    def __init__(self, count: int, meta: Mapping[str, int]) -> None:
        self.count = count
        self._meta = meta
        self._columns: list[tuple[str, str, str]] = []
        self._parts: list[bytes] = []

    def add(self, kind: str, name: str, values: Sequence[Any]) -> None:
        """Pack a column at once, while its numbers are near; one value a step."""
        dtype, data = (pack_floats if kind == "s" else pack_ints)(values)
        self._columns.append((kind, name, dtype))
        self._parts.append(data)

    def __bool__(self) -> bool:
        """Whether it has a column."""
        return bool(self._columns)

    @property
    def entry(self) -> str:
        """Its place in the block's header, as JSON."""
        meta = f",{_json(self._meta)}" if self._meta else ""
        return f"[{self.count},{_columns(tuple(self._columns))}{meta}]"

    @property
    def data(self) -> bytes:
        """Its columns, one after the other."""
        return b"".join(self._parts)


@lru_cache(maxsize=1024)
def _columns(header: tuple[tuple[str, str, str], ...]) -> str:
    return _json(header)


def steps_record(first: int, t0: int, which: bytes, patterns: Sequence[Pattern]) -> bytes:
    """One block of steps.

    Args:
        first: Number of the first step.
        t0: Its start, nanoseconds since the attempt's start.
        which: Index of each step's pattern.
        patterns: The patterns, at most 256.
    """
    data = b"".join([which if len(patterns) > 1 else b"", *(p.data for p in patterns)])
    entries = ",".join(pattern.entry for pattern in patterns)
    text = f'{{"b":"steps","pats":[{entries}],"step":{first},"n":{len(which)},"t0":{t0}'
    return _sealed(f'{text},"len":{len(data)}', data)


def record(header: Mapping[str, Any]) -> bytes:
    """A header line with its checksum."""
    return _sealed(_json(dict(header))[:-1])


def _sealed(text: str, data: bytes | None = None) -> bytes:
    """A header without its closing brace, its checksum, and the bytes that follow it."""
    line = text.encode()
    head = b'%b,"crc":%d}\n' % (line, zlib.crc32(data or b"", zlib.crc32(line)))
    return head if data is None else b"%b%b\n" % (head, data)
