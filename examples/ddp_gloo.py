"""Several processes that train one model together, one of them slower than the rest.

    python examples/ddp_gloo.py --ranks 4 --straggler-rank 2 && pytscope analyze runs/ddp_gloo
    python examples/ddp_gloo.py --ranks 4 --straggler-rank 2 --where backward
    python examples/ddp_gloo.py --ranks 4 --straggler-rank 2 --manual
    torchrun --nproc-per-node 4 examples/ddp_gloo.py --straggler-rank 2

The first form is PyTorch's DistributedDataParallel, untouched, with real
all-reduces: gloo on a CPU, NCCL under torchrun where there are GPUs. Reading,
forward and backward sleep instead of computing, so that four ranks fit on two
cores. `--manual` all-reduces by hand and records with the manual `Profiler`.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

from pytscope import Profiler
from pytscope.auto import AutoProfiler

WIDTH = 64
BATCH = 16
TAKES_S = {"data": 0.002, "forward": 0.003, "backward": 0.004, "host": 0.0, "optimizer": 0.001}
"""What each part of a step takes on a healthy rank; `host` is between backward and optimizer."""
SPREAD = 0.05
"""Standard deviation of what a part takes, of its mean."""
Batch = tuple[torch.Tensor, torch.Tensor]


class Pace:
    """How long each part of a step takes on this rank.

    Args:
        rank: The rank.
        args: The command's arguments.
    """

    def __init__(self, rank: int, args: argparse.Namespace) -> None:
        self._random = random.Random(f"{args.seed} {rank}")
        self._more_s = {args.where: args.delay_ms / 1e3} if rank in args.straggler_rank else {}

    def spend(self, part: str) -> None:
        """Take the time of one part."""
        usual = self._random.gauss(TAKES_S[part], SPREAD * TAKES_S[part])
        time.sleep(max(0.0, usual) + self._more_s.get(part, 0.0))


class Samples(Dataset[Batch]):
    """Random samples; the first of each batch takes the time to read the batch."""

    def __init__(self, batches: int, pace: Pace) -> None:
        self._length = batches * BATCH
        self._pace = pace

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Batch:
        if index % BATCH == 0:
            self._pace.spend("data")
        x = torch.rand(WIDTH, generator=torch.Generator().manual_seed(index))
        return x, x.sum(0, keepdim=True)


class Slowly(torch.autograd.Function):
    """Passes values on; takes its time in the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, pace: Pace) -> torch.Tensor:
        """Pass on."""
        ctx.pace = pace
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Take the time, pass on."""
        ctx.pace.spend("backward")
        return grad, None


class Net(nn.Module):
    """Two layers and a normalisation, whose buffers DDP broadcasts in each forward pass."""

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.BatchNorm1d(WIDTH)
        self.last = nn.Linear(WIDTH, 1)
        self.pace = pace

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Predict."""
        self.pace.spend("forward")
        hidden = torch.relu(self.norm(self.first(x)))
        out: torch.Tensor = self.last(hidden)
        return Slowly.apply(out, self.pace)  # type: ignore[no-any-return]  # autograd's functions are untyped


class SGD(torch.optim.SGD):
    """An optimizer that takes its time."""

    pace: Pace

    def step(self, closure: Any = None) -> Any:
        """Step, after a while."""
        self.pace.spend("optimizer")
        return super().step(closure)


def train(args: argparse.Namespace, rank: int, device: torch.device) -> None:
    """Train as anybody does; AutoProfiler finds the steps, the phases and the waits."""
    pace = Pace(rank, args)
    net = Net(pace).to(device)
    model = DistributedDataParallel(
        net, device_ids=[device.index] if device.index is not None else None
    )
    optimizer = SGD(model.parameters(), lr=0.01)
    optimizer.pace = pace
    loader = DataLoader(Samples(args.steps, pace), BATCH)
    with AutoProfiler(args.run, model, optimizer, distributed=True):
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            pace.spend("host")
            optimizer.step()


def train_by_hand(args: argparse.Namespace, rank: int, device: torch.device) -> None:
    """The same without DDP: the loop averages gradients itself and tells its phases."""
    pace = Pace(rank, args)
    torch.manual_seed(0)
    model = Net(pace).to(device)
    optimizer = SGD(model.parameters(), lr=0.01)
    optimizer.pace = pace
    loader = DataLoader(Samples(args.steps, pace), BATCH)
    with Profiler(args.run, distributed=True) as prof:
        for x, y in prof.iter_data(loader):
            with prof.step():
                loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
                prof.mark("forward")
                optimizer.zero_grad()
                loss.backward()
                prof.mark("backward")
                pace.spend("host")
                prof.mark("other")
                with prof.comm():
                    average(model)
                optimizer.step()
                prof.mark("optimizer")


def average(model: nn.Module) -> None:
    """All-reduce every gradient."""
    for parameter in model.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()


def work(rank: int, args: argparse.Namespace, meeting: str | None) -> None:
    """What one process does."""
    torch.set_num_threads(1)
    gpus = torch.cuda.device_count() if meeting is None else 0
    device = torch.device("cuda", rank % gpus) if gpus else torch.device("cpu")
    backend = "nccl" if gpus else "gloo"
    if meeting is None:  # torchrun has set the environment
        dist.init_process_group(backend)
    else:
        dist.init_process_group(backend, f"file://{meeting}", rank=rank, world_size=args.ranks)
    torch.manual_seed(args.seed)
    (train_by_hand if args.manual else train)(args, rank, device)
    dist.barrier()
    dist.destroy_process_group()


def number(text: str) -> int:
    """A whole number from one on."""
    if (found := int(text)) < 1:
        msg = "it has to be at least 1"
        raise argparse.ArgumentTypeError(msg)
    return found


def time_ms(text: str) -> float:
    """Milliseconds, none below zero."""
    if not 0 <= (found := float(text)) < float("inf"):
        msg = "it has to be 0 or more"
        raise argparse.ArgumentTypeError(msg)
    return found


def parsed() -> argparse.Namespace:
    """The command's arguments."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=number, default=4, help="processes; torchrun says its own")
    parser.add_argument(
        "--straggler-rank", type=int, action="append", default=[], help="a slow rank, or several"
    )
    parser.add_argument("--where", choices=TAKES_S, default="forward", help="where it is slow")
    parser.add_argument("--delay-ms", type=time_ms, default=6.0, help="by how much, in every step")
    parser.add_argument("--steps", type=number, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--manual", action="store_true", help="all-reduce by hand, without DDP")
    parser.add_argument("--run", default="runs/ddp_gloo", help="folder of the recording")
    args = parser.parse_args()
    if "WORLD_SIZE" in os.environ and "RANK" in os.environ:
        args.ranks = int(os.environ["WORLD_SIZE"])
    for rank in args.straggler_rank:
        if not 0 <= rank < args.ranks:
            parser.error(f"--straggler-rank {rank}: the ranks are 0 to {args.ranks - 1}")
    return args


def main() -> None:
    """Start the processes, unless torchrun has."""
    args = parsed()
    if "WORLD_SIZE" in os.environ and "RANK" in os.environ:
        work(int(os.environ["RANK"]), args, None)
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        told = (args, str(Path(folder) / "meeting"))
        try:
            mp.start_processes(work, told, args.ranks, start_method="fork")  # torch is loaded once
        except KeyboardInterrupt:
            raise SystemExit(130) from None


if __name__ == "__main__":
    main()
