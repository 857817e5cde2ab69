"""A short training of a line through points, without any ML package, for a CI job to record.

python train.py [--slow-loader] [--run-dir runs/ci]
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator

from pytscope import Profiler

Batch = list[tuple[float, float]]


def loader(batches: int, rng: random.Random, wait_s: float) -> Iterator[Batch]:
    """Batches of points about y = 3 x - 1, each made after a wait."""
    for _ in range(batches):
        time.sleep(wait_s)
        xs = [rng.uniform(-1, 1) for _ in range(32)]
        yield [(x, 3 * x - 1 + rng.gauss(0, 0.1)) for x in xs]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run-dir", default="runs/ci")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--slow-loader", action="store_true", help="what the gate is there for")
    args = parser.parse_args()

    slope = offset = 0.0
    batches = loader(args.steps, random.Random(0), 0.040 if args.slow_loader else 0.0)
    with Profiler(args.run_dir, name="ci", warmup=5, config=vars(args)) as prof:
        for batch in prof.iter_data(batches):
            with prof.step():
                time.sleep(0.010)  # a model would take its time here
                errors = [slope * x + offset - y for x, y in batch]
                prof.mark("forward")
                by_slope = sum(e * x for e, (x, _) in zip(errors, batch, strict=True)) / len(batch)
                by_offset = sum(errors) / len(batch)
                prof.mark("backward")
                slope, offset = slope - 0.3 * by_slope, offset - 0.3 * by_offset
                prof.mark("optimizer")
                prof.log(loss=sum(e * e for e in errors) / len(batch), samples=len(batch))


if __name__ == "__main__":
    main()
