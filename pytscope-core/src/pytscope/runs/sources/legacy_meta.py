"""`run.json` of a 0.2.x run: written once, by `finish()`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from pytscope.runs.sources.legacy_columns import nanoseconds, printable
from pytscope.runs.sources.legacy_record import MOST_STEP
from pytscope.runs.sources.legacy_steps import MOST_S, Span

NAME = "run.json"
LARGEST = 64 << 20
"""Bytes of a `run.json` that are read; beyond, it is no such file."""


@attrs.frozen(kw_only=True)
class Meta:
    """What `run.json` says.

    Attributes:
        name: The run's name, or None.
        config: The user's configuration.
        environment: Provenance.
        rank: Rank of the process, or None.
        world: Ranks of the job, or None.
        started: Time of day of the start, seconds, or None.
        wall_ns: Measured time from `start()` to `finish()`, or None.
        steps: Steps completed, those of the warm-up included, or None.
        finished: Whether it was written to its end.
        faults: What could not be used of it, as sentences.
    """

    name: str | None = None
    config: Mapping[str, Any] = attrs.field(factory=dict)
    environment: Mapping[str, Any] = attrs.field(factory=dict)
    rank: int | None = None
    world: int | None = None
    started: float | None = None
    wall_ns: int | None = None
    steps: int | None = None
    finished: bool = False
    faults: tuple[str, ...] = ()


def read_meta(folder: Path) -> Meta:
    """Read a folder's `run.json`, as far as it can be used."""
    path = folder / NAME
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except FileNotFoundError:
        return Meta(faults=("is not there: the recording did not reach finish()",))
    except OSError as error:
        return Meta(faults=(f"cannot be read: {error.strerror or error}",))
    if len(raw) > LARGEST:
        return Meta(finished=True, faults=("is far too large; it is passed over",))
    try:
        given = json.loads(raw.decode())
    except UnicodeDecodeError:
        return Meta(finished=True, faults=("is not UTF-8; it is passed over",))
    except (ValueError, RecursionError):
        return Meta(faults=("is cut short or damaged; it is passed over",))
    if not isinstance(given, dict):
        return Meta(finished=True, faults=("is no JSON object; it is passed over",))
    return _meta(given)


def _meta(given: Mapping[str, Any]) -> Meta:
    faults: list[str] = []

    def mapping(key: str) -> Mapping[str, Any]:
        value = given.get(key, {})
        if isinstance(value, Mapping):
            return value
        faults.append(f"has a {key} that is no object")
        return {}

    def whole(key: str, least: int) -> int | None:
        value = given.get(key)
        if value is None or (type(value) is int and least <= value < MOST_STEP):
            return value
        faults.append(f"has a {key} that is no whole number from {least}")
        return None

    def seconds(key: str) -> float | None:
        value = given.get(key)
        if value is None:
            return None
        if type(value) in (int, float) and 0 <= value <= MOST_S and math.isfinite(value):
            return float(value)
        faults.append(f"has a {key} that is no time in seconds")
        return None

    name, wall = given.get("name"), seconds("wall_time")
    return Meta(
        name=printable(name) if isinstance(name, str) else None,
        config=mapping("config"),
        environment=mapping("environment"),
        rank=whole("rank", 0),
        world=whole("world_size", 1),
        started=seconds("started"),
        wall_ns=None if wall is None else nanoseconds(wall),
        steps=whole("n_steps", 0),
        finished=True,
        faults=tuple(faults),
    )


def owner(meta: Meta, spans: Sequence[Span]) -> int | None:
    """The attempt that wrote `run.json`, or None when that cannot be told.

    Every `finish()` writes it anew, so it is of the last attempt unless that
    one was killed. Times of day decide by their order alone; without them the
    number of steps does.

    Args:
        meta: What it says.
        spans: The attempts in the step file, in order.
    """
    if not meta.finished or not spans:
        return None
    exact = [i for i, span in enumerate(spans) if meta.steps == span.reached + 1]
    found = len(spans) - 1
    if meta.started is not None and all(span.first_stamp is not None for span in spans):
        later = [i for i, span in enumerate(spans) if (span.first_stamp or 0.0) >= meta.started]
        found = later[0] if later else -1
    elif len(spans) > 1 and meta.steps is not None:
        found = exact[-1] if exact else -1
    if found < 0 or (meta.steps is not None and meta.steps <= spans[found].reached):
        return None
    return found
