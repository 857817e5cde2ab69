"""What a recorder adds to a real training step, its caches cold.

Steps of a small model on one CPU thread take turns, in random order, between
no recorder, the clock readings alone, and the recorders.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

STEPS_A_ROUND = 40


class Nothing:
    """No recorder: what the others are compared with."""

    def begin_step(self) -> None:
        """Do nothing, as the rest."""

    def mark(self, name: str) -> None:
        """Do nothing."""

    def log(self, loss: float, grad_norm: float, lr: float) -> None:
        """Do nothing."""

    def end_step(self) -> None:
        """Do nothing."""


class Clock(Nothing):
    """Reads the clock where a recorder would stamp, and keeps nothing."""

    def begin_step(self) -> None:
        """Read the clock."""
        perf_counter_ns()

    def mark(self, name: str) -> None:  # noqa: ARG002  # a recorder's method
        """Read the clock."""
        perf_counter_ns()

    def end_step(self) -> None:
        """Read the clock."""
        perf_counter_ns()


def training() -> Callable[[Any], None]:
    """One step of a two-layer model that takes about 250 µs on one thread."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs, labels = torch.randn(64, 64), torch.randint(0, 10, (64,))
    criterion = nn.CrossEntropyLoss()

    def step(prof: Any) -> None:
        prof.begin_step()
        loss = criterion(model(inputs), labels)
        prof.mark("forward")
        loss.backward()
        prof.mark("backward")
        optimizer.step()
        prof.mark("optimizer")
        optimizer.zero_grad()
        prof.mark("zero_grad")
        prof.log(loss=0.5, grad_norm=0.25, lr=0.001)
        prof.end_step()

    return step


def measured(recorders: dict[str, Any], rounds: int) -> dict[str, list[float]]:
    """Microseconds of a step with each recorder: the median of every round."""
    step, rng = training(), random.Random(0)
    turns = [name for name in recorders for _ in range(STEPS_A_ROUND)]
    found: dict[str, list[float]] = {name: [] for name in recorders}
    for prof in recorders.values():
        for _ in range(200):
            step(prof)
    for _ in range(rounds):
        rng.shuffle(turns)
        took: dict[str, list[int]] = {name: [] for name in recorders}
        for name in turns:
            prof = recorders[name]
            began = perf_counter_ns()
            step(prof)
            took[name].append(perf_counter_ns() - began)
        for name, times in took.items():
            found[name].append(statistics.median(times) / 1e3)
    return found
