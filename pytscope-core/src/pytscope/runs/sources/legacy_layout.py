"""Where a 0.2.x run keeps its ranks: one folder, folders `rank0`, `rank1`, …, or siblings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import attrs

from pytscope.model.errors import RunUnreadable
from pytscope.runs.run import ReadNote
from pytscope.runs.sources.legacy_meta import Meta, read_meta

STEPS = "steps.jsonl"
_RANK = re.compile(r"rank(\d{1,9})")
_SIBLING = re.compile(r"(.+)_rank(\d{1,9})")
_LISTED = 5


@attrs.frozen
class Part:
    """One rank's share of a run.

    Attributes:
        rank: The rank.
        steps: Its step file, which may be missing.
        label: The file as the report is to call it.
        meta: What its `run.json` says.
    """

    rank: int
    steps: Path
    label: str
    meta: Meta


@attrs.frozen
class Layout:
    """What lies at a path: the ranks of a run, and notes on the rest."""

    parts: tuple[Part, ...]
    notes: tuple[ReadNote, ...] = ()


def detects(path: Path) -> bool:
    """Tell whether a path is a step file, or a folder with one in it or in a rank's folder."""
    if path.is_file():
        return path.name == STEPS
    if (path / STEPS).is_file():
        return True
    return any((path / name / STEPS).is_file() for _, name in _numbered(path, _RANK))


def layout(path: Path) -> Layout:
    """Find the ranks at a path.

    Raises:
        RunUnreadable: There is no step file.
    """
    if path.is_file():
        meta = read_meta(path.parent) if path.name == STEPS else Meta(finished=True)
        return Layout((Part(meta.rank or 0, path, path.name, meta),), _member(path.parent))
    if not path.is_dir():
        msg = f"{path} is neither a folder nor a file"
        raise RunUnreadable(msg)
    below = list(_below(path))
    flat = path / STEPS
    if below:
        notes = [_twice(parts) for parts in _by_rank(below).values() if len(parts) > 1]
        if flat.exists():
            text = f"{STEPS} beside the folders of the ranks is of another recording"
            notes.append(ReadNote("foreign_file", f"{text}; it is left out"))
        notes += [_beside(path, name) for _, name in _siblings(path)]
        return Layout(tuple(parts[0] for parts in _by_rank(below).values()), tuple(notes))
    if not flat.exists():
        msg = f"{path} holds no {STEPS}, and no rank's folder that does"
        raise RunUnreadable(msg)
    meta = read_meta(path)
    own = Part(meta.rank or 0, flat, STEPS, meta)
    others, notes = _others(path, own)
    return Layout((own, *others), (*notes, *_member(path)))


def _below(path: Path) -> Iterator[Part]:
    for rank, name in _numbered(path, _RANK):
        folder = path / name
        if (folder / STEPS).exists() or (folder / "run.json").exists():
            yield Part(rank, folder / STEPS, f"{name}/{STEPS}", read_meta(folder))


def _by_rank(parts: list[Part]) -> dict[int, list[Part]]:
    found: dict[int, list[Part]] = {}
    for part in sorted(parts, key=lambda p: (p.rank, len(p.label), p.label)):
        found.setdefault(part.rank, []).append(part)
    return found


def _twice(parts: list[Part]) -> ReadNote:
    left = ", ".join(part.label for part in parts[1:])
    text = f"{left} is of rank {parts[0].rank}, as {parts[0].label} is; it is left out"
    return ReadNote("second_file", text, parts[0].rank)


def _siblings(path: Path) -> Iterator[tuple[int, str]]:
    """Folders beside a run's that are named like its other ranks."""
    name = path.resolve().name
    for rank, other in _numbered(path.resolve().parent, _SIBLING):
        if other[: -len(f"_rank{rank}")] == name or other.rpartition("_rank")[0] == name:
            yield rank, other


def _others(path: Path, own: Part) -> tuple[list[Part], list[ReadNote]]:
    """The other ranks of a run whose ranks have folders side by side."""
    parts: list[Part] = []
    notes = []
    for rank, name in _siblings(path):
        folder = path.resolve().parent / name
        if not (folder / STEPS).exists():
            continue
        meta = read_meta(folder)
        if rank == own.rank or rank in (p.rank for p in parts) or meta.rank not in (None, rank):
            notes.append(_beside(path, name))
        else:
            parts.append(Part(rank, folder / STEPS, f"{name}/{STEPS}", meta))
    return sorted(parts, key=lambda part: part.rank), notes


def _beside(path: Path, name: str) -> ReadNote:
    text = f"{name} beside {path.resolve().name} is of another recording; it is left out"
    return ReadNote("foreign_file", text)


def _member(path: Path) -> tuple[ReadNote, ...]:
    """A note for a folder that is one rank's of a larger run."""
    folder = path.resolve()
    if _RANK.fullmatch(folder.name) and sum(1 for _ in _below(folder.parent)) > 1:
        text = f"{folder.name} is one rank's folder; {folder.parent} holds the whole run"
        return (ReadNote("one_rank", text),)
    named = _SIBLING.fullmatch(folder.name)
    if named and (folder.parent / named[1] / STEPS).exists():
        text = f"{folder.name} is one rank's folder; {folder.parent / named[1]} has the whole run"
        return (ReadNote("one_rank", text),)
    return ()


def _numbered(path: Path, pattern: re.Pattern[str]) -> list[tuple[int, str]]:
    """Folders of a folder named by a pattern whose last group is a number, by number."""
    try:
        with os.scandir(path) as entries:
            names = [entry.name for entry in entries if entry.is_dir()]
    except OSError:
        return []
    named = ((pattern.fullmatch(name), name) for name in names)
    return sorted((int(match[match.lastindex or 0]), name) for match, name in named if match)
