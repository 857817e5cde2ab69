"""Print what recording costs on this machine, beside pytscope 0.2.1.

    python bench/recording.py --peer SITE [--quick] [--check] [--rounds N] [--write]

SITE is where `pip install --no-deps --target SITE pytscope==0.2.1` put it; `nox -s bench`
does that. `--check` ends with 1 when something is beyond half its target, `--write`
puts the tables into docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter_ns
from types import ModuleType
from typing import Any

import in_step
import loading
import loops
import page
import peer
from rounds import Timed, interleaved, ratio

from pytscope import Profiler

ROWS = {
    "memory": "begin, three marks, end, in memory",
    "full": "full, to disk",
    "mixed": "mixed, to disk",
    "off": "begin, three marks, end, not recording",
}
OWN = {
    "step block": "`with step()`, three marks, one `comm` block",
    "readme": "`iter_data`, `with step()`, three marks, one logged value",
}
SIZES = (
    ("full", loops.FULL, 500),
    ("mixed", loops.MIXED, 500),
    ("full, ten steps a second", loops.FULL, 10),
)
TARGETS = {
    "in memory, times as fast": 2.5,
    "full, training thread, times as fast": 5.0,
    "full, with the writer, times as fast": 5.0,
    "mixed, training thread, times as fast": 5.0,
    "mixed, with the writer, times as fast": 2.5,
    "not recording, times as fast": 1.0,
    "full, times smaller on disk": 4.0,
    "loading, times as fast": 60.0,
    "loading, times less memory": 5.0,
}


class Bench:
    """Recorders of both kinds, their loops, and what was found.

    Args:
        old: The peer's package.
        folder: Where runs go.
    """

    def __init__(self, old: ModuleType, folder: Path) -> None:
        self._old = old
        self._folder = folder
        self._recording: list[Any] = []
        self.variants: dict[str, Timed] = {}
        self._made()

    def _made(self) -> None:
        self._add("bare", loops.BARE, None)
        self._add("clock", loops.CLOCK, None)
        with peer.as_rank(1):
            off = self._old.Profiler(self._folder / "off")
        self._add("peer off", loops.MARKS, off)
        self._add("ours off", loops.MARKS, Profiler(self._folder / "idle"))
        memory = peer.in_memory(self._old.Profiler(self._folder / "memory"))
        self._add("peer memory", loops.MARKS, memory)
        silent = loops.in_memory(self._started(Profiler, "silent"))
        self._add("ours memory", loops.MARKS, silent, silent._events.clear)
        for name, body in (("full", loops.FULL), ("mixed", loops.MIXED)):
            self._add(f"peer {name}", body, self._started(self._old.Profiler, f"peer {name}"))
            self._recorded(f"ours {name}", body)
        self._recorded("step block", loops.MORE)
        self._recorded("readme", loops.README, over="prof.iter_data(range(steps))")

    def _recorded(self, name: str, body: str, **more: str) -> None:
        prof = self._started(Profiler, name)
        self._add(name, body, prof, loops.drained(prof), **more)

    def _started(self, kind: Any, name: str) -> Any:
        prof = kind(self._folder / name).start()
        self._recording.append(prof)
        return prof

    def _add(self, name: str, body: str, prof: Any, after: Any = None, **more: str) -> None:
        loop, after = loops.made(body, **more), after or (lambda: None)
        self.variants[name] = lambda: loops.timed(loop, prof, after)

    def finish(self) -> None:
        """End every recording."""
        for prof in self._recording:
            prof.finish()


def sizes_of(old: ModuleType, folder: Path) -> dict[str, tuple[float, float]]:
    """Bytes a step of each stream, the peer's and ours, of values as training has them."""
    found = {}
    for name, body, block in SIZES:
        place = folder / name
        loading.record(old.Profiler(place / "peer", clock=loading.ticking()), body, 20_000)
        settings = {"inline": True, "flush_every": block, "clock": loading.ticking()}
        loading.record(Profiler(place / "ours", **settings), body, 20_000)
        found[name] = (_peer_bytes(place / "peer"), _bytes(place / "ours"))
    return found


def _bytes(folder: Path) -> float:
    data = (folder / "rank00000.pts").read_bytes()
    return len(data) / json.loads(data[data.rindex(b'{"b":"end"') :])["steps"]


def _peer_bytes(folder: Path) -> float:
    data = (folder / "steps.jsonl").read_bytes()
    return len(data) / data.count(b"\n")


def load_both(old: ModuleType, site: Path, folder: Path, steps: int) -> list[loading.Loaded]:
    """Record one run with each, load it with each."""
    found = []
    for kind, make in (("peer", old.Profiler), ("ours", Profiler)):
        for name, n in (("small", 10), ("large", steps)):
            loading.record(make(folder / kind / name, clock=loading.ticking()), loops.FULL, n)
        found.append(loading.measured(kind, folder / kind, site))
    return found


def trained(old: ModuleType, folder: Path, rounds: int) -> dict[str, list[float]]:
    """A real step with no recorder, the clock alone, 0.2.1 and this one."""
    both = {
        "0.2.1": old.Profiler(folder / "trained by the peer").start(),
        "now": Profiler(folder / "trained").start(),
    }
    alone = {"nothing": in_step.Nothing(), "clock readings alone": in_step.Clock()}
    found = in_step.measured({**alone, **both}, rounds)
    for prof in both.values():
        prof.finish()
    return found


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


def reached(
    found: dict[str, list[tuple[float, ...]]],
    sizes: dict[str, tuple[float, float]],
    loaded: list[loading.Loaded],
) -> dict[str, float]:
    """What stands beside each target."""

    def faster(name: str, column: int) -> float:
        both = ([turn[column] for turn in found[f"{who} {name}"]] for who in ("peer", "ours"))
        return ratio(*both).value

    old, new = loaded
    values = [faster("memory", 0), *(faster(n, i) for n in ("full", "mixed") for i in (0, 1))]
    values.append(faster("off", 0))
    size = sizes["full"][0] / sizes["full"][1]
    more = (size, old.cpu_s / new.cpu_s, old.grown_bytes / new.grown_bytes)
    return dict(zip(TARGETS, (*values, *more), strict=True))


def missed(values: dict[str, float]) -> int:
    """Print every target and what was reached; count those not even half reached."""
    for name, value in values.items():
        print(f"{name}: {value:.2f}, target {TARGETS[name]:g}")
    return sum(value < TARGETS[name] / 2 for name, value in values.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", type=Path, required=True, metavar="SITE")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="60 rounds, less to load")
    parser.add_argument("--check", action="store_true", help="fail beyond half a target")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    args = parser.parse_args()
    rounds, steps = (60, 200_000) if args.quick else (args.rounds, 1_000_000)
    old = peer.load(args.peer)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(old, Path(folder))
        found = interleaved(bench.variants, rounds)
        bench.finish()
        sizes = sizes_of(old, Path(folder))
        loaded = load_both(old, args.peer, Path(folder), steps)
        parts = [
            page.HEAD.format(machine=page.machine(), steps=loops.STEPS, rounds=rounds),
            page.compared(found, ROWS),
            page.clock_share(found),
            page.in_training(trained(old, Path(folder), rounds)),
            page.sizes(sizes),
            page.loads(*loaded, steps),
            page.own(found, OWN),
            page.starts(start_up(max(10, rounds // 4))),
        ]
    text = "\n".join(parts) + page.WORDS
    print(text)
    if args.write:
        page.write(text)
    not_reached = missed(reached(found, sizes, loaded))
    raise SystemExit(args.check and not_reached > 0)


if __name__ == "__main__":
    main()
