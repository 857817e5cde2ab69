"""Made runs that part in a way of their choosing."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import attrs

from pytscope.diffing.divergence import divergence
from pytscope.model.comparison import Cause, Divergence
from pytscope.runs.run import Run
from pytscope.testing import make_run

STEPS = 24
LOSS = [1.0 / (1 + i) for i in range(STEPS)]
BATCHES = [1000 + 7 * i for i in range(STEPS)]
TORCH: dict[str, Any] = {
    "version": "2.13.0",
    "devices": [],
    "threads": 1,
    "determinism": {"algorithms": False, "cudnn_benchmark": False},
    "precision": {"matmul": "highest", "tf32_cudnn": True},
    "initial_seed": 1,
    "autocast": {},
    "model": {"parameters": 18, "dtypes": {"float32": 18}},
    "loaders": [{"batch_size": 8, "sampler": "RandomSampler", "generator_seed": 0}],
    "initial_random_states": {"python": "p0", "numpy": "n0", "torch": "t0"},
    "random_states": {"python": "p0", "numpy": "n0", "torch": "t1", "after_step": 1},
    "initial_weights": {"hash": "w0", "elements_each": 16, "parameters": 2, "after_step": 0},
    "optimizer": {"class": "Adam", "groups": [{"lr": 0.01, "weight_decay": 0.0}]},
}
ENVIRONMENT: dict[str, Any] = {
    "python": "3.11.7",
    "pid": 1,
    "cwd": "/a",
    "host": "one",
    "argv": ["train.py"],
    "git": {"sha": "abc", "branch": "main", "dirty": False, "diff_sha256": None},
    "packages": {"numpy": "2.0", "pytest": "8.0"},
    "env": {},
    "torch": TORCH,
}


def environment(**torch: Any) -> dict[str, Any]:
    """A full provenance with other facts of PyTorch."""
    found = copy.deepcopy(ENVIRONMENT)
    found["torch"] |= torch
    return found


def made(
    loss: Sequence[float | None] | None = LOSS,
    batches: Sequence[int] | None = BATCHES,
    rate: float | Sequence[float] | None = 0.01,
    provenance: dict[str, Any] | None = None,
    **more: Any,
) -> Run:
    """A run of 24 steps that records all there is to record."""
    own = (("loss", loss), ("batch_fingerprint", batches), ("lr", rate))
    scalars = more.pop("scalars", {}) | {name: v for name, v in own if v is not None}
    found = copy.deepcopy(ENVIRONMENT) if provenance is None else provenance
    return make_run({"forward": 1}, scalars=scalars, environment=found, **more)


def changed(values: Sequence[Any], start: int, by: float = 0.1) -> list[Any]:
    """The values with others from a place on."""
    whole = all(isinstance(v, int) for v in values)
    return [v if i < start else v + (1 if whole else v * by) for i, v in enumerate(values)]


def resumed(run: Run, **facts: Any) -> Run:
    """The run with facts of PyTorch in its last attempt."""
    timelines = []
    for timeline in run.timelines:
        *before, last = timeline.attempts
        trained = {"initial_weights": {"hash": "w12"}}
        told = attrs.evolve(last, environment=environment(**trained | facts))
        before = [attrs.evolve(one, environment=environment()) for one in before]
        timelines.append(timeline.select(timeline.step >= 0, (*before, told)))
    return attrs.evolve(run, timelines=tuple(timelines))


def found(a: Run, b: Run) -> Divergence:
    """The divergence of two runs."""
    return divergence(a, b)


def only(a: Run, b: Run) -> Cause:
    """The one cause of two runs' parting."""
    (cause,) = divergence(a, b).causes
    return cause
