"""Layouts: which columns the steps of one shape have, and where each of them lies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
import numpy as np

from pytscope.model.records import Flag
from pytscope.runs.scan import parse_json

MAX_NAME = 256
MAX_PATTERNS = 256
"""Patterns of one block: their index is one byte."""
MAX_NAMES = {"p": 1_024, "d": 1_024, "s": 4_096, "b": 1_024, "x": 1_024}
"""Names of a kind that a run may have, more than any one attempt may write: time of
further phases is `other`, further values are left out."""

_FLOATS = frozenset(("<f4", "<f8"))
_INTS = frozenset(("<i1", "<i2", "<i4", "<i8", "|i1", "<u1", "|u1", "<u2", "<u4"))
_TYPES_OF_KIND = {
    "p": _INTS,
    "d": _INTS,
    "x": _INTS,
    "i": _INTS,
    "b": _INTS,
    "s": _INTS | _FLOATS,
}
"""Kinds this version knows. A column of another kind is passed over, if its width is known."""

_KNOWN_TYPES = _INTS | _FLOATS
_SUMMED = frozenset("pdx")
_REST = "other"
_WIDE_BYTES = 8
_DECIDED_ON_READ = Flag.WARMUP | Flag.REDONE
_CACHED_BLOCKS = 4096


@attrs.frozen
class Column:
    """One column of a layout.

    Attributes:
        kind: One letter: `p d s i b x`.
        name: Phase or value.
        dtype: Type of one value.
        before: Bytes that the columns before it take, per step.
    """

    kind: str
    name: str
    dtype: np.dtype[Any] = attrs.field(eq=False)
    before: int


@attrs.frozen(eq=False)
class Layout:
    """The columns of one shape of step; one object per shape, compared by identity.

    Attributes:
        columns: Columns of known kinds, in writing order.
        width: Bytes of one step.
        micro_batches: Micro-batches of every step of this shape.
        flags: `Flag` bits of every step of this shape.
        wide: Durations of 64 bits: those that could be of any length.
    """

    columns: tuple[Column, ...]
    width: int
    micro_batches: int = 1
    flags: int = 0
    wide: tuple[Column, ...] = ()

    def of_kind(self, kind: str) -> list[Column]:
        """Columns of one kind, in writing order."""
        return [column for column in self.columns if column.kind == kind]


@attrs.frozen(eq=False)
class Patterns:
    """The patterns of a block.

    Attributes:
        entries: Count and layout of every pattern.
        steps: Sum of the counts.
        columns_bytes: Bytes of all columns.
        wide: Whether any holds durations of 64 bits.
    """

    entries: tuple[tuple[int, Layout], ...]
    steps: int
    columns_bytes: int
    wide: bool


class Layouts:
    """Layouts met so far, shared by all blocks and files of one reading."""

    def __init__(self) -> None:
        self._of_bytes: dict[bytes, Patterns | None] = {}
        self._of_shape: dict[tuple[Any, ...], Layout | None] = {}
        self._names: dict[str, set[str]] = {kind: set() for kind in MAX_NAMES}
        self.passed_over: set[str] = set()
        """Names of the columns whose kind this version does not know."""
        self.crowded = 0
        """Names beyond what a run may have."""

    def of_bytes(self, raw: bytes) -> Patterns | None:
        """Patterns of a header's list, given as its bytes; None when it is no such list."""
        if raw in self._of_bytes:
            return self._of_bytes[raw]
        if len(self._of_bytes) >= _CACHED_BLOCKS:
            self._of_bytes.clear()
        patterns = self._of_bytes[raw] = self.of_list(parse_json(raw))
        return patterns

    def of_list(self, entries: object) -> Patterns | None:
        """Patterns of a header's list; None when it breaks the format."""
        if not isinstance(entries, list) or not 0 < len(entries) <= MAX_PATTERNS:
            return None
        found = []
        for entry in entries:
            pattern = self._pattern(entry)
            if pattern is None:
                return None
            found.append(pattern)
        columns_bytes = sum(count * layout.width for count, layout in found)
        wide = any(layout.wide for _, layout in found)
        return Patterns(tuple(found), sum(count for count, _ in found), columns_bytes, wide)

    def _pattern(self, entry: object) -> tuple[int, Layout] | None:
        if not isinstance(entry, list) or len(entry) < 2:  # noqa: PLR2004  # count and columns
            return None
        count, columns, *rest = entry
        meta = rest[0] if rest else {}
        if type(count) is not int or count < 0 or not isinstance(columns, list):
            return None
        layout = self._layout(columns, meta)
        return None if layout is None else (count, layout)

    def _layout(self, columns: list[Any], meta: object) -> Layout | None:
        if not isinstance(meta, dict) or not all(map(_is_column, columns)):
            return None
        micro, flags = meta.get("micro", 1), meta.get("flags", 0)
        if not _is_small(micro) or not _is_small(flags):
            return None
        shape = (micro, flags, *(tuple(column[:3]) for column in columns))
        if shape not in self._of_shape:
            kept = [self._admitted(*column[:3]) for column in columns]
            self._of_shape[shape] = _laid_out(kept, micro, flags)
            self.passed_over |= {c[1] for c in columns if c[0] not in _TYPES_OF_KIND}
        return self._of_shape[shape]

    def _admitted(self, kind: str, name: str, dtype: str) -> tuple[str, str, str]:
        """A column as it is kept: one name too many of its kind is `other`, or of no kind."""
        kind_of_names = "s" if kind == "i" else kind
        known = self._names.get(kind_of_names)
        if known is None or name in known or name == _REST:
            return kind, name, dtype
        if len(known) < MAX_NAMES[kind_of_names]:
            known.add(name)
            return kind, name, dtype
        self.crowded += 1
        return (kind, _REST, dtype) if kind in "pd" else ("", name, dtype)


def _is_small(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**31


def _is_column(column: object) -> bool:
    if not isinstance(column, list) or len(column) < 3:  # noqa: PLR2004  # kind, name, type
        return False
    kind, name, dtype = column[:3]
    if not (isinstance(kind, str) and isinstance(name, str) and isinstance(dtype, str)):
        return False
    return 0 < len(name) <= MAX_NAME and dtype in _TYPES_OF_KIND.get(kind, _KNOWN_TYPES)


def _laid_out(columns: Iterable[tuple[str, str, str]], micro: int, flags: int) -> Layout:
    known, before = [], 0
    for kind, name, dtype_name in columns:
        dtype = np.dtype(dtype_name)
        if kind in _TYPES_OF_KIND:
            known.append(Column(kind, name, dtype, before))
        before += dtype.itemsize
    wide = (c for c in known if c.kind in _SUMMED and c.dtype.itemsize == _WIDE_BYTES)
    flags &= ~int(_DECIDED_ON_READ)
    return Layout(tuple(known), before, max(1, micro), flags, tuple(wide))
