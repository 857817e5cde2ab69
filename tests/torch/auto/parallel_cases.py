"""Parallel training at world size 1, recorded and not; prints what came of it as JSON."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import pytscope
from pytscope.auto import AutoProfiler
from tests.torch.auto.made import Net, SleepySGD, Truth, loader

FOLDER = Path(*sys.argv[1:2])
STEPS = 22


class Setting:
    """A model, its optimizer and maybe a profiler of both."""

    def __init__(self, name: str, *, profiled: bool) -> None:
        torch.manual_seed(0)
        self.folder = FOLDER / name
        self.truth = Truth(1.0 if profiled else 0.0)
        self.net: Any = torch.nn.Sequential(torch.nn.Linear(4, 4), Net(self.truth))
        self.optimizer: Any = None
        self.profiled = profiled
        self.profiler: Any = None
        self.losses: list[Any] = []
        self.more: dict[str, Any] = {}

    def start(self, model: Any, **options: Any) -> None:
        if self.profiled:
            self.profiler = AutoProfiler(self.folder, model, self.optimizer, **options).start()

    def train(self, model: Any, *, accumulate: int = 1) -> None:
        for index, (x, y) in enumerate(loader(self.truth, accumulate * STEPS)):
            out = model(x)
            self.truth.sleep("loss", 0.002)
            loss = ((out - y) ** 2).mean()
            self.losses.append(loss.detach())
            loss.backward()
            if index % accumulate == accumulate - 1:
                self.optimizer.step()
                self.truth.next_step()
                self.optimizer.zero_grad()

    def outcome(self) -> dict[str, Any]:
        weights = [full(p).tolist() for p in self.net.parameters()]
        modes = [part.training for part in self.net.modules()]
        made = {"weights": weights, "modes": modes, **self.more}
        made["random"] = hash(tuple(torch.get_rng_state().tolist()))
        made["losses"] = [float(loss) for loss in self.losses]
        if self.profiler is not None:
            self.profiler.finish()
            timeline = pytscope.open(self.folder).rank(0)
            made |= {"steps": len(timeline), "wanted": len(self.truth.steps) - 1}
            made["phases"] = list(timeline.phases)
            made["exact"] = [
                int(ns)
                for ns in timeline.wall_ns - sum(timeline.phase_ns(n) for n in timeline.phases)
            ]
            made["told"] = pytscope.open(self.folder).environment["torch"]["parallelism"]
            names = {name for step in self.truth.steps[:-1] for name in step}
            made["times"] = {
                name: [
                    sorted(timeline.phase_ns(name).tolist())[STEPS // 2],
                    sorted(step.get(name, 0) for step in self.truth.steps[:-1])[STEPS // 2],
                ]
                for name in names
            }
        return made


def full(parameter: Any) -> Any:
    """A parameter's values, gathered when they are sharded."""
    return parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter.detach()


def ddp(now: Setting) -> None:
    wrapped = DistributedDataParallel(now.net)
    now.optimizer = SleepySGD(wrapped.parameters(), now.truth)
    now.start(wrapped)
    now.train(wrapped)


def ddp_given_what_it_wraps(now: Setting) -> None:
    wrapped = DistributedDataParallel(now.net)
    now.optimizer = SleepySGD(wrapped.parameters(), now.truth)
    now.start(now.net)
    now.train(wrapped, accumulate=2)


def ddp_hook_registered_later(now: Setting) -> None:
    wrapped = DistributedDataParallel(now.net)
    now.optimizer = SleepySGD(wrapped.parameters(), now.truth)
    now.start(wrapped)
    called: list[int] = []

    def counting(state, bucket):  # type: ignore[no-untyped-def]  # DDP reads annotations as types
        called.append(1)
        return allreduce_hook(state, bucket)

    wrapped.register_comm_hook(None, counting)
    now.train(wrapped)
    now.more["called"] = len(called)


def fsdp(now: Setting) -> None:
    for part in now.net:
        fully_shard(part)
    fully_shard(now.net)
    now.optimizer = SleepySGD(now.net.parameters(), now.truth)
    now.start(now.net)
    now.train(now.net)


def fsdp_after_the_start(now: Setting) -> None:
    now.optimizer = SleepySGD(now.net.parameters(), now.truth)
    now.start(now.net)
    for part in now.net:
        fully_shard(part)
    fully_shard(now.net)
    now.optimizer = SleepySGD(now.net.parameters(), now.truth)
    if now.profiler:  # of the plain parameters nothing is left to be stepped
        now.profiler.finish()
        now.start(now.net)
    now.train(now.net)


def own_collectives_and_checkpoint(now: Setting) -> None:
    now.optimizer = SleepySGD(now.net.parameters(), now.truth)
    now.start(now.net)
    for x, y in loader(now.truth, STEPS):
        ((now.net(x) - y) ** 2).mean().backward()
        for parameter in now.net.parameters():
            dist.all_reduce(parameter.grad)
        now.optimizer.step()
        now.truth.next_step()
        now.optimizer.zero_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save({"net": now.net.state_dict()}, checkpoint_id=now.folder.with_suffix(".saved"))


CASES = [
    ddp,
    ddp_given_what_it_wraps,
    ddp_hook_registered_later,
    fsdp,
    fsdp_after_the_start,
    own_collectives_and_checkpoint,
]


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    before = {name: getattr(dist, name) for name in dir(dist)}
    found: dict[str, list[Any]] = {}
    for case in CASES:
        for profiled in (False, True):
            now = Setting(case.__name__, profiled=profiled)
            case(now)
            found.setdefault(case.__name__, []).append(now.outcome())
    changed = [name for name, value in before.items() if getattr(dist, name) is not value]
    dist.destroy_process_group()
    print(json.dumps({"cases": found, "changed": changed}))  # noqa: T201  # what the test reads


if __name__ == "__main__":
    main()
