"""What makes runs repeats of each other: their seeds, their configuration, their identity."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import attrs
import numpy as np

from pytscope.diffing.batches import counting
from pytscope.model.jsonable import jsonable
from pytscope.runs.run import Floats, Ints, Run

FEWEST_VALUES = 16
"""Logged values from which runs that agree in all of them are one run, not two that agree."""

_SEED = re.compile(r"(^|_)seeds?$")
_OF_ONE_RUN = re.compile(
    r"(^|_)((out|output|run|log|logs|logging|save|ckpt|checkpoint|checkpoints|work)_?"
    r"(dir|directory|path|folder|name|id)|timestamp|date|datetime|resume|resume_from\w*|uuid|"
    r"hostname|pid)$|^(out|output|logdir|outdir|rundir|name)$"
)
"""Settings that name one run, or say where it is kept: repeats differ in them."""
_DEEPEST = 12
_DIGEST_BYTES = 12


@attrs.frozen(eq=False)
class Series:
    """A logged series: ascending global steps, each once, and their values."""

    steps: Ints
    values: Floats

    def __len__(self) -> int:
        """Number of values."""
        return len(self.steps)

    def until(self, last: int) -> Series:
        """Without what comes after a step."""
        kept = int(np.searchsorted(self.steps, last, side="right"))
        return Series(self.steps[:kept], self.values[:kept])

    def common(self, other: Series) -> tuple[Ints, Floats, Floats]:
        """Steps that both have, and either's values there."""
        steps, mine, theirs = np.intersect1d(
            self.steps, other.steps, assume_unique=True, return_indices=True
        )
        return steps, self.values[mine], other.values[theirs]

    def equals(self, other: Series) -> int | None:
        """Number of common steps where all values are the same bits, or None; NaN equals NaN."""
        steps, mine, theirs = self.common(other)
        same = mine.view(np.int64) == theirs.view(np.int64)
        return len(steps) if (same | (np.isnan(mine) & np.isnan(theirs))).all() else None


@attrs.frozen
class Arm:
    """Runs that are meant to repeat each other, told apart by what counts as one observation.

    Attributes:
        runs: Places of its runs among all that are compared.
        units: The places by observation: runs that are copies of each other are one,
            and, where several seeds are known, so are the runs of one seed.
        seeds: The seed of every unit, or an empty string.
        copies: Runs that agree bit for bit with another one of the arm.
        shared: Runs that stand for a seed together with others.
    """

    runs: tuple[int, ...]
    units: tuple[tuple[int, ...], ...]
    seeds: tuple[str, ...]
    copies: int = 0
    shared: int = 0


def arms_of(runs: Sequence[Run], arms: Sequence[int]) -> tuple[Arm, Arm]:
    """The two arms of a comparison.

    Args:
        runs: All runs.
        arms: 0 or 1 for every run.
    """
    first, second = (
        _arm(runs, [place for place, arm in enumerate(arms) if arm == which]) for which in (0, 1)
    )
    return first, second


def _arm(runs: Sequence[Run], places: Sequence[int]) -> Arm:
    distinct = {identity(runs[place]): place for place in reversed(places)}
    kept = sorted(distinct.values())
    by_seed: dict[str, list[int]] = {}
    for place in kept:
        by_seed.setdefault(seed_of(runs[place]), []).append(place)
    copies = len(places) - len(kept)
    if "" in by_seed or len(by_seed) == 1:
        seeds = tuple(seed_of(runs[place]) for place in kept)
        return Arm(tuple(places), tuple((place,) for place in kept), seeds, copies)
    shared = sum(len(same) for same in by_seed.values() if len(same) > 1)
    units = tuple(map(tuple, by_seed.values()))
    return Arm(tuple(places), units, tuple(by_seed), copies, shared)


def names(run: Run) -> tuple[str, ...]:
    """Names of everything that any rank logged, in order of appearance."""
    return tuple(dict.fromkeys(name for line in run.timelines for name in line.scalars))


def series(run: Run, name: str) -> Series | None:
    """What was logged under a name, of the lowest rank that did; None for nothing.

    Steps that were done again count as they were done last.
    """
    for timeline in run.timelines:
        if name in timeline.scalars:
            steps, values = counting(timeline, name)
            if len(steps):
                return Series(steps, np.ascontiguousarray(values, np.float64))
    return None


def integers(run: Run, name: str) -> tuple[Ints, Ints] | None:
    """The same of whole numbers, exact: fingerprints have more bits than a float keeps."""
    for timeline in run.timelines:
        if name in timeline.scalars:
            steps, values = counting(timeline, name)
            if values.dtype.kind == "i":
                return steps, values
    return None


def seed_of(run: Run) -> str:
    """The seeds that were recorded, as one text; empty when none was."""
    found = {key: value for key, value in _leaves(run.config) if _is_seed(key)}
    torch = run.environment.get("torch")
    if isinstance(torch, Mapping) and torch.get("initial_seed") is not None:
        found["torch.initial_seed"] = torch["initial_seed"]
    known = {key: value for key, value in found.items() if value is not None}
    return json.dumps(jsonable(known), sort_keys=True) if known else ""


def code_of(run: Run) -> str:
    """The version of a run's code, with what was changed since; empty when unknown."""
    git = run.environment.get("git")
    if not isinstance(git, Mapping) or not isinstance(git.get("sha"), str):
        return ""
    changed = git.get("diff_sha256")
    return str(git["sha"]) + (f"+{changed[:16]}" if isinstance(changed, str) else "")


def repeats_key(run: Run) -> str:
    """A hash of a run's configuration without seeds and places; empty when unknown.

    Runs with the same key are repeats of each other as far as their configuration
    tells. Without a configuration the command line stands for it.
    """
    torch = run.environment.get("torch")
    model = torch.get("model") if isinstance(torch, Mapping) else None
    kept = {k: v for k, v in _leaves(run.config) if not _is_seed(k) and not _is_place(k)}
    settings: object = kept or _command(run.environment.get("argv"))
    if not settings:
        return ""
    return _hash(json.dumps(jsonable([settings, run.world_size, model]), sort_keys=True))


def identity(run: Run) -> str:
    """A hash that two readings of one run share, and exact copies of its numbers too.

    A run that logged a few values alone is known by its start and its name as well,
    for few values may agree by chance.
    """
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    count = 0
    for name in sorted(names(run)):
        known = series(run, name)
        if known is not None:
            digest.update(f"{name}:{len(known)}".encode(errors="replace"))
            digest.update(known.steps.tobytes())
            digest.update(known.values.tobytes())
            count += len(known)
    if count < FEWEST_VALUES:
        starts = [attempt.start_epoch_ns for line in run.timelines for attempt in line.attempts]
        digest.update(json.dumps(jsonable([starts, run.name, run.path])).encode())
        for timeline in run.timelines:
            digest.update(np.ascontiguousarray(timeline.wall_ns).tobytes())
    return digest.hexdigest()


def _leaves(value: Any, before: str = "", depth: int = _DEEPEST) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and depth:
        for key, inner in value.items():
            yield from _leaves(inner, f"{before}.{key}" if before else str(key), depth - 1)
    elif before:
        yield before, value


def _is_seed(key: str) -> bool:
    return _SEED.search(_plain(key)) is not None


def _is_place(key: str) -> bool:
    return _OF_ONE_RUN.search(_plain(key)) is not None


def _plain(key: str) -> str:
    return key.rpartition(".")[2].lower().lstrip("-").replace("-", "_")


def _command(argv: Any) -> list[str]:
    """The command line without the options that repeats differ in."""
    if not isinstance(argv, list | tuple) or not argv:
        return []
    words = [str(word) for word in argv]
    kept, skip = [PurePath(words[0]).name], False
    for word in words[1:]:
        name, equals, _ = word.partition("=")
        if skip and not word.startswith("-"):
            skip = False
            continue
        named = (equals or word.startswith("-")) and (_is_seed(name) or _is_place(name))
        skip = bool(named) and not equals
        if not named:
            kept.append(word)
    return kept


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def finite(values: Sequence[float]) -> bool:
    """Whether no value is NaN or infinite."""
    return all(map(math.isfinite, values))
