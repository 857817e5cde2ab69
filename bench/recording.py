"""Print what recording costs on this machine; `--write` puts it into docs/performance.md.

    python bench/recording.py [--rounds N] [--write]

Variants take turns in random order, a short slice each, so that a slow moment
of the machine hits all of them. Shown are the median over the rounds of the
training thread's CPU time a step, and the median and quartiles of its difference
to the bare loop. Steps follow each other without work between them, which is
the worst case: the writer thread is busy all the time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns, thread_time_ns

from pytscope import Profiler

STEPS = 2_000
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
Slice = Callable[[], None]


def bare() -> None:
    for _ in range(STEPS):
        pass


def marks(prof: Profiler) -> None:
    for _ in range(STEPS):
        prof.begin_step()
        prof.mark("forward")
        prof.mark("backward")
        prof.mark("optimizer")
        prof.end_step()


def blocks(prof: Profiler) -> None:
    for _ in range(STEPS):
        with prof.step():
            prof.mark("forward")
            prof.mark("backward")
            with prof.comm():
                pass
            prof.mark("optimizer")


def loop_of_the_readme(prof: Profiler) -> None:
    for i in prof.iter_data(range(STEPS)):
        with prof.step():
            prof.mark("forward")
            prof.mark("backward")
            prof.mark("optimizer")
            prof.log(loss=0.5, samples=i)


def timed(call: Slice) -> float:
    """CPU time of this thread, nanoseconds a step: a busy writer does not count twice."""
    began = thread_time_ns()
    call()
    return (thread_time_ns() - began) / STEPS


def interleaved(variants: dict[str, Slice], rounds: int) -> dict[str, list[float]]:
    """Nanoseconds a step of each variant in each round."""
    names, rng = list(variants), random.Random(0)
    found: dict[str, list[float]] = {name: [] for name in names}
    for call in variants.values():
        call()
    for _ in range(rounds):
        rng.shuffle(names)
        for name in names:
            found[name].append(timed(variants[name]))
    return found


def row(name: str, times: list[float], base: list[float]) -> str:
    more = [a - b for a, b in zip(times, base, strict=True)]
    low, middle, high = statistics.quantiles(more, n=4)
    return (
        f"| {name} | {statistics.median(times):,.0f} | {middle:,.0f} ({low:,.0f} to {high:,.0f}) |"
    )


def on_disk(folder: Path) -> tuple[float, float]:
    """Bytes a step, and the writer thread's nanoseconds a step."""
    data = (folder / "rank00000.pts").read_bytes()
    end = json.loads(data[data.rindex(b'{"b":"end"') :])
    return len(data) / end["steps"], end["writer_ns"] / end["steps"]


def start_up(rounds: int) -> dict[str, list[float]]:
    """Milliseconds of a process that imports nothing, or pytscope, or its Profiler."""
    codes = {
        "python -c pass": "pass",
        "import pytscope": "import pytscope",
        "from pytscope import Profiler": "from pytscope import Profiler",
    }
    found: dict[str, list[float]] = {name: [] for name in codes}
    for _ in range(rounds):
        for name, code in codes.items():
            began = perf_counter_ns()
            subprocess.run([sys.executable, "-c", code], check=True)
            found[name].append((perf_counter_ns() - began) / 1e6)
    return found


def report(rounds: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        ran = [Profiler(Path(folder) / str(i)).start() for i in range(3)]
        idle = Profiler(Path(folder) / "idle")
        variants: dict[str, Slice] = {
            "bare loop": bare,
            "not recording: step, three marks": lambda: marks(idle),
            "step, three marks": lambda: marks(ran[0]),
            "step, three marks, one `comm` block": lambda: blocks(ran[1]),
            "fetch, step, three marks, two logged values": lambda: loop_of_the_readme(ran[2]),
        }
        found = interleaved(variants, rounds)
        for prof in ran:
            prof.finish()
        disk = [on_disk(Path(folder) / str(i)) for i in range(3)]
    lines = ["| a step of | ns | more than the bare loop (quartiles) |", "|---|---|---|"]
    lines += [row(name, times, found["bare loop"]) for name, times in found.items()]
    lines += ["", "| a step of | bytes on disk | writer thread, ns |", "|---|---|---|"]
    recorded = list(variants)[2:]
    lines += [f"| {n} | {b:.1f} | {w:,.0f} |" for n, (b, w) in zip(recorded, disk, strict=True)]
    lines += ["", "| process | ms, median |", "|---|---|"]
    lines += [
        f"| `{n}` | {statistics.median(t):.1f} |" for n, t in start_up(max(10, rounds // 4)).items()
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    machine = (
        f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores"
    )
    text = (
        f"# What recording costs\n\nMeasured by `nox -s bench -- --write` on {machine}, load "
        f"{os.getloadavg()[0]:.1f}, {args.rounds} rounds of {STEPS:,} steps: CPU time of the "
        f"training thread, and of the writer thread beside it.\n\n{report(args.rounds)}\n"
    )
    print(text)
    if args.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
