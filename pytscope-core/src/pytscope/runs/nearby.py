"""What a run that was not asked for is, in a few words and without reading much of it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pytscope.model.errors import PytscopeError
from pytscope.runs.source import Source

MOST_BYTES = 16_000_000
"""A larger run is not opened for its number of steps."""
_LOOKED_AT = 200
"""Entries of a run's folder that are looked at."""
_AGES = ((86_400, "day"), (3_600, "h"), (60, "min"))


def described(path: Path, sources: Sequence[Source]) -> str:
    """A path and, when it is a run, its age and length: `runs/a (2 min ago, 1,200 steps)`.

    Args:
        path: A path that exists.
        sources: What opens runs.
    """
    source = next((known for known in sources if known.detects(path)), None)
    if source is None:
        return str(path)
    try:
        size, newest = _extent(path)
    except OSError:  # gone again, or not ours to look at
        return str(path)
    said = [_age(time.time() - newest)]
    if size <= MOST_BYTES:
        with suppress(PytscopeError):
            steps = max(map(len, source.open(path).timelines), default=0)
            said.append(f"{steps:,} step{'' if steps == 1 else 's'}")
    about = ", ".join(filter(None, said))
    return f"{path} ({about})" if about else str(path)


def _extent(path: Path) -> tuple[int, float]:
    """Bytes, and when they were last changed; bytes are too many when there are many files."""
    if not path.is_dir():
        found = path.stat()
        return found.st_size, found.st_mtime
    size, newest = 0, 0.0
    with os.scandir(path) as entries:
        for place, entry in enumerate(entries):
            if place == _LOOKED_AT:
                return MOST_BYTES + 1, newest
            found = entry.stat()
            more = MOST_BYTES + 1 if entry.is_dir() else found.st_size  # not looked into
            size, newest = size + more, max(newest, found.st_mtime)
    return size, newest


def _age(seconds: float) -> str:
    """`3 days ago`; nothing for a time that is yet to come."""
    if seconds < 0:
        return ""
    for unit, name in _AGES:
        if seconds >= unit:
            count = int(seconds // unit)
            return f"{count} {name}{'s' if name == 'day' and count > 1 else ''} ago"
    return "just now"
