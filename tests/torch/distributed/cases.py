"""Parallel training of several gloo ranks, recorded and not; each rank writes what came of it.

python -m tests.torch.distributed.cases RANK RANKS FOLDER
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives as functional
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor import distribute_tensor
from torch.nn.parallel import DistributedDataParallel

import pytscope
from pytscope.auto import AutoProfiler
from pytscope_torch.topology import topology
from tests.torch.auto.made import SleepyBackward, SleepySGD, Truth, loader

RANK, RANKS, FOLDER = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
STEPS = 12
SLOW, DELAY = RANKS - 1, 0.012
"""The rank that takes longer in its backward pass, and the seconds by which."""


class Summed(torch.autograd.Function):
    """The sum over all ranks, as tensor-parallel layers have it in both passes."""

    @staticmethod
    def forward(_: Any, x: Any) -> Any:
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(_: Any, grad: Any) -> Any:
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Net(torch.nn.Module):
    """With buffers that DDP broadcasts, a parameter that is used now and then, and a delay."""

    def __init__(self, truth: Truth) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 16)
        self.norm = torch.nn.BatchNorm1d(16)
        self.seldom = torch.nn.Linear(16, 16)
        self.last = torch.nn.Linear(16, 1)
        self.truth = truth
        self.calls = 0
        self.optional = self.mixing = False

    def forward(self, x: Any) -> Any:
        self.truth.sleep("forward", 0.001)
        x = self.norm(self.first(x))
        self.calls += 1
        if not self.optional or self.calls % 2:
            x = x + self.seldom(x)
        if self.mixing:
            x = Summed.apply(x)
        return SleepyBackward.apply(self.last(x), self.truth, DELAY if RANK == SLOW else 0.001)


class Setting:
    """A model, its optimizer and maybe a profiler of both."""

    def __init__(self, name: str, *, profiled: bool) -> None:
        torch.manual_seed(0)
        self.folder = FOLDER / name
        self.truth = Truth(1.0 if profiled else 0.0)
        self.net = Net(self.truth)
        self.profiled = profiled
        self.optimizer: Any = None
        self.profiler: Any = None
        self.losses: list[float] = []

    def ddp(self, **options: Any) -> Any:
        wrapped = DistributedDataParallel(self.net, **options)
        self.start(wrapped)
        return wrapped

    def without_buffers(self) -> Any:
        """DDP that has nothing to broadcast in its forward passes."""
        self.net.norm = torch.nn.BatchNorm1d(16, track_running_stats=False)
        return self.ddp()

    def start(self, model: Any) -> None:
        self.optimizer = SleepySGD(self.net.parameters(), self.truth)
        if self.profiled:
            self.profiler = AutoProfiler(self.folder, model, self.optimizer, distributed=True)
            self.profiler.start()

    def batches(self, count: int = STEPS) -> Any:
        return loader(self.truth, 4 * count, batch_size=4)

    def loss(self, model: Any, x: Any, y: Any) -> Any:
        out = model(x + RANK)
        self.truth.sleep("loss", 0.001)
        loss = ((out - y) ** 2).mean()
        self.losses.append(loss.item())
        return loss

    def step(self) -> None:
        self.optimizer.step()
        self.truth.next_step()
        self.optimizer.zero_grad()

    def train(self, model: Any) -> None:
        for x, y in self.batches():
            self.loss(model, x, y).backward()
            self.step()

    def outcome(self) -> dict[str, Any]:
        weights = [_full(p).tolist() for p in self.net.state_dict().values()]
        made: dict[str, Any] = {"losses": self.losses, "weights": weights}
        if self.profiler is not None:
            self.profiler.finish()
            timeline = pytscope.open(self.folder).rank(RANK)
            made["slept"] = self.truth.steps[:-1]
            made["steps"] = [record.segments for record in timeline.records()]
            made["phases"] = {n: timeline.phase_ns(n).tolist() for n in timeline.phases}
            made["wall"] = timeline.wall_ns.tolist()
        return made


def _full(value: Any) -> Any:
    return value.full_tensor() if hasattr(value, "full_tensor") else value


def plain(now: Setting) -> None:
    now.train(now.ddp())


def without_buffers(now: Setting) -> None:
    now.train(now.without_buffers())


def parameters_that_stay_unused(now: Setting) -> None:
    now.net.optional = True
    now.train(now.ddp(find_unused_parameters=True))


def static_graph(now: Setting) -> None:
    now.train(now.ddp(static_graph=True))


def hook_of_the_user(now: Setting) -> None:
    model = now.without_buffers()
    model.register_comm_hook(dist.group.WORLD, fp16_compress_hook)
    now.train(model)


def accumulation(now: Setting) -> None:
    model = now.without_buffers()
    for index, (x, y) in enumerate(now.batches(3 * STEPS)):
        with model.no_sync() if index % 3 < 2 else nullcontext():
            now.loss(model, x, y).backward()
        if index % 3 == 2:
            now.step()


def collectives_inside_the_model(now: Setting) -> None:
    now.net.mixing = True
    now.train(now.without_buffers())


def sharded(now: Setting) -> None:
    for part in (now.net.first, now.net.last):
        fully_shard(part)
    fully_shard(now.net)
    now.start(now.net)
    now.train(now.net)


def sharded_the_first_way(now: Setting) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells that there is a newer one
        model = FullyShardedDataParallel(now.net, device_id=torch.device("cpu"))
    now.start(model)
    now.train(model)


def by_hand(now: Setting) -> None:
    now.start(now.net)
    for x, y in now.batches():
        now.loss(now.net, x, y).backward()
        works = [dist.all_reduce(p.grad, async_op=True) for p in now.net.parameters()]
        for work in works:
            work.wait()
        now.step()


CASES = [
    plain,
    without_buffers,
    parameters_that_stay_unused,
    static_graph,
    hook_of_the_user,
    accumulation,
    collectives_inside_the_model,
    sharded,
    sharded_the_first_way,
    by_hand,
]


def places() -> dict[str, Any]:
    """What is found out about where this rank is."""
    bare = torch.nn.Linear(4, 4)
    on_mesh = torch.nn.Linear(4, 4)
    mesh = init_device_mesh("cpu", (RANKS // 2, 2), mesh_dim_names=("data", "tp"))
    on_mesh.weight = torch.nn.Parameter(distribute_tensor(torch.ones(4, 4), mesh["tp"]))
    nested = torch.nn.Linear(4, 4)
    shards = init_device_mesh("cpu", (RANKS // 2, 2), mesh_dim_names=("replicate", "shard"))
    fully_shard(nested, mesh=shards)
    told = {"pp": 3, "role": "critic"}
    found = {"bare": ([bare], None), "mesh": ([on_mesh], None), "told": ([on_mesh], told)}
    found |= {"hybrid": ([nested], None), "ddp": ([DistributedDataParallel(bare)], None)}
    known = {name: topology(modules, said) for name, (modules, said) in found.items()}
    on_mesh._compiled_call_impl = on_mesh._call_impl  # as `Module.compile()` does
    return known | {"compiled": topology([on_mesh], None)}


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{FOLDER}/meeting", rank=RANK, world_size=RANKS
    )
    owners = (dist, dist.Reducer, dist.Work, torch.autograd, torch._C.Future, functional)
    before = [dict(vars(owner)) for owner in owners]
    found: dict[str, list[Any]] = {}
    for case in CASES:
        for profiled in (False, True):
            now = Setting(case.__name__, profiled=profiled)
            case(now)
            found.setdefault(case.__name__, []).append(now.outcome())
    changed = [
        name
        for owner, names in zip(owners, before, strict=True)
        for name, value in names.items()
        if vars(owner).get(name) is not value
    ]
    where = places()
    dist.barrier()
    time.sleep(0.1 * RANK)  # the one that holds the meeting leaves last
    dist.destroy_process_group()
    seen = {"cases": found, "changed": changed, "places": where}
    (FOLDER / f"{RANK}.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    main()
