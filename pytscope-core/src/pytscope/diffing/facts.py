"""What a run records of itself, as facts by dotted name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from pytscope.diffing.words import options_of
from pytscope.model.jsonable import jsonable
from pytscope.runs.attempt import Attempt
from pytscope.runs.run import Run, Timeline

DEEPEST = 12
MOST = 50_000
"""Facts of one run that are looked at."""
SECTIONS = ("config", "packages", "git", "torch", "env")
"""Parts that a run has as a whole or not at all: without one it is unknown, not different."""
LEFT_OUT = frozenset(("pid", "cwd", "start", "started", "timestamp", "run_dir"))
_CUT = re.compile(r".{1000}…|…|… \d+ more", re.DOTALL)
"""Texts and the last items of lists of which more was there."""
RATE_NOW = re.compile(r"torch\.optimizers?(\[\d+\])?\.groups\[\d+\]\.lr")
"""Where the rate of an optimizer's group was at a start: a schedule has moved it since."""
INITIAL_WEIGHTS = "torch.initial_weights.hash"
"""The fact that tells whether training began from the same weights."""
EVENTS = ("model", "topology")
"""Events that tell what was trained, and a rank's place."""
AT_START = (
    "seeds.",
    "torch.initial_random_states.",
    "torch.initial_weights.",
    "torch.optimizer.state_at_start",
    "torch.optimizer.steps_after_first",
    "torch.random_states.",
    "torch.weights.",
)
"""Facts of the moment at which a run starts: of no use between runs that start elsewhere."""


def facts(run: Run) -> dict[str, Any]:
    """Everything recorded of a run that is not measured, by dotted name.

    The configuration is under `config`, options of the command line under
    `argv`; provenance has the names it is recorded by. Facts of the moment of
    the start are those of the first analysed attempt, others those of the last.

    Args:
        run: The run.

    Returns:
        Plain values: numbers, texts, booleans, None, and lists of them.
    """
    found: dict[str, Any] = {}
    timeline = run.timelines[0] if run.timelines else None
    found.update(flat(jsonable(run.config), "config"))
    environment = jsonable(run.environment)
    found.update(environment_facts(environment if isinstance(environment, dict) else {}, run))
    if timeline is not None and len(timeline.attempts) > 1:
        found.update(_of_start(timeline.attempts[0], run))
    found["world_size"] = run.world_size
    found["flops_per_step"] = run.flops_per_step
    if timeline is not None:
        found.update(_of_events(timeline))
    return {name: value for name, value in found.items() if value is not None or "." in name}


def environment_facts(environment: Mapping[str, Any], run: Run) -> dict[str, Any]:
    """The facts of one start's provenance.

    Args:
        environment: Plain values, as recorded.
        run: The run it is of.
    """
    found: dict[str, Any] = {}
    for name, value in environment.items():
        if name in LEFT_OUT:
            continue
        if name == "argv" and isinstance(value, list):
            found.update(_command(value, run))
        elif name == "torch" and isinstance(value, dict):
            found.update(flat(_torch(value), "torch"))
        elif name == "git" and isinstance(value, dict):
            found.update(flat(_git(value), "git"))
        else:
            found.update(flat(value, name))
        if len(found) > MOST:
            break
    return found


def attempt_facts(attempt: Attempt, run: Run) -> dict[str, Any]:
    """The facts of one attempt: its configuration and its provenance."""
    config = dict(flat(jsonable(attempt.config), "config"))
    environment = jsonable(attempt.environment)
    return config | environment_facts(environment if isinstance(environment, dict) else {}, run)


def cut_short(run_facts: Mapping[str, Any]) -> Iterator[str]:
    """Names of facts that are not whole, for the recorder writes no more than so much.

    Args:
        run_facts: Facts of a run.
    """
    for name, value in run_facts.items():
        last = value[-1] if isinstance(value, list) and value else value
        if name.endswith(".…"):
            yield name.removesuffix(".…")
        elif isinstance(last, str) and _CUT.fullmatch(last):
            yield name


def sections(run_facts: Mapping[str, Any]) -> frozenset[str]:
    """The parts of provenance that a run has."""
    tops = {name.partition(".")[0].partition("[")[0] for name in run_facts if "." in name}
    return frozenset(tops & set(SECTIONS))


def flat(value: Any, name: str, depth: int = DEEPEST) -> Iterator[tuple[str, Any]]:
    """A nested plain value as dotted names and values; lists of plain values stay whole.

    Args:
        value: The value.
        name: Its name.
        depth: Levels to go down; what is deeper is one value.
    """
    if isinstance(value, Mapping) and depth and (value or depth != DEEPEST):
        if not value:
            yield name, {}
        for key, below in value.items():
            yield from flat(below, f"{name}.{key}", depth - 1)
    elif isinstance(value, list) and depth and any(isinstance(v, dict | list) for v in value):
        for place, below in enumerate(value):
            yield from flat(below, f"{name}[{place}]", depth - 1)
    elif not (isinstance(value, Mapping) and not value):
        yield name, value


def same(first: Any, second: Any) -> bool:
    """Whether two plain values are equal; NaN is itself, 1 is 1.0."""
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float) and isinstance(second, float) and first != first:  # noqa: PLR0124  # NaN
        return second != second  # noqa: PLR0124  # as above
    return bool(first == second)


def _of_start(attempt: Attempt, run: Run) -> dict[str, Any]:
    return {name: value for name, value in attempt_facts(attempt, run).items() if at_start(name)}


def at_start(name: str) -> bool:
    """Whether a fact is of the moment at which a run starts."""
    return name.startswith(AT_START) or RATE_NOW.fullmatch(name) is not None


def _of_events(timeline: Timeline) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for attempt in timeline.attempts:
        for event in attempt.events:
            kind = event.get("kind")
            if kind in EVENTS and isinstance(kind, str):
                told = {k: v for k, v in jsonable(dict(event)).items() if k not in ("kind", "t")}
                found.update(flat(told, kind))
    counts = timeline.micro_batches
    if len(counts) and counts.min() == counts.max():
        found["micro_batches"] = int(counts[0])
    return found


def _command(argv: Sequence[Any], run: Run) -> Iterator[tuple[str, Any]]:
    folder = PurePath(run.path).name
    words = [str(word) for word in argv]
    options, rest = options_of(words[1:])
    if words:
        yield "argv.script", PurePath(words[0]).name
    for name, value in options.items():
        yield f"argv.{name}", value
    plain = [word for word in rest if not (folder and folder in PurePath(word).parts)]
    if plain:
        yield "argv.words", plain


def _git(told: Mapping[str, Any]) -> dict[str, Any]:
    """The code's version without what git could not tell, for which there is a reason then."""
    untold = told.get("reason") is not None
    return {name: value for name, value in told.items() if value is not None or not untold}


def _torch(told: Mapping[str, Any]) -> dict[str, Any]:
    """The event `torch` with one fact for each thing that can differ."""
    found = dict(told)
    autocast = found.get("autocast")
    if isinstance(autocast, dict):
        on = [f"{kind} {dtype}" for kind, dtype in sorted(autocast.items())]
        found["autocast"] = ", ".join(on) or "off"
    if isinstance(found.get("devices"), list):
        found["devices"] = _devices(found["devices"])
    if "parallelism" in found and found["parallelism"] is None:
        found["parallelism"] = {"world": 1}
    for name in ("weights", "initial_weights"):
        hashed = found.get(name)
        if isinstance(hashed, dict):
            found[name] = {"hash": hashed.get("hash")}
    model = found.get("model")
    if isinstance(model, dict) and isinstance(model.get("dtypes"), dict):
        found["model"] = {**model, "dtypes": ", ".join(sorted(model["dtypes"]))}
    for name in tuple(found):
        states = found[name]
        if name in ("random_states", "initial_random_states") and isinstance(states, dict):
            found[name] = {k: v for k, v in states.items() if not k.startswith("after")}
    return found


def _devices(rows: Sequence[Any]) -> str:
    names = [
        f"{row.get('name')} (capability {row.get('capability')})"
        for row in rows
        if isinstance(row, dict)
    ]
    counts = {name: names.count(name) for name in names}
    return ", ".join(f"{n} x {name}" for name, n in counts.items()) or "none"
