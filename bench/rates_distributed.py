"""Print the false-positive rates, and the power, of the rules that compare ranks.

    python bench/rates_distributed.py [RUNS] [--quick | --many]

False alarms: a family of healthy runs and a number of ranks a row, a length of run a
column; alarms, and the 95 % upper bound on the rate. Power: how often exactly the slow
ranks are named. Seeds are fixed. `--quick` leaves out 1,024 ranks, `--many` all the rest.
Ends with status 1 when a promised family exceeds 1 %.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.core.builtin.rules.noise import upper_bound  # found by the line above
from tests.rules_distributed.families import (
    CLAIMS,
    FAMILIES,
    GROUPS,
    LENGTHS,
    NOBODYS,
    PAUSING,
    QUIET,
    RANKS,
    TRANSFERS,
    Family,
    healthy,
    linked,
    said_of,
)

RUNS = 300
"""Of so many, none may alarm."""
MANY = 1000
MOST = 0.01
POWER_RUNS = 100
RULES = ("DIST.STRAGGLER", "DIST.PAUSE", "DIST.LOAD_IMBALANCE")
Row = tuple[str, str, int, list[int]]
"""Rule, family, runs, and alarms by length."""


def ranks_rows(runs: int, sizes: Sequence[int]) -> Iterator[Row]:
    """DIST.STRAGGLER, DIST.PAUSE and DIST.LOAD_IMBALANCE on healthy ranks."""
    for name, family in {**FAMILIES, **QUIET}.items():
        for ranks in sizes:
            yield from _alarms(name, family, ranks, runs)


def _alarms(name: str, family: Family, ranks: int, runs: int) -> Iterator[Row]:
    fired: dict[str, list[int]] = {rule: [] for rule in RULES}
    blamed: list[int] = []
    for steps in LENGTHS:
        said = [said_of(healthy(family, ranks, steps, seed)) for seed in range(runs)]
        for rule, counts in fired.items():
            counts.append(sum(bool(one[rule]) for one in said))
        blamed.append(sum(any(finding.ranks for finding in one["DIST.PAUSE"]) for one in said))
    label = f"{ranks:,} ranks: {name}"
    if name in FAMILIES:
        yield "DIST.STRAGGLER", label, runs, fired["DIST.STRAGGLER"]
    if name in FAMILIES and name not in PAUSING and ranks < MANY:
        yield "DIST.PAUSE", label, runs, fired["DIST.PAUSE"]
    if name in NOBODYS:
        yield "DIST.PAUSE of a rank", f"{label}, not the shortest", runs, blamed[1:]
    if name in QUIET:
        yield "DIST.LOAD_IMBALANCE", label, runs, fired["DIST.LOAD_IMBALANCE"]


def group_rows(runs: int) -> Iterator[Row]:
    """DIST.SLOW_LINK on healthy groups."""
    for name, family in TRANSFERS.items():
        for groups in GROUPS:
            fired = [
                sum(bool(linked(family, groups, steps, seed)) for seed in range(runs))
                for steps in LENGTHS
            ]
            yield "DIST.SLOW_LINK", f"{groups} groups: {name}", runs, fired


def show(rows: Iterator[Row]) -> float:
    """Print rows as they come; the worst bound."""
    worst = 0.0
    for rule, label, runs, fired in rows:
        bound = upper_bound(max(fired), runs)
        worst = max(worst, bound)
        counts = " ".join(f"{n:5}" for n in fired)
        print(f"{rule:20} {label:58} {counts}  of {runs}  <= {bound:.2%}", flush=True)
    return worst


def main() -> int:
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    quick, many = ("--quick" in sys.argv, "--many" in sys.argv)
    sizes = [n for n in RANKS if (n < MANY or not quick) and (n >= MANY or not many)]
    runs = int(words[0]) if words else RUNS
    lengths = ", ".join(f"{n:,}" for n in LENGTHS)
    print(f"False alarms in runs of {lengths} steps, and the 95 % upper bound on the worst:\n")
    worst = show(ranks_rows(runs, sizes))
    if not many:
        worst = max(worst, show(group_rows(runs)))
        print(f"\nPower, exactly the slow ranks named in {POWER_RUNS} runs each:\n")
        for claim in CLAIMS:
            found = sum(claim.found((seed, 7)) for seed in range(POWER_RUNS))
            print(f"| {claim.what} | {found} |", flush=True)
    print(f"\nWorst bound: {worst:.2%} (limit {MOST:.0%})")
    return int(worst > MOST and runs >= RUNS)


if __name__ == "__main__":
    raise SystemExit(main())
