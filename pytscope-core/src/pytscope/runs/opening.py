"""Opening a path as a run: which source it is for, or what to do when it is for none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pytscope.model.errors import RunNotFound, RunUnreadable, UsageError
from pytscope.model.wording import closest, listed
from pytscope.runs.nearby import described
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
    must_exist(path, sources)
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
    msg = f"no source is named {name!r}; there are: {listed(names)}"
    raise UsageError(msg, hint=_likely(closest(name, names, _LISTED)))


def must_exist(path: Path, sources: Sequence[Source]) -> None:
    """Refuse a path that nothing is at.

    Args:
        path: A folder or file.
        sources: What tells runs, for a hint.

    Raises:
        RunNotFound: Nothing is there.
        RunUnreadable: It cannot be looked at.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        msg = f"there is nothing at {path}"
        raise RunNotFound(msg, hint=_sibling(path, sources)) from None
    except ValueError:  # a path no file system can hold
        msg = f"{str(path)!r} is no path"
        raise RunNotFound(msg) from None
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or error}"
        raise RunUnreadable(msg) from error


def _sibling(path: Path, sources: Sequence[Source]) -> str:
    """A hint for a path that is not there: a name like it, runs beside it, or where it ends."""
    parent = path.parent
    while not parent.is_dir() and parent != parent.parent:
        path, parent = parent, parent.parent
    names = _names(parent)
    if close := closest(path.name, names, _LISTED):
        return _likely([described(parent / name, sources) for name in close])
    if not names:
        return f"The folder {parent} is empty." if parent.is_dir() else ""
    if runs := _runs(parent, sources):
        return f"Runs in {parent}: {listed([run.name for run in runs], _LISTED)}."
    return f"The folder {parent} holds: {listed(names, _LISTED)}."


def _likely(names: Sequence[str]) -> str:
    return f"Did you mean {' or '.join(names)}?" if names else ""


def _unknown(path: Path, sources: Sequence[Source]) -> RunUnreadable:
    names = listed(known.name for known in sources)
    if not path.is_dir():
        msg = f"{path} is a file that no source can open (sources: {names})"
        hint = "Give a run folder, or a rank file that ends in .pts."
        if any(known.detects(path.parent) for known in sources):
            hint = f"It lies in a run; give that: {path.parent}"
        return RunUnreadable(msg, hint=hint)
    if inside := _runs(path, sources):
        what = "a run" if len(inside) == 1 else f"{len(inside)} runs"
        msg = f"{path} is no run itself, but holds {what}: {listed(map(str, inside), _LISTED)}"
        return RunUnreadable(msg, hint="Give one of them.")
    what = "a folder without a run" if _names(path) else "an empty folder"
    msg = f"{path} is {what} (sources: {names})"
    hint = "A run folder holds files named rank00000.pts and so on."
    if beside := _runs(path.resolve().parent, sources):
        hint += f" Runs beside it: {listed([run.name for run in beside], _LISTED)}."
    return RunUnreadable(msg, hint=hint)


def _runs(folder: Path, sources: Sequence[Source]) -> list[Path]:
    """Folders in a folder that a source would open."""
    found = (folder / name for name in _names(folder))
    return [p for p in found if p.is_dir() and any(known.detects(p) for known in sources)]


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry, _ in zip(entries, range(_LOOKED_AT), strict=False))
    except OSError:
        return []
