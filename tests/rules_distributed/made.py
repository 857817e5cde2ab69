"""Runs of several ranks in memory, as a recording of synchronous training would be.

Every step a rank works for its own time, then waits in one collective for the slowest of
those that it meets there, and all go on after a transfer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pytscope.analysis.options import AnalyzeOptions
from pytscope.analysis.orchestrator import analyze
from pytscope.model.findings import Finding
from pytscope.model.report import Report
from pytscope.plugins.isolation import Guard, Origin
from pytscope.plugins.loading import collect, load_builtins
from pytscope.plugins.registry import Registry, build_registry
from pytscope.runs.attempt import Attempt
from pytscope.runs.columns import join_segments
from pytscope.runs.run import ColumnStore, Run, Timeline
from pytscope.runs.warmup import with_warmup

MS = 1_000_000
EPOCH_NS = 1_700_000_000_000_000_000
PARTS = {"data": 0.1, "forward": 0.3, "backward": 0.5, "optimizer": 0.1}
"""How a rank's own time is divided, unless a test says otherwise."""
TAIL = ("other", "optimizer")
"""What comes after the step's last collective."""
Matrix = npt.NDArray[np.float64]


def noise(
    ranks: int, steps: int, *, sd: float, rho: float = 0.0, seed: Any = 0, common: float = 0.05
) -> Matrix:
    """Factors of own time, a row a rank: AR(1) of the logarithm, and what all ranks share."""
    rng = np.random.default_rng(seed)
    shocks = rng.normal(size=(ranks, steps)) * sd * np.sqrt(1 - rho**2)
    level = rng.normal(size=ranks) * sd
    logs = np.empty((ranks, steps))
    for step in range(steps):
        level = rho * level + shocks[:, step]
        logs[:, step] = level
    return np.exp(logs + rng.normal(size=steps) * common)


def ns(values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    return np.rint(np.asarray(values, np.float64) * MS).astype(np.int64)


def ranks_run(
    own_ms: Matrix,
    *,
    transfer_ms: float | Sequence[float] = 1.0,
    parts: Mapping[int, Mapping[str, Matrix | float]] | None = None,
    inside: str = "backward",
    meet_in_forward: bool = False,
    columns: bool = True,
    places: Sequence[Mapping[str, Any]] | None = None,
    tokens: Matrix | None = None,
    extras: Mapping[str, Matrix] | None = None,
    groups: Sequence[Sequence[int]] | None = None,
    attempts: Sequence[tuple[int, int]] | None = None,
    skew_ns: Sequence[int] | None = None,
    world_size: int | None = None,
    warmup: int = 0,
) -> Run:
    """A run out of own times.

    Args:
        own_ms: Own time of every rank in every step, milliseconds.
        transfer_ms: What the collective takes when all are there.
        parts: More time by rank and phase, milliseconds; it adds to the own time.
        inside: Phase in which the waiting hides; `comm` records it as a phase of that name.
        meet_in_forward: Whether ranks meet at the begin of forward as well, as DDP's do
            to share buffers.
        columns: Whether stamps are recorded as columns; else the waiting has a phase or none.
        places: Topology of every rank, without `kind`.
        tokens: Tokens of every rank in every step.
        extras: More columns by name, milliseconds.
        groups: Ranks that wait for each other; all by default.
        attempts: `(first step, number of steps)` of every attempt.
        skew_ns: How far each rank's time of day is ahead.
        world_size: Ranks of the job.
        warmup: Warm-up steps.
    """
    ranks, steps = own_ms.shape
    own = {p: [ns(own_ms[r] * share) for r in range(ranks)] for p, share in PARTS.items()}
    for rank, more in (parts or {}).items():
        for phase, ms in more.items():
            known = own.setdefault(phase, [np.zeros(steps, np.int64) for _ in range(ranks)])
            known[rank] = known[rank] + ns(np.broadcast_to(ms, steps))
    first = [p for p in own if p not in ("forward", "backward", *TAIL)]
    tail = _total(own, [p for p in own if p in TAIL], ranks, steps)
    early = _total(own, first, ranks, steps)
    early[:, 1:] += tail[:, :-1]
    late = _total(own, ["forward", "backward"], ranks, steps)
    met = _latest(early, groups) - early if meet_in_forward else np.zeros_like(early)
    arrive = late if meet_in_forward else early + late
    last = _latest(arrive, groups) - arrive + ns(np.broadcast_to(transfer_ms, steps))
    total = _total(own, first, ranks, steps) + late + met
    firsts = attempts or [(0, steps)]
    timelines = []
    for rank in range(ranks):
        comm = [inside] if inside not in (*first, "forward", "backward", *TAIL) else []
        names = [*first, "forward", "backward", *comm, *(p for p in TAIL if p in own)]
        phase = {p: own[p][rank] for p in names if p in own}
        phase[inside] = phase.get(inside, 0) + last[rank]
        phase["forward"] = phase["forward"] + met[rank]
        extra: dict[str, Any] = {name: ns(ms[rank]) for name, ms in (extras or {}).items()}
        if columns:
            extra["dist.ready_ns"] = total[rank]
            extra["dist.release_ns"] = total[rank] + last[rank]
            extra["dist.blocked_ns"] = met[rank]
            if inside != "comm":
                extra[f"dist.in.{inside}_ns"] = last[rank]
            if meet_in_forward:
                extra["dist.in.forward_ns"] = met[rank]
        said = [{"kind": "topology", **places[rank]}] if places else []
        counts = None if tokens is None else np.rint(tokens[rank]).astype(np.int64)
        ahead = skew_ns[rank] if skew_ns else 0
        timelines.append(timeline(rank, names, phase, extra, counts, firsts, said, ahead, warmup))
    made = Run(
        path="",
        name="made",
        timelines=tuple(timelines),
        world_size=ranks if world_size is None else world_size,
    )
    return with_warmup(made, None)


def _total(own: Mapping[str, Any], phases: Sequence[str], ranks: int, steps: int) -> Any:
    total = np.zeros((ranks, steps), np.int64)
    for phase in phases:
        total += np.stack(own[phase])
    return total


def _latest(arrive: Any, groups: Sequence[Sequence[int]] | None) -> Any:
    latest = np.empty_like(arrive)
    for members in groups or [range(len(arrive))]:
        latest[list(members)] = arrive[list(members)].max(axis=0)
    return latest


def timeline(
    rank: int,
    names: Sequence[str],
    phase: Mapping[str, Any],
    extra: Mapping[str, Any],
    tokens: Any,
    attempts: Sequence[tuple[int, int]],
    events: Sequence[Mapping[str, Any]],
    ahead_ns: int,
    warmup: int,
) -> Timeline:
    """One rank's timeline, its phases in the order of `names`."""
    wall = np.sum([phase[p] for p in names], axis=0)
    known: dict[str, Mapping[str, Any]] = {"phase": phase, "extra": extra}
    known["scalar"] = {} if tokens is None else {"tokens": tokens}
    rows = np.arange(len(wall))
    counts = [n for _, n in attempts]
    start = np.cumsum(wall) - wall
    ends = np.cumsum(counts)
    bases = np.repeat(start[ends - counts], counts)
    epochs = EPOCH_NS + ahead_ns + start[ends - counts]
    return Timeline(
        rank,
        tuple(
            Attempt(i, first, int(epochs[i]), warmup=warmup, events=tuple(events))
            for i, (first, _) in enumerate(attempts)
        ),
        step=np.concatenate([first + np.arange(n) for first, n in attempts]),
        attempt=np.repeat(np.arange(len(counts)), counts),
        start_ns=start - bases,
        wall_ns=wall,
        flags=np.zeros(len(wall), np.int64),
        micro_batches=np.ones(len(wall), np.int64),
        columns=ColumnStore(
            {kind: tuple(columns) for kind, columns in known.items()},
            lambda kind, name: (rows, np.asarray(known[kind][name])),
            lambda row: join_segments((p, int(phase[p][row])) for p in names),
        ),
    )


def registry() -> Registry:
    """Core's analyzers and rules, and those of the pack, through its hooks."""
    import pytscope_rules_distributed as pack

    guard = Guard(reraise=True)
    origin = Origin("distributed", "pytscope-rules-distributed", "0.3.0")
    return build_registry([load_builtins(guard), collect(origin, pack, guard)], guard=guard)


def analysed(run: Run, **options: Any) -> Report:
    return analyze(run, registry(), AnalyzeOptions(raise_errors=True, **options))


def said(report: Report, rule: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.rule == rule]


def outcome(report: Report, rule: str) -> tuple[str, str]:
    check = next(check for check in report.checks if check.rule == rule)
    return check.outcome.value, check.reason
