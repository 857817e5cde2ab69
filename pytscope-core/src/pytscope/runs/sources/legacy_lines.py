"""Lines of a file of any size and content, a bounded part of it in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

LONGEST = 1 << 20
"""Bytes of a line that are kept; no record of 0.2.x comes near."""
_PIECE = 1 << 20


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines with their sizes in bytes, without the newline; empty ones too.

    A line over `LONGEST` bytes comes cut to something that is no record, with
    its full size. A last line without a newline is a line.

    Args:
        path: The file.

    Raises:
        OSError: It cannot be read.
    """
    kept, size = b"", 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            first, *others = piece.split(b"\n")
            size += len(first)
            kept = kept + first if size <= LONGEST else b"..."
            for line in others:
                yield size, kept
                kept, size = line, len(line)
    if size:
        yield size, kept
