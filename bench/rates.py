"""Print the false-positive rates of core's statistical rules on healthy runs.

    python bench/rates.py [RUNS]

Every row is a family of step times, a length of run and a rule: alarms, runs,
and the 95 % upper bound on the rate. Seeds are fixed. Ends with status 1 when
a promised family exceeds 1 %.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.core.builtin.rules.noise import (  # found by the line above
    BEYOND,
    FAMILIES,
    Family,
    false_alarms,
    upper_bound,
)

from pytscope.builtin.rules import dataloader_bound, jitter  # as above

RUNS = 628
LENGTHS = (20, 50, 200, 1_000)
MOST = 0.01


def rows(families: dict[str, Family], runs: int) -> list[float]:
    bounds = []
    for name, family in families.items():
        for steps in LENGTHS:
            for rule in (jitter, dataloader_bound):
                fired = false_alarms(rule, family, steps, range(runs))
                bounds.append(upper_bound(fired, runs))
                print(f"{rule.id:24} {name:46} {steps:5} {fired:4} of {runs}  <= {bounds[-1]:.2%}")
    return bounds


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    print(f"{'rule':24} {'healthy step times':46} {'steps':>5} alarms, 95 % bound on the rate")
    promised = rows(FAMILIES, runs)
    print("beyond what is promised:")
    rows(BEYOND, runs)
    worst = max(promised)
    print(f"worst bound of the promised families: {worst:.2%} (limit {MOST:.0%})")
    return int(worst > MOST)


if __name__ == "__main__":
    raise SystemExit(main())
