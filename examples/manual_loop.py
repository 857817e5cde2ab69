"""A training loop without any ML package, whose loader is too slow.

python examples/manual_loop.py && pytscope analyze runs/demo
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator

from pytscope import Profiler


def loader(batches: int, rng: random.Random) -> Iterator[int]:
    """Fetch batches, each after reading and decoding for about 12 ms."""
    for batch in range(batches):
        time.sleep(rng.uniform(0.011, 0.013))
        yield batch


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run-dir", default="runs/demo")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--all-ranks", action="store_true", help="record every rank")
    args = parser.parse_args()

    rng = random.Random(0)
    prof = Profiler(args.run_dir, warmup=5, distributed=args.all_ranks, config=vars(args))
    prof.start()
    for _ in prof.iter_data(loader(args.steps, rng)):
        with prof.step():
            time.sleep(0.004)
            prof.mark("forward")
            time.sleep(0.006)
            prof.mark("backward")
            time.sleep(0.001)
            prof.mark("optimizer")
            prof.log(loss=rng.uniform(0.9, 1.1))
    prof.finish()
    print(f"recorded {args.steps} steps; now: pytscope analyze {args.run_dir}")


if __name__ == "__main__":
    main()
