"""A small CNN trained for real on generated images, with a manual Profiler.

    python examples/pytorch_real.py --slow-loader && pytscope analyze runs/pytorch
    python examples/pytorch_real.py --leak && pytscope analyze runs/pytorch

Beside the recording, the script stamps its own work with its own clock and
writes the stamps to `RUN/truth.json`, so that the report can be checked.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from pytscope import Profiler

CLASSES = 4
SIZE = 24
Batch = tuple[torch.Tensor, torch.Tensor]
Loader = DataLoader[Batch]


class Stripes(Dataset[Batch]):
    """Images of stripes in one of four directions; the direction is the label."""

    def __init__(self, length: int, decode_s: float) -> None:
        self.length = length
        self.decode_s = decode_s

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Batch:
        if index >= self.length:
            raise IndexError(index)
        time.sleep(self.decode_s)  # reading and decoding a file
        rng = torch.Generator().manual_seed(index)
        label = index % CLASSES
        y, x = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
        wave = (x, y, x + y, x - y)[label]
        phase = torch.rand((), generator=rng) * 6
        noise = torch.randn(1, SIZE, SIZE, generator=rng) * 0.8
        return torch.sin(wave * 0.9 + phase)[None] + noise, torch.tensor(label)


def make_model() -> nn.Sequential:
    """Two convolutions and a linear layer."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(32 * 16, CLASSES),
    )


def pick_device() -> torch.device:
    """CUDA, else Apple's MPS, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


class Truth:
    """The script's own stamps: what each stretch of work was for, and how long it took."""

    def __init__(self) -> None:
        self.steps = 0
        self.rows: list[tuple[str, int, float]] = []

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Stamp a stretch of work."""
        began = time.perf_counter()
        yield
        self.rows.append((name, self.steps, time.perf_counter() - began))

    def fetches(self, loader: Loader) -> Iterator[Batch]:
        """The loader's batches, the wait for each stamped."""
        batches = iter(loader)
        while True:
            began = time.perf_counter()
            try:
                batch = next(batches)
            except StopIteration:
                return
            self.rows.append(("data", self.steps, time.perf_counter() - began))
            yield batch

    def write(self, path: Path) -> None:
        """Write rows of phase, steps completed before it, seconds."""
        columns = ["phase", "steps_before", "seconds"]
        path.write_text(json.dumps({"columns": columns, "rows": self.rows}))


@torch.no_grad()
def accuracy(model: nn.Module, loader: Loader) -> float:
    model.eval()
    device = next(model.parameters()).device
    right = total = 0
    for images, labels in loader:
        guess = model(images.to(device)).argmax(1).cpu()
        right += int((guess == labels).sum())
        total += len(labels)
    model.train()
    return right / total


def save(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
    time.sleep(0.02)  # the slow shared disk that a checkpoint usually goes to


def train(args: argparse.Namespace) -> None:
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # so small a model is slower on several
    device = pick_device()
    on_device = device.type != "cpu"
    run_dir = Path(args.run_dir)
    decode_s = 0.0015 if args.slow_loader else 0.0
    loader: Loader = DataLoader(Stripes(args.steps * args.batch_size, decode_s), args.batch_size)
    held_out: Loader = DataLoader(Stripes(64, 0.001), batch_size=32)
    model = make_model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    loss_fn = nn.CrossEntropyLoss()
    truth = Truth()
    history: list[torch.Tensor] = []

    prof = Profiler(
        run_dir,
        warmup=args.warmup,
        sync=on_device,
        collect_memory=on_device or args.memory or args.leak,
        config=vars(args),
    )
    prof.start()
    for step, (images, labels) in enumerate(prof.iter_data(truth.fetches(loader)), 1):
        with prof.step():
            inputs, targets = images.to(device), labels.to(device)
            prof.mark("h2d")
            loss = loss_fn(model(inputs), targets)
            prof.mark("forward")
            optimizer.zero_grad()
            loss.backward()
            prof.mark("backward")
            optimizer.step()
            if args.leak:
                history.append(model[:3](inputs).mean())  # without .item(): keeps its graph
            prof.mark("optimizer")
            prof.log(loss=loss, lr=args.lr, samples=len(labels))
        truth.steps = step
        if args.eval_every and step % args.eval_every == 0:
            with truth.of("eval"), prof.phase("eval"):
                held_out_accuracy = accuracy(model, held_out)
            prof.log(accuracy=held_out_accuracy)
        if args.checkpoint_every and step % args.checkpoint_every == 0:
            with truth.of("checkpoint"), prof.phase("checkpoint"):
                save(run_dir / "checkpoint.pt", model, optimizer)
        if args.other_every and step % args.other_every == 0:
            with truth.of("other"):
                time.sleep(0.02)  # work that the loop names nowhere
    prof.finish()
    truth.write(run_dir / "truth.json")
    print(f"trained {args.steps} steps on {device}; now: pytscope analyze {run_dir}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run-dir", default="runs/pytorch")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--slow-loader", action="store_true", help="decode for 1.5 ms a sample")
    parser.add_argument("--leak", action="store_true", help="keep a graph with every step")
    parser.add_argument("--memory", action="store_true", help="sample memory on a CPU as well")
    parser.add_argument("--eval-every", type=int, default=0, metavar="N")
    parser.add_argument("--checkpoint-every", type=int, default=0, metavar="N")
    parser.add_argument("--other-every", type=int, default=0, metavar="N")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
