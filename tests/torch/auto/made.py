"""Loops whose phases sleep, and what they really took by the script's own stamps."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pytscope

torch = pytest.importorskip("torch", reason="tests AutoProfiler")
pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")

from pytscope.auto import AutoProfiler  # noqa: E402  # needs what is skipped above

MS = 1_000_000
DATA, FORWARD, BACKWARD, OPTIMIZER, LOSS = 0.002, 0.003, 0.004, 0.002, 0.002


class Truth:
    """What each phase of each step took, by the script's own clock.

    Args:
        pace: Factor on every sleep; at 0 nothing sleeps.
    """

    def __init__(self, pace: float) -> None:
        self.pace = pace
        self.steps: list[dict[str, int]] = [{}]
        self._phase: str | None = None

    def sleep(self, phase: str, seconds: float) -> None:
        """Sleep as one phase, or as that of the block it is in."""
        with self.timed(self._phase or phase):
            if self.pace:
                time.sleep(seconds * self.pace)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Something that is one phase to its last nanosecond."""
        began = time.perf_counter_ns()
        try:
            yield
        finally:
            took = time.perf_counter_ns() - began
            self.steps[-1][phase] = self.steps[-1].get(phase, 0) + took

    @contextmanager
    def block(self, phase: str) -> Iterator[None]:
        """Something of one phase; what sleeps in it sleeps as that phase."""
        before, self._phase = self._phase, phase
        try:
            yield
        finally:
            self._phase = before

    def next_step(self) -> None:
        """The script has just made an optimizer step."""
        self.steps.append({})

    @contextmanager
    def failing(self, error: type[BaseException]) -> Iterator[None]:
        """A try of a step: whatever it took was `failed` when the error leaves it, and goes on."""
        before = dict(self.steps[-1])
        try:
            yield
        except error:
            step = self.steps[-1]
            lost = {name: ns - before.get(name, 0) for name, ns in step.items()}
            for name, ns in lost.items():
                step[name] -= ns
            step["failed"] = before.get("failed", 0) + sum(lost.values())
            raise


class SleepyBackward(torch.autograd.Function):
    """Takes its time in the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Any, truth: Truth, seconds: float) -> Any:
        ctx.truth, ctx.seconds = truth, seconds
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        ctx.truth.sleep("backward", ctx.seconds)
        return grad, None, None


class Net(torch.nn.Module):
    """A model that sleeps in both passes; without gradients it sleeps as what the pass then is."""

    def __init__(self, truth: Truth, inputs: int = 4) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(inputs, 1)
        self.dropout = torch.nn.Dropout(0.25)
        self.truth = truth
        self.as_phase: str | None = None
        self.failures: list[BaseException] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> Net:
        made = Net(self.truth, self.linear.in_features)
        made.load_state_dict(self.state_dict())
        return made

    def forward(self, x: Any) -> Any:
        phase = self.as_phase or "forward"
        if self.as_phase is None and not torch.is_grad_enabled():
            phase = "no_grad" if self.training else "eval"
        self.truth.sleep(phase, FORWARD)
        if self.failures:
            raise self.failures.pop()
        return SleepyBackward.apply(self.dropout(self.linear(x)), self.truth, BACKWARD)


class SleepySGD(torch.optim.SGD):
    """An optimizer that sleeps before it steps."""

    def __init__(self, parameters: Any, truth: Truth, **options: Any) -> None:
        super().__init__(parameters, lr=0.01, momentum=0.5, **options)
        self.truth = truth
        self.failures: list[BaseException] = []

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = closure() if closure is not None else None
        self.truth.sleep("optimizer", OPTIMIZER)
        if self.failures:
            raise self.failures.pop()
        super().step()
        return loss


class Batches(torch.utils.data.Dataset[Any]):
    """Samples that take time to load, as the phase that is told."""

    def __init__(self, truth: Truth | None, count: int, phase: str = "data") -> None:
        self.truth = truth
        self.count = count
        self.phase = phase

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if self.truth is not None:
            self.truth.sleep(self.phase, DATA)
        return torch.ones(4) * (index % 3), torch.ones(1)


def loader(truth: Truth | None, count: int, phase: str = "data", **options: Any) -> Any:
    return torch.utils.data.DataLoader(Batches(truth, count, phase), shuffle=True, **options)


def batches(truth: Truth, count: int) -> Iterator[Any]:
    """A generator, of which nobody can tell that it fetches."""
    for index in range(count):
        truth.sleep("other", DATA)
        yield torch.ones(1, 4) * (index % 3), torch.ones(1, 1)


class Case:
    """One loop, recorded or not, beside what it really took.

    Args:
        folder: The run's folder; what else the loop writes goes beside it.
        count: Steps the loop is to make, more or less.
        pace: Factor on every sleep.
        profiled: Whether it is recorded.
        options: For every `AutoProfiler` of the case.
    """

    def __init__(
        self,
        folder: Path,
        *,
        count: int = 22,
        pace: float = 1.0,
        profiled: bool = True,
        **options: Any,
    ) -> None:
        torch.manual_seed(0)
        np.random.seed(0)  # noqa: NPY002  # the state that training scripts have
        random.seed(0)
        self.folder = folder / "run"
        self.space = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.count = count
        self.truth = Truth(pace)
        self.net = Net(self.truth)
        self.optimizer: Any = SleepySGD(self.net.parameters(), self.truth)
        self.modules: list[Any] = [self.net]
        self.losses: list[Any] = []
        self.profiled = profiled
        self.options = options
        self.profiler: Any = None

    @contextmanager
    def recording(self, model: Any = ..., optimizer: Any = ..., **options: Any) -> Iterator[None]:
        """Record what is inside, if the case is recorded at all."""
        if not self.profiled:
            yield
            return
        with self.made(model, optimizer, **options):
            yield

    def made(self, model: Any = ..., optimizer: Any = ..., **options: Any) -> Any:
        """An `AutoProfiler` of the case's model and optimizer, or of others."""
        given = (
            self.net if model is ... else model,
            self.optimizer if optimizer is ... else optimizer,
        )
        self.profiler = AutoProfiler(self.folder, *given, **{**self.options, **options})
        return self.profiler

    def loss(self, out: Any, y: Any) -> Any:
        self.truth.sleep("loss", LOSS)
        loss = ((out - y) ** 2).mean()
        self.losses.append(loss.detach())
        return loss

    def step(self) -> None:
        """One optimizer step; gradients are cleared after it."""
        self.optimizer.step()
        self.truth.next_step()
        self.optimizer.zero_grad()

    def train(self, x: Any, y: Any) -> None:
        """One training step as anybody writes it."""
        self.loss(self.net(x), y).backward()
        self.step()

    def run(self) -> Any:
        return pytscope.open(self.folder)

    def timeline(self) -> Any:
        return self.run().rank(0)

    def said(self) -> list[str]:
        """What the recording found worth a sentence."""
        events = self.timeline().attempts[-1].events
        return [event["message"] for event in events if event["kind"] == "warning"]


def check_count(case: Case) -> None:
    """Every step is there, and its phases are the whole of it."""
    timeline = case.timeline()
    assert len(timeline) == len(case.truth.steps) - 1
    phases = sum((timeline.phase_ns(n) for n in timeline.phases), np.zeros(len(timeline), np.int64))
    assert np.array_equal(timeline.wall_ns, phases)
    budget = pytscope.analyze(case.folder, warmup=0).analyses["budget"]
    assert sum(line.ns for line in budget.lines) == budget.wall_ns == timeline.measured_ns
    ends = re.findall(rb'"b":"end".*?"wall_ns":(\d+)', (case.folder / "rank00000.pts").read_bytes())
    assert int(ends[-1]) == timeline.measured_ns


def check_times(case: Case, *, skip: int = 1) -> None:
    """Each phase of each step holds all that the script slept in it.

    Phases sum to the step, so no time of a phase can then be in another; what
    is left to share out is the work between the sleeps, however slow the
    machine. Only an interruption may be taken out of the phase it fell in.
    """
    timeline = case.timeline()
    steps = case.truth.steps[:-1]
    taken = timeline.phase_ns("gc") + timeline.phase_ns("compile")
    for name in {name for step in steps[skip:] for name in step if step[name]}:
        real = np.array([step.get(name, 0) for step in steps])
        short = real - timeline.phase_ns(name) - taken
        assert np.all(short[skip:] <= 0), (name, np.round(short / MS, 3).tolist())


def state_of(case: Case) -> dict[str, Any]:
    """Everything that a profiler must not change, as plain values."""
    return {
        "losses": [float(loss) for loss in case.losses],
        "weights": [_plain(module.state_dict()) for module in case.modules],
        "modes": [[part.training for part in module.modules()] for module in case.modules],
        "optimizer": _plain(case.optimizer.state_dict()),
        "torch": torch.get_rng_state().tolist(),
        "numpy": _plain(np.random.get_state()),  # noqa: NPY002  # as above
        "random": random.getstate(),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, (torch.Tensor, np.ndarray)):
        return (str(value.dtype), value.tolist())
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [_plain(item) for item in value]
    return value
