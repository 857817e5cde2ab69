"""What AutoProfiler's seams add: each alone, and all but each; their stamps are kept by nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter_ns
from typing import Any

import tiny
from rounds import Timed
from torch.optim import Optimizer
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from pytscope.recording.live import owned
from pytscope_torch.seams import Undo, put, together
from pytscope_torch.seams.backward import backward_passes
from pytscope_torch.seams.interruptions import collections
from pytscope_torch.seams.loaders import fetches
from pytscope_torch.seams.modules import Modules
from pytscope_torch.seams.optimizers import Owner, Steps, tidying
from pytscope_torch.stamps import Stamps

STEPS = 50
WARM_UP = 20
Install = Callable[[Stamps, tiny.Training], Undo]


def _nothing(*_: Any) -> None:
    """Nobody is told."""


def _forward(stamps: Stamps, training: tiny.Training) -> Undo:
    modules = Modules(stamps, (training.model,), _nothing)
    modules.attach()
    return modules.undo


def _backward(stamps: Stamps, _training: tiny.Training) -> Undo:
    return backward_passes(stamps, _nothing)


def _optimizer(stamps: Stamps, training: tiny.Training) -> Undo:
    steps = Steps(stamps, Owner([training.optimizer], _nothing, lambda: stamps.steps))
    before = register_optimizer_step_pre_hook(steps.before)
    return together([before.remove, register_optimizer_step_post_hook(steps.after).remove])


def _zero_grad(stamps: Stamps, _training: tiny.Training) -> Undo:
    return put(Optimizer, "zero_grad", tidying(stamps, Optimizer.zero_grad))


def _fetches(stamps: Stamps, _training: tiny.Training) -> Undo:
    return fetches(stamps, _nothing, _nothing)


def _collections(stamps: Stamps, _training: tiny.Training) -> Undo:
    return collections(perf_counter_ns, stamps.here, _nothing)


SEAMS: dict[str, Install] = {
    "forward pass": _forward,
    "backward pass": _backward,
    "optimizer step, and the step's end": _optimizer,
    "`zero_grad`": _zero_grad,
    "fetch from a `DataLoader`": _fetches,
    "garbage collection": _collections,
}


def variants(training: tiny.Training) -> dict[str, Timed]:
    """A loop over a `DataLoader` under all seams, under each alone, and under all but each."""
    found = {"all": _made(training, SEAMS.values())}
    for name, install in SEAMS.items():
        found[f"only {name}"] = _made(training, [install])
        rest = [other for other in SEAMS.values() if other is not install]
        found[f"without {name}"] = _made(training, rest)
    return found


def _made(training: tiny.Training, installed: Iterable[Install]) -> Timed:
    loop, batches, seams = training.loop(), training.loader, tuple(installed)
    events: list[Any] = []

    def run() -> tuple[float, ...]:
        stamps = Stamps(
            events, perf_counter_ns, owned()._is_owned, foreign=_nothing, ended=_nothing
        )
        stamps.watched = False
        undo = together([install(stamps, training) for install in seams])
        try:
            loop(batches(WARM_UP))
            return (tiny.own_ns(loop, batches(STEPS)),)
        finally:
            undo()
            events.clear()

    return run
