"""Which run it is, and which runs it repeats: its seeds, its configuration, its numbers."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from pytscope.diffing.facts import flat
from pytscope.diffing.logged import names, series
from pytscope.diffing.words import last_part, options_of
from pytscope.model.jsonable import jsonable
from pytscope.runs.run import Run

FEWEST_VALUES = 16
"""Logged values from which runs that agree in all of them are one run, not two that agree."""

_SEED = re.compile(r"(^|_)seeds?$")
_OF_ONE_RUN = re.compile(
    r"(^|_)((out|output|run|log|logs|logging|save|ckpt|checkpoint|checkpoints|work)_?"
    r"(dir|directory|path|folder|name|id)|timestamp|date|datetime|resume|resume_from\w*|uuid|"
    r"hostname|pid)$|^(out|output|logdir|outdir|rundir|name)$"
)
"""Settings that name one run, or say where it is kept: repeats differ in them."""
_DIGEST_BYTES = 12


def seed_of(run: Run) -> str:
    """The seeds that were recorded, as one text; empty when none was."""
    found = {key: value for key, value in _settings(run).items() if _is_seed(key)}
    torch = run.environment.get("torch")
    if isinstance(torch, Mapping) and torch.get("initial_seed") is not None:
        found["torch.initial_seed"] = jsonable(torch["initial_seed"])
    known = {key: value for key, value in found.items() if value is not None}
    return json.dumps(known, sort_keys=True) if known else ""


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
    settings: object = _of_every_repeat(_settings(run)) or _command(run.environment.get("argv"))
    if not settings:
        return ""
    text = json.dumps(jsonable([settings, run.world_size, model]), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()


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


def same_recording(a: Run, b: Run) -> bool:
    """Whether two runs are one recording, wherever its files are: time itself tells."""
    if a.ranks != b.ranks or not a.ranks:
        return False
    for mine, other in zip(a.timelines, b.timelines, strict=True):
        starts = [[t.start_epoch_ns for t in timeline.attempts] for timeline in (mine, other)]
        equal = starts[0] == starts[1] and np.array_equal(mine.step, other.step)
        if not equal or not np.array_equal(mine.wall_ns, other.wall_ns):
            return False
    return True


def _settings(run: Run) -> dict[str, Any]:
    return dict(flat(jsonable(run.config), "config"))


def _of_every_repeat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without those that repeats differ in."""
    return {k: v for k, v in settings.items() if not (_is_seed(k) or is_place(k))}


def _command(argv: Any) -> list[Any]:
    """The command line, likewise."""
    if not isinstance(argv, list | tuple) or not argv:
        return []
    script, *words = (str(word) for word in argv)
    options, rest = options_of(words)
    return [PurePath(script).name, _of_every_repeat(options), rest]


def _is_seed(key: str) -> bool:
    return _SEED.search(_plain(key)) is not None


def is_place(key: str) -> bool:
    """Whether a setting or an option is called by what it keeps a run in, or by its name."""
    return _OF_ONE_RUN.search(_plain(key)) is not None


def _plain(key: str) -> str:
    return last_part(key).lower().replace("-", "_")
