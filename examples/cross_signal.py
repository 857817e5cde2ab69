"""A training loop without any ML package, in which one update blows up.

Loss, gradient norm and step time leave what is usual in the same steps, 70 to 72; each
of them alone could be chance or a hard batch.

python examples/cross_signal.py && pytscope analyze runs/cross
"""

from __future__ import annotations

import argparse
import random
import time

from pytscope import Profiler

BLOWN_UP = range(70, 73)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run-dir", default="runs/cross")
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--healthy", action="store_true", help="nothing blows up")
    args = parser.parse_args()

    rng = random.Random(0)
    prof = Profiler(args.run_dir, warmup=5, config=vars(args))
    prof.start()
    for step in range(args.steps):
        bad = step in BLOWN_UP and not args.healthy
        with prof.step():
            time.sleep(0.004)
            prof.mark("forward")
            time.sleep(0.200 if bad else 0.010)  # as where a loss scaler tries again and again
            prof.mark("backward")
            time.sleep(0.001)
            prof.mark("optimizer")
            loss = (3.5 if bad else 1.0 + 1.5 / (1 + 0.1 * step)) * rng.uniform(0.97, 1.03)
            grad_norm = (45.0 if bad else 1.2) * rng.uniform(0.9, 1.1)
            prof.log(loss=loss, grad_norm=grad_norm, lr=3e-4)
    prof.finish()
    print(f"recorded {args.steps} steps; now: pytscope analyze {args.run_dir}")


if __name__ == "__main__":
    main()
