"""Train with a slow rank in a known place, and with none; print whom the report names.

    python bench/accuracy.py [--seeds 8] [--nulls 20] [--ranks 4] [--steps 120] [--check]

Each run is `examples/ddp_gloo.py`: real gloo processes, DistributedDataParallel untouched,
work that sleeps. A row a place, where the delay is put; right means that this rank alone is
named, and its phase. `--check` ends with 1 below nine in ten right, or with a healthy rank
named as confirmed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import pytscope
from pytscope.model.findings import Confidence
from pytscope_rules_distributed import Stragglers

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "ddp_gloo.py"
PHASES = {
    "data": "data",
    "forward": "forward",
    "backward": "backward",
    "host": "other",
    "optimizer": "optimizer",
}
"""What the time of each place is in a report."""
ENOUGH = 0.9


def trained(folder: Path, args: argparse.Namespace, seed: int, *more: str) -> pytscope.Report:
    """One run's report."""
    words = [sys.executable, str(EXAMPLE), "--run", str(folder), "--seed", str(seed)]
    words += ["--ranks", str(args.ranks), "--steps", str(args.steps), *more]
    subprocess.run(words, check=True)
    return pytscope.analyze(folder)


def named(report: pytscope.Report) -> tuple[list[tuple[int, str]], str]:
    """Ranks that the rule named, with their phases; and how sure it is."""
    found = [finding for finding in report.findings if finding.rule == "DIST.STRAGGLER"]
    stragglers = report.analyses.get("stragglers")
    if not found or not isinstance(stragglers, Stragglers):
        return [], ""
    (finding,) = found
    phases = {one.rank: one.phase for one in stragglers.slow}
    return [(rank, phases.get(rank, "")) for rank in finding.ranks], finding.confidence.value


def main() -> int:
    """Train, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=8, help="runs a place")
    parser.add_argument("--nulls", type=int, default=20, help="runs without a slow rank")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--delay-ms", type=float, default=6.0)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for where, phase in PHASES.items():
            hits, seen = 0, []
            for seed in range(args.seeds):
                rank = seed % args.ranks
                slow = ("--straggler-rank", str(rank), "--where", where)
                more = (*slow, "--delay-ms", str(args.delay_ms))
                ranks, sure = named(trained(place / f"{where}{seed}", args, seed, *more))
                hits += ranks == [(rank, phase)]
                seen.append(f"{rank}: {ranks} {sure}")
            right += hits
            print(f"{where:10} right {hits} of {args.seeds}", *seen, sep="\n    ", flush=True)
        wrong = 0
        for seed in range(args.nulls):
            ranks, sure = named(trained(place / f"null{seed}", args, 100 + seed))
            wrong += sure == Confidence.CONFIRMED.value
            if ranks:
                print(f"nowhere    named {ranks} {sure}", flush=True)
        print(f"nowhere    named as confirmed {wrong} of {args.nulls}")
    runs = args.seeds * len(PHASES)
    print(f"right {right} of {runs}")
    return int(args.check and (right < ENOUGH * runs or wrong > 0))


if __name__ == "__main__":
    sys.exit(main())
