"""A training loop that knows nothing of pytscope, recorded by AutoProfiler.

python examples/auto.py && pytscope analyze runs/auto
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pytscope.auto import AutoProfiler


def images(count: int) -> TensorDataset:
    """Random pictures of 32 x 32 pixels in ten classes."""
    return TensorDataset(torch.randn(count, 3, 32, 32), torch.randint(0, 10, (count,)))


def network(width: int) -> nn.Module:
    def block(inside: int, outside: int) -> list[nn.Module]:
        return [nn.Conv2d(inside, outside, 3, stride=2, padding=1), nn.ReLU()]

    body = [*block(3, width), *block(width, 2 * width), *block(2 * width, 4 * width)]
    return nn.Sequential(*body, nn.Flatten(), nn.Linear(4 * width * 4 * 4, 10))


def train(model: nn.Module, optimizer: torch.optim.Optimizer, loader: DataLoader) -> float:
    """The loop, as it is written anywhere."""
    last = 0.0
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        last = loss.item()
    return last


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run-dir", default="runs/auto")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=64)
    args = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = network(32)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loader = DataLoader(images(args.steps * args.batch_size), args.batch_size, shuffle=True)

    prof = AutoProfiler(args.run_dir, model, optimizer, measure_flops=True, config=vars(args))
    prof.start()
    loss = train(model, optimizer, loader)
    prof.finish()
    print(f"loss {loss:.2f}; now: pytscope analyze {args.run_dir}")


if __name__ == "__main__":
    main()
