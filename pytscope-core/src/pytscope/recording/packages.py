"""Which packages are installed, told by the names of their metadata folders.

Reading each package's metadata, as `importlib.metadata` does, takes Python tens of
milliseconds, which training threads would wait for; names and versions are in the
folders' names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_METADATA = re.compile(r"(.+?)(?:-([^-]+)(?:-py[\d.]+(?:-.+)?)?)?\.(dist-info|egg-info)")
_VERSION = re.compile(rb"^Version: *(\S+)", re.MULTILINE)
_HEAD = 4096


def installed(path: Iterable[str]) -> dict[str, str]:
    """Versions of the installed packages by name, in lower case with hyphens.

    Args:
        path: Folders that modules are imported from; the first that has a
            package counts.
    """
    found: dict[str, str] = {}
    for folder in path:
        for name, version in _in_folder(Path(folder or ".")):
            found.setdefault(name, version)
    return dict(sorted(found.items()))


def _in_folder(folder: Path) -> Iterator[tuple[str, str]]:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208  # names alone, without an object each
    except OSError:
        return  # no folder: an archive, or nothing
    for name in names:
        if name.endswith("-info") and (parts := _METADATA.fullmatch(name)):
            version = parts[2] or _version(folder / name)
            yield re.sub(r"[-_.]+", "-", parts[1]).lower(), version


def _version(metadata: Path) -> str:
    """The version of an `.egg-info` that has none in its name."""
    try:
        with (metadata / "PKG-INFO").open("rb") as lines:
            said = _VERSION.search(lines.read(_HEAD))
    except OSError:
        return ""
    return said[1].decode("ascii", "replace") if said else ""
