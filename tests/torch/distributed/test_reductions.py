"""Which backward passes are taken for those that DDP ends by waiting, on one rank alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.torch.auto.made import AutoProfiler, torch  # skips without pytscope-torch

import pytscope  # isort: skip

if not torch.distributed.is_available():
    pytest.skip("torch was built without distributed", allow_module_level=True)

from torch._dynamo.utils import counters
from torch.nn.parallel import DistributedDataParallel

from pytscope_torch.seams.waits import root_of

dist = torch.distributed
STEPS = 4


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


def test_what_looking_would_use_up_is_left_alone() -> None:
    some = (torch.ones(1, requires_grad=True) * i for i in range(2))
    assert root_of(some) is None
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
