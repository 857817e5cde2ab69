"""Folders for the runs of `pytscope run`: found, made, and taken away again if nothing came."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pytscope.model.errors import UsageError
from pytscope.recording.rank import RankInfo
from pytscope.runs.locks import is_held

PARENT = Path("runs")
UUID = re.compile(r"^([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
"""What `torchrun --standalone` calls a job; a part of it tells it from others."""


class Place(NamedTuple):
    """Where a run goes.

    Attributes:
        folder: The run's folder, absolute.
        new: What was not there before it, of the folder and those above, the innermost first.
    """

    folder: Path
    new: tuple[Path, ...]


def given_folder(folder: str) -> Callable[[], Place]:
    """What gives the folder that the user named.

    Raises:
        UsageError: There is a file of this name.
    """
    place = Path(folder).absolute()
    if place.exists() and not place.is_dir():
        msg = f"{folder} is a file; a run needs a folder"
        raise UsageError(msg)
    return partial(Place, place, missing(place))


def new_folder(name: str, rank: RankInfo) -> Callable[[], Place]:
    """What finds a folder for a run that was given none; all ranks of a launch get the same.

    Raises:
        UsageError: Ranks on several hosts have no name in common.
    """
    stem = re.sub(r"[^\w.-]+", "-", name.removesuffix(".py")).strip("-.") or "script"
    parent = PARENT.absolute()
    if (rank.world or 1) > 1:
        folder = parent / f"{stem}-{launch_name(rank, os.environ)}"
        return partial(Place, folder, missing(folder))
    return partial(numbered, parent, stem)


def numbered(parent: Path, stem: str) -> Place:
    """A new folder, by the first number that is above all others."""
    above = missing(parent)
    parent.mkdir(parents=True, exist_ok=True)
    taken = [re.fullmatch(rf"{re.escape(stem)}-(\d+)", path.name) for path in parent.iterdir()]
    number = max((int(match[1]) for match in taken if match), default=0) + 1
    while True:
        folder = parent / f"{stem}-{number}"
        with suppress(FileExistsError):  # another one was just started
            folder.mkdir()
            return Place(folder, (folder, *above))
        number += 1


def launch_name(rank: RankInfo, environ: Mapping[str, str]) -> str:
    """What the ranks of one launch have in common, and other launches have not."""
    if rank.job is not None and rank.job != "none":
        short = UUID.sub(r"\1", rank.job)
        return re.sub(r"[^\w-]+", "-", short)[:40]
    if environ.get("LOCAL_WORLD_SIZE") == str(rank.world):
        return f"p{os.getppid()}"
    msg = "ranks on several hosts need one folder that they all know"
    raise UsageError(msg, hint="Give it: pytscope run -o DIR -- …")


def missing(folder: Path) -> tuple[Path, ...]:
    """A folder and those above it that are not there, the innermost first."""
    return tuple(one for one in (folder, *folder.parents) if not one.exists())


def take_away(folders: Iterable[Path]) -> None:
    """Remove folders, the innermost first, up to one that something is in."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def cut_back(file: Path, size: int) -> None:
    """Leave a file of a run as it was before an attempt, or remove it if it was empty.

    One that another process records into by now is left alone.

    Args:
        file: The file, closed.
        size: Its size before, in bytes.
    """
    with suppress(OSError):
        if is_held(file):
            return
        if size:
            os.truncate(file, size)
        else:
            file.unlink()
