"""Compiled training, recorded and not; prints what Dynamo did as JSON. Run as a program."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch._dynamo.utils import counters

import pytscope
from pytscope.auto import AutoProfiler
from pytscope_torch.seams.blocks import transfers

STEPS = 4
MANY = 10
"""More blocks of a kind than Dynamo compiles variants of."""
FOLDER = Path(*sys.argv[1:2])


SLEPT: list[dict[str, int]] = [{}]
"""What the operators of each step slept, by phase."""
PHASES = ("forward", "backward")
SECONDS = 0.003


def sleep(x: Any, phase: int) -> Any:
    """An operator that no compiler looks into; it sleeps as one phase, by its own clock."""
    began = time.perf_counter_ns()
    time.sleep(SECONDS)
    step = SLEPT[-1]
    step[PHASES[phase]] = step.get(PHASES[phase], 0) + time.perf_counter_ns() - began
    return x.clone()


sleeping = torch.library.custom_op(
    "pytscope_tests::sleep", sleep, mutates_args=(), schema="(Tensor x, int phase) -> Tensor"
)
sleeping.register_fake(lambda x, _phase: torch.empty_like(x))
sleeping.register_autograd(lambda _ctx, gradient: (sleeping(gradient, 1), None))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.sleeps = False

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.linear(x)) + x
        return sleeping(x, 0) if self.sleeps else x


class Model(nn.Module):
    def __init__(self, blocks: int = 2) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(blocks))
        self.head = nn.Linear(4, 1)

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Setting:
    """What a case works with; `start` begins the recording, if there is one."""

    def __init__(self, folder: Path, backend: str, *, profiled: bool) -> None:
        self.backend = backend
        torch._dynamo.reset()
        counters.clear()
        SLEPT[:] = [{}]
        torch.manual_seed(0)
        self.model: Any = Model()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.folder = folder
        self.profiled = profiled
        self.profiler: Any = None

    def compile(self, function: Any, **options: Any) -> Any:
        return torch.compile(function, backend=self.backend, **options)

    def start(self, model: Any) -> None:
        if self.profiled:
            self.profiler = AutoProfiler(self.folder, model, self.optimizer).start()

    def train(self, model: Any) -> None:
        for index in range(STEPS):
            model(torch.ones(2, 4) * index).pow(2).mean().backward()
            self.optimizer.step()
            SLEPT.append({})
            self.optimizer.zero_grad()

    def outcome(self) -> dict[str, Any]:
        """What came of it: Dynamo's counts, the weights, and the steps recorded."""
        breaks = sum(counters["graph_break"].values())
        made = {
            "frames": counters["frames"]["total"],
            "graphs": counters["stats"]["unique_graphs"],
            "breaks": breaks,
            "weights": [p.tolist() for p in self.model.parameters()],
            "modes": [part.training for part in self.model.modules()],
            "random": hash(tuple(torch.get_rng_state().tolist())),
        }
        if self.profiler is not None:
            self.profiler.finish()
            timeline = pytscope.open(self.folder).rank(0)
            made["steps"] = len(timeline)
            made["phases"] = list(timeline.phases)
            made["forward"] = [bool(ns) for ns in timeline.phase_ns("forward")]
            phases = [timeline.phase_ns(name) for name in timeline.phases]
            made["exact"] = [int(ns) for ns in timeline.wall_ns - sum(phases)]
            made["slept"] = [
                {name: [int(timeline.phase_ns(name)[i]), ns] for name, ns in step.items()}
                for i, step in enumerate(SLEPT[:-1])
            ]
        return made


def asleep(now: Setting) -> None:
    for block in now.model.blocks:
        block.sleeps = True


def whole_that_sleeps(now: Setting) -> None:
    asleep(now)
    whole_given_compiled(now)


def each_block_sleeps(now: Setting) -> None:
    asleep(now)
    each_block(now)


def in_place_that_sleeps(now: Setting) -> None:
    asleep(now)
    in_place(now)


def whole_given_compiled(now: Setting) -> None:
    compiled = now.compile(now.model)
    now.start(compiled)
    now.train(compiled)


def whole_given_raw(now: Setting) -> None:
    compiled = now.compile(now.model)
    now.start(now.model)
    now.train(compiled)


def whole_to_be_found(now: Setting) -> None:
    compiled = now.compile(now.model)
    now.start(None)
    now.train(compiled)


def whole_after_the_start(now: Setting) -> None:
    now.start(now.model)
    now.train(now.compile(now.model))


def in_place(now: Setting) -> None:
    now.model.compile(backend=now.backend)
    now.start(now.model)
    now.train(now.model)


def in_place_after_the_start(now: Setting) -> None:
    now.start(now.model)
    now.model.compile(backend=now.backend)
    now.train(now.model)


def in_place_in_mid_training(now: Setting) -> None:
    now.start(now.model)
    now.train(now.model)
    now.model.compile(backend=now.backend)
    now.train(now.model)


def each_of_many_blocks(now: Setting) -> None:
    now.model = Model(MANY)
    now.optimizer = torch.optim.SGD(now.model.parameters(), lr=0.01)
    each_block(now)


def each_block(now: Setting) -> None:
    for block in now.model.blocks:
        block.compile(backend=now.backend)
    now.start(now.model)
    now.train(now.model)


def each_block_replaced_after_the_start(now: Setting) -> None:
    now.start(now.model)
    for place, block in enumerate(now.model.blocks):
        now.model.blocks[place] = now.compile(block)
    now.train(now.model)


def forward_and_loss(now: Setting) -> None:
    @now.compile
    def loss_of(x: Any) -> Any:
        return now.model(x).pow(2).mean()

    now.start(now.model)
    for index in range(STEPS):
        loss_of(torch.ones(2, 4) * index).backward()
        now.optimizer.step()
        now.optimizer.zero_grad()


def recompiled(now: Setting) -> None:
    compiled = now.compile(now.model, dynamic=False)
    now.start(compiled)
    for size in (2, 2, 3, 4):
        compiled(torch.ones(size, 4)).pow(2).mean().backward()
        now.optimizer.step()
        now.optimizer.zero_grad()


def gradients_inside(now: Setting) -> None:
    """A compiled region that clears and clips gradients."""
    from torch.nn.utils import clip_grad_norm_

    @now.compile
    def clipped() -> Any:
        return clip_grad_norm_(now.model.parameters(), 1.0)

    now.start(now.model)
    for index in range(STEPS):
        now.model(torch.ones(2, 4) * index).pow(2).mean().backward()
        clipped()
        now.optimizer.step()
        now.optimizer.zero_grad()


def optimizer_step(now: Setting) -> None:
    step = now.compile(now.optimizer.step)
    now.start(now.model)
    for index in range(STEPS):
        now.model(torch.ones(2, 4) * index).pow(2).mean().backward()
        step()
        now.optimizer.zero_grad()


def whole_step(now: Setting) -> None:
    @now.compile
    def step(x: Any) -> None:
        now.model(x).pow(2).mean().backward()
        now.optimizer.step()
        now.optimizer.zero_grad()

    now.start(now.model)
    for index in range(STEPS):
        step(torch.ones(2, 4) * index)


def transfers_and_collectives(now: Setting) -> None:
    @now.compile
    def moved(x: Any) -> Any:
        y = x.to(torch.float64)
        dist.all_reduce(y)
        return y.to(torch.float32)

    now.start(now.model)
    undo = transfers(now.profiler._stamps) if now.profiler else None
    for index in range(STEPS):
        now.model(moved(torch.ones(2, 4) * index)).pow(2).mean().backward()
        now.optimizer.step()
        now.optimizer.zero_grad()
    if undo:
        undo()


def functional_collectives(now: Setting, *, compiled_first: bool = False) -> None:
    from torch.distributed import _functional_collectives as functional

    @now.compile
    def summed(x: Any) -> Any:
        used = functional.all_reduce(x, "sum", dist.group.WORLD) * 1
        return functional.wait_tensor(functional.all_reduce(used, "sum", dist.group.WORLD))

    if compiled_first:
        summed(torch.ones(2, 4))
    now.start(now.model)
    for index in range(STEPS):
        now.model(summed(torch.ones(2, 4) * index)).pow(2).mean().backward()
        now.optimizer.step()
        now.optimizer.zero_grad()


def functional_collectives_compiled_before(now: Setting) -> None:
    functional_collectives(now, compiled_first=True)


CASES: list[Callable[[Setting], None]] = [
    whole_given_compiled,
    whole_given_raw,
    whole_to_be_found,
    whole_after_the_start,
    in_place,
    in_place_after_the_start,
    in_place_in_mid_training,
    each_block,
    each_of_many_blocks,
    each_block_replaced_after_the_start,
    forward_and_loss,
    recompiled,
    gradients_inside,
    optimizer_step,
    whole_step,
    transfers_and_collectives,
    functional_collectives,
    functional_collectives_compiled_before,
]
SLEEPING = [whole_that_sleeps, each_block_sleeps, in_place_that_sleeps]
WANTED = [(case, "aot_eager") for case in [*CASES, *SLEEPING]]
WANTED += [(case, "inductor") for case in (whole_given_compiled, each_block, *SLEEPING)]


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    found: dict[str, list[Any]] = {}
    for case, backend in WANTED:
        name = f"{case.__name__} {backend}"
        if sys.argv[2:] and case.__name__ not in sys.argv[2:]:
            continue
        for profiled in (False, True):
            now = Setting(FOLDER / name, backend, profiled=profiled)
            try:
                case(now)
            except Exception as error:  # noqa: BLE001  # goes to the test
                found.setdefault(name, []).append({"error": repr(error)})
                if now.profiler:
                    now.profiler.finish()
            else:
                found.setdefault(name, []).append(now.outcome())
    dist.destroy_process_group()
    print(json.dumps(found))  # noqa: T201  # what the test reads


if __name__ == "__main__":
    main()
