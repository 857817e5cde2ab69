"""Which backward passes are taken for those that DDP ends by waiting, on one rank alone."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.core.recording.counting import calls
from tests.torch.auto.made import AutoProfiler, torch  # skips without pytscope-torch

import pytscope  # isort: skip

if not torch.distributed.is_available():
    pytest.skip("torch was built without distributed", allow_module_level=True)

from torch._dynamo.utils import counters
from torch.nn.parallel import DistributedDataParallel
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from pytscope_torch.seams.reductions import roots_of

dist = torch.distributed
STEPS = 4
LATE_S = 0.02


@pytest.fixture(autouse=True)
def group() -> Iterator[None]:
    if dist.is_initialized():
        pytest.skip("another test has left its process group")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Model:
    """Linear layers under DDP, with their optimizer."""

    def __init__(self, heads: int = 1) -> None:
        class Heads(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.parts = torch.nn.ModuleList(torch.nn.Linear(4, 2) for _ in range(heads))

            def forward(self, x: Any) -> Any:
                return [part(x) for part in self.parts]

        torch.manual_seed(0)
        self.ddp = DistributedDataParallel(Heads())
        self.optimizer = torch.optim.SGD(self.ddp.parameters(), 0.1)

    def update(self) -> None:
        self.optimizer.step()
        self.optimizer.zero_grad()


def waits(folder: Path, model: Model, step: Callable[[Any], None]) -> list[str]:
    """The backward passes and waits of the last step but one, which has no begin or end."""
    with AutoProfiler(folder, model.ddp, model.optimizer):
        for index in range(STEPS):
            step(torch.ones(2, 4) * index)
    record = list(pytscope.open(folder).rank(0).records())[-2]
    return [name for name, _ in record.segments if name in ("backward", "comm", "optimizer")]


def test_a_gradient_that_is_asked_for_is_not_reduced(tmp_path: Path) -> None:
    model = Model()

    def step(x: Any) -> None:
        x.requires_grad_()
        (out,) = model.ddp(x)
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        (out.mean() + slope.pow(2).sum()).backward()
        model.update()

    seen = waits(tmp_path / "run", model, step)
    assert seen == ["optimizer", "backward", "backward", "comm", "backward", "optimizer"]


def test_two_models_wait_each_even_when_a_step_ends_in_between(tmp_path: Path) -> None:
    actor, critic = Model(), Model()

    def step(x: Any) -> None:
        (act,), (value,) = actor.ddp(x), critic.ddp(x)
        act.mean().backward()
        actor.update()
        value.mean().backward()
        critic.update()

    assert waits(tmp_path / "run", actor, step).count("comm") == 2


def test_two_losses_of_one_forward_pass_may_both_wait(tmp_path: Path) -> None:
    model = Model(heads=2)

    def step(x: Any) -> None:
        for out in model.ddp(x):
            out.mean().backward()
        model.update()

    seen = waits(tmp_path / "run", model, step)
    assert seen == ["optimizer", *2 * ["backward", "comm", "backward"], "optimizer"]


def test_passes_without_synchronisation_wait_for_nobody(tmp_path: Path) -> None:
    model = Model()

    def step(x: Any) -> None:
        for _ in range(2):
            with model.ddp.no_sync():
                model.ddp(x)[0].mean().backward()
        model.ddp(x)[0].mean().backward()
        model.update()

    seen = waits(tmp_path / "run", model, step)
    assert seen == ["optimizer", *3 * ["backward"], "comm", "backward", "optimizer"]


def test_a_pass_that_fails_closes_what_it_opened(tmp_path: Path) -> None:
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, error: Any) -> Any:
            ctx.error = error
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            if ctx.error is not None:
                raise ctx.error
            return grad, None

    model = Model()

    def step(x: Any) -> None:
        for error in (KeyboardInterrupt(), None):
            loss = Failing.apply(model.ddp(x)[0], error).mean()
            try:
                loss.backward()
            except KeyboardInterrupt:
                model.ddp = DistributedDataParallel(model.ddp.module)
        model.update()

    seen = waits(tmp_path / "run", model, step)
    assert seen[-4:] == ["backward", "comm", "backward", "optimizer"]


def reduced_late(_, bucket):  # type: ignore[no-untyped-def]  # DDP reads annotations as types
    """Gradients that are there some time after this rank's."""
    found: Any = torch.futures.Future()
    threading.Timer(LATE_S, found.set_result, [bucket.buffer()]).start()
    return found


def test_the_first_of_several_losses_need_not_begin_the_pass(tmp_path: Path) -> None:
    model = Model(heads=2)
    model.ddp.register_comm_hook(None, reduced_late)

    def step(x: Any) -> None:
        early = torch.ones(1, requires_grad=True) * 2  # made first, so it comes last
        losses = [early.sum(), *(out.mean() for out in model.ddp(x))]
        torch.autograd.backward(losses)
        model.update()

    seen = waits(tmp_path / "run", model, step)
    assert seen == ["optimizer", "backward", "comm", "backward", "optimizer"]
    waited = pytscope.open(tmp_path / "run").rank(0).phase_ns("comm")
    assert min(waited) > LATE_S * 1e9 / 2


def test_a_pass_may_begin_at_an_edge(tmp_path: Path) -> None:
    model = Model()

    def step(x: Any) -> None:
        edge = torch.autograd.graph.get_gradient_edge(model.ddp(x)[0].mean())
        torch.autograd.backward(edge)
        model.update()

    seen = waits(tmp_path / "run", model, step)
    assert seen == ["optimizer", "backward", "comm", "backward", "optimizer"]


def test_a_graph_that_is_kept_tells_of_no_other_pass(tmp_path: Path) -> None:
    model = Model()
    kept: list[Any] = []

    def step(x: Any) -> None:
        if kept:  # goes back to the parameter alone: nobody waits
            torch.autograd.grad(kept.pop(), model.ddp.module.parts[0].weight)
        loss = model.ddp(x)[0].mean()
        loss.backward(retain_graph=True)
        kept.append(loss)
        model.update()

    seen = waits(tmp_path / "run", model, step)
    assert seen == ["optimizer", "backward", "backward", "comm", "backward", "optimizer"]
    assert torch.autograd.grad(kept.pop(), model.ddp.module.parts[0].weight)


class Functions(TorchFunctionMode):
    """Notes which functions of tensors are called."""

    def __init__(self, seen: list[str]) -> None:
        super().__init__()
        self._seen = seen

    def __torch_function__(self, function: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._seen.append(str(getattr(function, "__name__", function)))
        return function(*args, **(kwargs or {}))


class Operators(TorchDispatchMode):
    """Notes which operators run."""

    def __init__(self, seen: list[str]) -> None:
        super().__init__()
        self._seen = seen

    def __torch_dispatch__(self, operator: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._seen.append(str(operator))
        return operator(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", [Functions, Operators])
def test_modes_of_the_program_see_nothing_of_it(tmp_path: Path, mode: Any) -> None:
    def seen_by(folder: Path | None) -> list[str]:
        model = Model()
        seen: list[str] = []
        with mode(seen):
            profiler = AutoProfiler(folder, model.ddp, model.optimizer).start() if folder else None
        assert not seen
        for index in range(STEPS):
            loss = model.ddp(torch.ones(2, 4) * index)[0].mean()
            seen.clear()
            with mode(seen):
                torch.autograd.backward(loss)
            model.update()
        if profiler is not None:
            profiler.finish()
        return seen

    assert seen_by(tmp_path / "run") == seen_by(None)
    assert "comm" in pytscope.open(tmp_path / "run").rank(0).phases


def test_a_start_without_gradients_is_no_hindrance(tmp_path: Path) -> None:
    model = Model()
    with torch.inference_mode():
        profiler = AutoProfiler(tmp_path / "run", model.ddp, model.optimizer).start()
    for index in range(STEPS):
        model.ddp(torch.ones(2, 4) * index)[0].mean().backward()
        model.update()
    profiler.finish()
    assert "comm" in pytscope.open(tmp_path / "run").rank(0).phases


def test_calls_of_ours_in_a_step(tmp_path: Path) -> None:
    def counted(**options: Any) -> float:
        model, x = Model(), torch.ones(2, 4)

        def train(steps: int) -> None:
            for _ in range(steps):
                model.ddp(x)[0].mean().backward()
                model.update()

        profiler = AutoProfiler(tmp_path / "run", model.ddp, model.optimizer, **options).start()
        assert profiler._writer.stop()
        profiler._writer.room = sys.maxsize
        train(8)
        gc.disable()
        few, many = (calls(lambda steps=steps: train(steps)) for steps in (16, 48))
        gc.enable()
        profiler.finish()
        return (many - few) / 32

    assert counted() - counted(capture_comm=False) <= 7


def test_what_looking_would_use_up_is_left_alone() -> None:
    some = (torch.ones(1, requires_grad=True) * i for i in range(2))
    assert list(roots_of(some)) == []
    assert len(list(some)) == 2


def compiled(folder: Path | None) -> tuple[Any, ...]:
    torch._dynamo.reset()
    counters.clear()
    model = Model()
    called = torch.compile(model.ddp, backend="eager")
    profiler = AutoProfiler(folder, called, model.optimizer).start() if folder else None
    for index in range(STEPS):
        called(torch.ones(2, 4) * index)[0].mean().backward()
        model.update()
    if profiler is not None:
        profiler.finish()
    weights = [p.tolist() for p in model.ddp.parameters()]
    breaks = sum(counters["graph_break"].values())
    return counters["frames"]["total"], counters["stats"]["unique_graphs"], breaks, weights


def test_compiled_ddp_is_compiled_alike(tmp_path: Path) -> None:
    compiled(None)  # frames that are passed over once are not looked at again
    assert compiled(tmp_path / "run") == compiled(None)
    assert "comm" in pytscope.open(tmp_path / "run").rank(0).phases
