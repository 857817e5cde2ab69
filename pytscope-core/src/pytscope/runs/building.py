"""`make_run`: a run out of plain Python values, for the tests of rules and analyzers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from pytscope.model.records import Flag, Segment
from pytscope.runs.attempt import Attempt
from pytscope.runs.made_steps import Duration, MadeSteps, Phases, nanoseconds, unit_ns
from pytscope.runs.run import ColumnStore, Ints, ReadNote, Run, Timeline
from pytscope.runs.warmup import with_warmup

Values = Mapping[str, float | int | Sequence[float | int | None]]
"""Values by name: one for all steps, or one a step with None where there is none."""

STEPS = 100
EPOCH_NS = 1_700_000_000_000_000_000


def make_run(
    phases: Phases,
    *,
    steps: int | None = None,
    unit: str = "ms",
    scalars: Values | None = None,
    memory: Values | None = None,
    ranks: int | Mapping[int, Phases] | None = None,
    world_size: int | None = None,
    attempts: Sequence[tuple[int, int]] | None = None,
    startup: Iterable[tuple[str, Duration]] = (),
    shutdown: Iterable[tuple[str, Duration]] = (),
    warmup: int | None = 0,
    name: str = "test",
    finished: bool = True,
    config: Mapping[str, Any] | None = None,
    flops_per_step: float | None = None,
    peak_flops: float | None = None,
    first_step: int = 0,
    micro_batches: int = 1,
    flags: Mapping[Flag, Iterable[int]] | None = None,
    noise: float = 0.0,
    seed: int = 0,
    last_attempt: Mapping[str, Any] | None = None,
    environment: Mapping[str, Any] | None = None,
    notes: Iterable[ReadNote] = (),
) -> Run:
    """Build a run in memory.

    Durations become exact integer nanoseconds, so `step wall = Σ phases` and
    `run wall = startup + Σ steps + lost + shutdown` hold as in a recorded run::

        run = make_run({"data": 40, "forward": 20, "backward": [30] * 99 + [300]})

    Args:
        phases: Durations by phase, each one value for all steps or one a step;
            or a list of steps, each a list of `(phase, duration)` segments.
        steps: Number of steps; by default what the sequences say, else 100.
        unit: Unit of all durations: `ns`, `us`, `ms` or `s`.
        scalars: Logged values by name, as `phases`; None in a sequence where
            a step has none.
        memory: Sampled memory by name, bytes, as `scalars`.
        ranks: A number of equal ranks, or by rank what differs: a mapping of
            phases replaces those of the same name, a list of steps all of them.
        world_size: Ranks expected; by default the highest rank plus 1.
        attempts: `(first step, number of steps)` of every attempt, in order;
            by default one that has them all. Steps done again are flagged.
        startup: Segments before the first step, of every attempt.
        shutdown: Segments after the last step, of every attempt.
        warmup: Warm-up steps recorded with every attempt; None for automatic.
        name: Name of the run.
        finished: Whether the last attempt wrote its end.
        config: The user's configuration.
        flops_per_step: FLOPs of one step on one rank.
        peak_flops: Peak FLOP/s of one rank's device.
        first_step: Number of the first step, without `attempts`.
        micro_batches: Micro-batches of every step.
        flags: Rows (from 0) that carry a flag, on every rank.
        noise: Relative standard deviation of a factor, of mean about 1, that
            every duration is multiplied with.
        seed: Seed of the noise; every rank draws its own.
        last_attempt: More fields of the last `Attempt`, such as `lost_ns`,
            `open_state` or `events`.
        environment: Provenance.
        notes: What reading is to have met.

    Raises:
        ValueError: Lengths, the unit or the attempts contradict each other.
    """
    per_rank = _per_rank(phases, ranks)
    count = _count(per_rank.values(), (scalars, memory), steps, attempts)
    spans = list(attempts) if attempts is not None else [(first_step, count)]
    if sum(n for _, n in spans) != count:
        msg = f"attempts of {sum(n for _, n in spans)} steps in all, but there are {count} steps"
        raise ValueError(msg)
    scale = unit_ns(unit)
    starts = tuple((phase, nanoseconds(value, scale)) for phase, value in startup)
    ends = tuple((phase, nanoseconds(value, scale)) for phase, value in shutdown)
    timelines = []
    for rank, own in per_rank.items():
        made_steps = MadeSteps.of(own, count, scale)
        if noise:
            made_steps = made_steps.noisy(noise, np.random.default_rng((seed, rank)))
        columns = {"scalar": _sparse(scalars, count), "memory": _sparse(memory, count)}
        made = _attempts(spans, made_steps.wall_ns(), starts, ends, warmup)
        made[-1] = attrs.evolve(made[-1], finished=finished, **(last_attempt or {}))
        bits = _flags(spans, flags or {})
        timelines.append(_timeline(rank, made_steps, columns, made, spans, bits, micro_batches))
    run = Run(
        path="",
        name=name,
        timelines=tuple(timelines),
        world_size=max(per_rank) + 1 if world_size is None else world_size,
        config=dict(config or {}),
        environment=dict(environment or {}),
        flops_per_step=flops_per_step,
        peak_flops=peak_flops,
        notes=tuple(notes),
    )
    return with_warmup(run, None)


def _per_rank(phases: Phases, ranks: int | Mapping[int, Phases] | None) -> dict[int, Phases]:
    if ranks is None or isinstance(ranks, int):
        return dict.fromkeys(range(ranks or 1), phases)
    merged: dict[int, Phases] = {}
    for rank, own in sorted(ranks.items()):
        if isinstance(own, Mapping) and isinstance(phases, Mapping):
            merged[rank] = {**phases, **own}
        else:
            merged[rank] = own or phases
    return merged


def _count(
    phases: Iterable[Phases],
    values: Iterable[Values | None],
    steps: int | None,
    attempts: Sequence[tuple[int, int]] | None,
) -> int:
    lengths = {steps} if steps is not None else set()
    for own in phases:
        columns = own.values() if isinstance(own, Mapping) else [own]
        lengths |= {len(c) for c in columns if not isinstance(c, int | float)}
    for given in values:
        lengths |= {len(c) for c in (given or {}).values() if not isinstance(c, int | float)}
    if len(lengths) > 1:
        msg = f"sequences of different lengths: {', '.join(map(str, sorted(lengths)))}"
        raise ValueError(msg)
    return lengths.pop() if lengths else sum(n for _, n in attempts or [(0, STEPS)])


def _sparse(values: Values | None, steps: int) -> dict[str, tuple[Ints, npt.NDArray[Any]]]:
    columns = {}
    for name, given in (values or {}).items():
        dense = [given] * steps if isinstance(given, int | float) else given
        rows = [row for row, value in enumerate(dense) if value is not None]
        present = [value for value in dense if value is not None]
        kind = np.int64 if all(isinstance(v, int) for v in present) else np.float64
        columns[name] = (np.array(rows, np.int64), np.array(present, kind))
    return columns


def _attempts(
    spans: Sequence[tuple[int, int]],
    wall_ns: Ints,
    startup: tuple[Segment, ...],
    shutdown: tuple[Segment, ...],
    warmup: int | None,
) -> list[Attempt]:
    made, at, epoch = [], 0, EPOCH_NS
    for number, (first, count) in enumerate(spans):
        made.append(
            Attempt(number, first, epoch, startup=startup, shutdown=shutdown, warmup=warmup)
        )
        epoch += int(wall_ns[at : at + count].sum()) + sum(ns for _, ns in (*startup, *shutdown))
        at += count
    return made


def _flags(spans: Sequence[tuple[int, int]], given: Mapping[Flag, Iterable[int]]) -> Ints:
    step = _steps(spans)
    bits = np.zeros(len(step), np.int64)
    for flag, rows in given.items():
        bits[list(rows)] |= int(flag)
    at = 0
    for first, count in spans:
        bits[:at][step[:at] >= first] |= int(Flag.REDONE)
        at += count
    return bits


def _steps(spans: Sequence[tuple[int, int]]) -> Ints:
    return np.concatenate([np.arange(first, first + count) for first, count in spans])


def _timeline(
    rank: int,
    made_steps: MadeSteps,
    columns: Mapping[str, Mapping[str, tuple[Ints, npt.NDArray[Any]]]],
    attempts: Sequence[Attempt],
    spans: Sequence[tuple[int, int]],
    flags: Ints,
    micro_batches: int,
) -> Timeline:
    names = {kind: tuple(known) for kind, known in columns.items()}
    names["phase"] = tuple(dict.fromkeys(made_steps.names))

    def load(kind: str, name: str) -> tuple[Ints, npt.NDArray[Any]]:
        return made_steps.phase(name) if kind == "phase" else columns[kind][name]

    wall = made_steps.wall_ns()
    counts = [count for _, count in spans]
    startup = sum(ns for _, ns in attempts[0].startup)
    before = np.cumsum(wall) - wall
    firsts = np.cumsum(counts) - counts
    bases = np.repeat([before[f] if f < len(wall) else 0 for f in firsts], counts)
    return Timeline(
        rank,
        tuple(attempts),
        step=_steps(spans),
        attempt=np.repeat(np.arange(len(spans)), counts),
        start_ns=startup + before - bases,
        wall_ns=wall,
        flags=flags,
        micro_batches=np.full(len(wall), micro_batches, np.int64),
        columns=ColumnStore(names, load, made_steps.segments),
    )
