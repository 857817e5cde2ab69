"""Print the false-positive rates, and the power, of core's statistical rules.

    python bench/rates.py [RUNS] [--markdown]

False alarms: a family of healthy runs a row, a length of run a column; alarms, and
the 95 % upper bound on the rate. Power: how often a rule finds what is there. Seeds
are fixed. Ends with status 1 when a promised family exceeds 1 %.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.core.builtin.rules import memory_noise  # found by the line above
from tests.core.builtin.rules.noise import (
    BEYOND,
    FAMILIES,
    RELATIONS,
    WARMING_UP,
    Family,
    alarms,
    healthy_run,
    interrupted_run,
    related_run,
    upper_bound,
)
from tests.core.builtin.rules.power import CLAIMS

from pytscope.builtin.rules import (
    backward_heavy,
    dataloader_bound,
    gc_pauses,
    h2d_bound,
    jitter,
    optimizer_heavy,
)
from pytscope.plugins.declare import Rule
from pytscope.runs.run import Run

RUNS = 628
LENGTHS = (20, 50, 200, 1_000)
MOST = 0.01
POWER_RUNS = 100

WHOLE: tuple[Rule, ...] = (jitter, dataloader_bound, backward_heavy, optimizer_heavy)
"""Rules that are shown runs whose phases vary together."""
RELATED: tuple[Rule, ...] = (backward_heavy, optimizer_heavy)
"""Rules that are shown runs whose phases vary against each other."""
INTERRUPTED: tuple[Rule, ...] = (h2d_bound, gc_pauses)
"""Rules that are shown runs which copy and collect as healthy ones do."""

Make = Callable[[Family, int, int], Run]
Counts = dict[tuple[str, str], list[int]]
"""Alarms by rule and family, one number a length."""


def cells(name: str, family: Family, make: Make, rules: Iterable[Rule], runs: int) -> Counts:
    """Alarms by rule and length."""
    found: Counts = {}
    for steps in LENGTHS:
        fired = alarms(rules, (make(family, steps, seed) for seed in range(runs)))
        for rule in rules:
            found.setdefault((rule.id, name), []).append(fired[rule.id])
    return found


def whole(name: str) -> Make:
    """Runs whose phases vary together."""
    warmup = None if name in WARMING_UP else 0
    return lambda family, steps, seed: healthy_run(family, steps, seed, warmup=warmup)


def related(ratio: float, update: float) -> Make:
    """Runs whose phases vary against each other."""
    return lambda family, steps, seed: related_run(family, steps, seed, ratio=ratio, update=update)


def false_alarms(runs: int) -> Counts:
    """All promised families."""
    found: Counts = {}
    for name, family in FAMILIES.items():
        found |= cells(f"all phases: {name}", family, whole(name), WHOLE, runs)
    for ratio, update in ((2.0, 1 / 16), (4.0, 1 / 6)):
        for name, family in RELATIONS.items():
            label = f"ratio {ratio:.0f}, update {update:.0%}: {name}"
            found |= cells(label, family, related(ratio, update), RELATED, runs)
    for name, family in FAMILIES.items():
        found |= cells(f"interrupted: {name}", family, interrupted_run, INTERRUPTED, runs)
    return found


def beyond(runs: int) -> Counts:
    """Families beyond what is promised."""
    found: Counts = {}
    for name, family in BEYOND.items():
        found |= cells(f"all phases: {name}", family, whole(name), WHOLE, runs)
    return found


def memory(runs: int, *, walks: bool) -> Counts:
    """Families of memory after each step: random walks, or all others."""
    return {
        ("MEMORY.GROWTH", name): [
            memory_noise.memory_alarms(draw, steps, range(runs)) for steps in memory_noise.LENGTHS
        ]
        for name, draw in memory_noise.FAMILIES.items()
        if (name in memory_noise.WALKS) is walks
    }


def show(
    counts: Mapping[tuple[str, str], list[int]],
    runs: int,
    *,
    markdown: bool,
    lengths: tuple[int, ...] = LENGTHS,
) -> None:
    """Print a table, rule by rule."""
    rows = sorted(counts.items(), key=lambda item: item[0][0])
    if markdown:
        print("| rule | healthy runs |" + "".join(f" {n:,} steps |" for n in lengths) + " bound |")
        print("|---|---|" + "---|" * (len(lengths) + 1))
    for (rule, name), fired in rows:
        bound = upper_bound(max(fired), runs)
        if markdown:
            row = "".join(f" {n} |" for n in fired)
            print(f"| {rule} | {name} |{row} {bound:.2%} |")
        else:
            row = " ".join(f"{n:5}" for n in fired)
            print(f"{rule:24} {name:58} {row}  of {runs}  <= {bound:.2%}")


def main() -> int:
    arguments = [a for a in sys.argv[1:] if a != "--markdown"]
    markdown = "--markdown" in sys.argv
    runs = int(arguments[0]) if arguments else RUNS
    promised = false_alarms(runs)
    print(f"False alarms in {runs} runs each, and the 95 % upper bound on the worst of a row:\n")
    show(promised, runs, markdown=markdown)
    print(f"\nThe same of memory, in {', '.join(map(str, memory_noise.LENGTHS))} steps:\n")
    tables = [(promised, runs)]
    for walks in (False, True):
        tables.append(
            (memory(times := runs * (memory_noise.MORE if walks else 1), walks=walks), times)
        )
        show(*tables[-1], markdown=markdown, lengths=memory_noise.LENGTHS)
    print("\nBeyond what is promised:\n")
    show(beyond(min(runs, 200)), min(runs, 200), markdown=markdown)
    print(f"\nPower, found in {POWER_RUNS} runs each:\n")
    for claim in CLAIMS:
        found = Counter(claim.found(seed) for seed in range(POWER_RUNS))[True]
        print(f"| {claim.rule.id} | {claim.what} | {found} |")
    for leak in memory_noise.LEAKS:
        tries = POWER_RUNS if leak.steps <= max(LENGTHS) * 2 else POWER_RUNS // 5
        found = Counter(leak.found(seed) for seed in range(tries))[True]
        print(f"| MEMORY.GROWTH | {leak.what} | {found} of {tries} |")
    worst = max(upper_bound(max(f), times) for counts, times in tables for f in counts.values())
    print(f"\nWorst bound of the promised families: {worst:.2%} (limit {MOST:.0%})")
    return int(worst > MOST)


if __name__ == "__main__":
    raise SystemExit(main())
