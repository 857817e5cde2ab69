"""Opening a path as a run: which source it is for, or what to do when it is for none."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytscope.model.errors import RunNotFound, RunUnreadable, UsageError
from pytscope.runs.run import Run
from pytscope.runs.source import Source

_LISTED = 5
_LOOKED_AT = 1000
"""Entries of a folder that are looked at for a hint."""


def open_run(
    path: str | Path,
    sources: Sequence[Source],
    *,
    source: str | None = None,
    attempt: int | None = None,
) -> Run:
    """Open a path with the source it is for.

    Args:
        path: A folder or file.
        sources: The sources to try, in order.
        source: Name of the source to use, instead of the first that detects the path.
        attempt: Number of the only attempt to open; the source's choice by default.

    Raises:
        RunNotFound: Nothing is at the path.
        RunUnreadable: Something is, but no source can open it.
        UsageError: No source is of that name, or there is no such attempt.
    """
    chosen = _named(sources, source) if source is not None else None
    path = Path(path)
    _must_exist(path)
    if chosen is None:
        chosen = next((known for known in sources if known.detects(path)), None)
    if chosen is None:
        raise _unknown(path, sources)
    return chosen.open(path, attempt=attempt)


def _named(sources: Sequence[Source], name: str) -> Source:
    for known in sources:
        if known.name == name:
            return known
    names = [known.name for known in sources]
    msg = f"no source is named {name!r}; there are: {', '.join(names) or 'none'}"
    raise UsageError(msg, hint=_did_you_mean(name, names))


def _must_exist(path: Path) -> None:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        msg = f"there is nothing at {path}"
        raise RunNotFound(msg, hint=_sibling(path)) from None
    except ValueError:  # a path no file system can hold
        msg = f"{str(path)!r} is no path"
        raise RunNotFound(msg) from None
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or error}"
        raise RunUnreadable(msg) from error


def _sibling(path: Path) -> str:
    """A hint for a path that is not there: a name like it, or where the path ends."""
    parent = path.parent
    while not parent.is_dir() and parent != parent.parent:
        path, parent = parent, parent.parent
    names = _names(parent)
    close = difflib.get_close_matches(path.name, names, _LISTED, 0.6)
    if close:
        return _did_you_mean(str(path), [str(parent / name) for name in close])
    if not names:
        return f"The folder {parent} is empty." if parent.is_dir() else ""
    return f"The folder {parent} holds: {_listed(names)}."


def _did_you_mean(wrong: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(wrong, names, _LISTED, 0.6)
    return f"Did you mean {' or '.join(close)}?" if close else ""


def _unknown(path: Path, sources: Sequence[Source]) -> RunUnreadable:
    names = ", ".join(known.name for known in sources) or "none"
    if not path.is_dir():
        msg = f"{path} is a file that no source can open (sources: {names})"
        return RunUnreadable(msg, hint="Give a run folder, or a rank file that ends in .pts.")
    inside = [
        path / name
        for name in _names(path)
        if (path / name).is_dir() and any(known.detects(path / name) for known in sources)
    ]
    if inside:
        what = "a run" if len(inside) == 1 else f"{len(inside)} runs"
        msg = f"{path} is no run itself, but holds {what}: {_listed(map(str, inside))}"
        return RunUnreadable(msg, hint="Give one of them.")
    msg = f"{path} is a folder without a run (sources: {names})"
    return RunUnreadable(msg, hint="A run folder holds files named rank00000.pts and so on.")


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry, _ in zip(entries, range(_LOOKED_AT), strict=False))
    except OSError:
        return []


def _listed(names: Iterable[str]) -> str:
    known = list(names)
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return ", ".join(known[:_LISTED]) + more
