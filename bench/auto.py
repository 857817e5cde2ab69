"""Print what AutoProfiler adds to a training step, beside pytscope 0.2.1's and TraceML.

    python bench/auto.py --peer SITE [--traceml VENV] [--quick] [--check] [--rounds N] [--write]

SITE is where `pip install --no-deps --target SITE pytscope==0.2.1` put it, VENV an
environment with `traceml-ai` and torch. `--check` ends with 1 when something is beyond
twice its goal, `--write` puts the section into docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from time import perf_counter_ns, process_time_ns, thread_time_ns
from typing import Any

import auto_page
import loops
import page
import seam_share
import tiny
import torch
from rounds import Middle, difference, interleaved, middle

from pytscope.auto import AutoProfiler

STEPS = 50
"""Steps of a turn that are timed; the first ones of a recording, before them, are not."""
WARM_UP = 200
"""The first of them are watched more closely; memory is read after each of the first 128."""
LOADER = " loader"
ROWS = {
    "": "the loop over a list",
    LOADER: "the loop over a `DataLoader`",
    " memory": "the loop over a list, `collect_memory`",
}
GOALS = {
    "AutoProfiler, total, of 0.2.1's": 0.5,
    "AutoProfiler, total, µs": 20.0,
    "AutoProfiler with a DataLoader, total, µs": 20.0,
}
LASTING = ("pytscope-writer", "pytscope-memory")
"""Threads that do not end by themselves."""
WRITTEN = 2_000
"""Steps of which it is measured what writing them takes: some wakes of the writer."""
TIMES = 5
"""Processes of each kind, when each recorder has one of its own."""


class Turn:
    """One recording after the other, each of some steps, started and finished outside the time.

    Args:
        training: What is trained.
        make: Makes what records, in a `with`, or None.
        loader: Whether the loop fetches from a `DataLoader`.

    Attributes:
        starts: Milliseconds that each start took.
    """

    def __init__(
        self, training: tiny.Training, make: Callable[[], Any], *, loader: bool = False
    ) -> None:
        self._make = make
        self._loop = training.loop()
        self._batches = training.loader if loader else training.batches
        self.starts: list[float] = []

    def __call__(self) -> tuple[float, ...]:
        """CPU nanoseconds of this thread in a step."""
        with closing(Started(self._make, self.starts)) as started:
            self._loop(self._batches(WARM_UP))
            started.settle()
            return (tiny.own_ns(self._loop, self._batches(STEPS)),)

    def others(self) -> float:
        """CPU nanoseconds of all other threads for a step, until everything is written."""
        with closing(Started(self._make, [])) as started:
            self._loop(self._batches(WARM_UP))
            started.settle()
            before = process_time_ns() - thread_time_ns()
            self._loop(self._batches(WRITTEN))
            started.drained()
            return (process_time_ns() - thread_time_ns() - before) / WRITTEN


class Started:
    """What records, started.

    Args:
        make: Makes it.
        starts: Gets the milliseconds that starting took.
    """

    def __init__(self, make: Callable[[], Any], starts: list[float]) -> None:
        prof = make()
        began = perf_counter_ns()
        self._prof = prof if prof is None else prof.start()
        starts.append((perf_counter_ns() - began) / 1e6)
        ours = isinstance(prof, AutoProfiler)
        self.drained = loops.drained(prof) if ours else _nothing

    def settle(self) -> None:
        """Wait until what a start leaves to other threads is done."""
        while any(
            thread.name.startswith("pytscope-") and thread.name not in LASTING
            for thread in threading.enumerate()
        ):
            time.sleep(0.002)
        self.drained()

    def close(self) -> None:
        """End the recording."""
        if self._prof is not None:
            self._prof.finish()


def _nothing() -> None:
    """The peer writes from the training thread."""


def variants(folder: Path, peer_auto: Any) -> dict[str, Turn]:
    """Every loop: bare, recorded by the peer, recorded by us; each in its own code object."""
    training = tiny.Training()
    numbers = iter(range(10**9))

    def made(kind: Any, **options: Any) -> Callable[[], Any]:
        given = (training.model, training.optimizer)
        return lambda: kind(folder / str(next(numbers)), *given, **options)

    kinds = {"bare": None, "peer": peer_auto, "ours": AutoProfiler}
    found = {}
    for who, kind in kinds.items():
        nobody = kind is None
        for name in ROWS:
            options = {"collect_memory": True} if name == " memory" else {}
            make = (lambda: None) if nobody else made(kind, **options)
            found[who + name] = Turn(training, make, loader=name == LOADER)
    del found["bare memory"]
    return found


class Found:
    """What was found.

    Args:
        turns: Of every loop, nanoseconds of its turns.
        written: Of every loop, nanoseconds that other threads took for a step.
    """

    def __init__(
        self, turns: Mapping[str, list[tuple[float, ...]]], written: Mapping[str, float]
    ) -> None:
        self._turns = turns
        self._written = written

    def us(self, name: str) -> list[float]:
        """Microseconds of a step in each turn of a loop."""
        return [turn[0] / 1e3 for turn in self._turns[name]]

    def added(self, who: str, name: str, *, total: bool) -> Middle:
        """Microseconds more than the bare loop: the median over the rounds."""
        bare = "bare" + (name if name == LOADER else "")
        more = difference(self.us(who + name), self.us(bare))
        beside = self._written[who + name] / 1e3 if total else 0.0
        return Middle(*(value + beside for value in more))

    def share(self, name: str, *, total: bool) -> Middle:
        """What we add as a part of what the peer adds: the medians' ratio, its widest interval."""
        ours, peers = (self.added(who, name, total=total) for who in ("ours", "peer"))
        return Middle(ours.value / peers.value, ours.low / peers.high, ours.high / peers.low)

    def seams(self) -> dict[str, tuple[Middle, Middle]]:
        """Microseconds that each seam adds alone, and that the others lack without it."""
        bare, whole = self.us("bare" + LOADER), self.us("all")
        return {
            name: (
                difference(self.us(f"only {name}"), bare),
                difference(whole, self.us(f"without {name}")),
            )
            for name in seam_share.SEAMS
        } | {"all of them": (difference(whole, bare), difference(whole, bare))}

    def reached(self) -> dict[str, float]:
        """What stands beside each goal."""
        added = [self.added("ours", name, total=True).value for name in ("", LOADER)]
        return dict(zip(GOALS, (self.share("", total=True).value, *added), strict=True))


def alone(
    site: Path, venv: Path | None, folder: Path, times: int
) -> dict[str, list[dict[str, float]]]:
    """Each recorder in processes of its own, taking turns: what a step takes, and a start."""
    kinds = ["bare", "0.2.1", "now", *(["traceml"] if venv else [])]
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
    for turn in range(times):
        for kind in kinds:
            command = _command(kind, site, venv, folder / f"{kind}-{turn}")
            environ = os.environ | {"OMP_NUM_THREADS": "1"}
            out = subprocess.run(
                command, check=True, capture_output=True, text=True, env=environ, cwd=folder
            ).stdout
            lines = [line[line.index("{") :] for line in out.splitlines() if '{"wall_us"' in line]
            found[kind].append(json.loads(lines[-1]))
    return found


def _command(kind: str, site: Path, venv: Path | None, folder: Path) -> list[str]:
    script = [str(Path(tiny.__file__).absolute())]
    words = [kind, str(folder.absolute()), "--peer", str(site.absolute())]
    if kind != "traceml" or venv is None:
        return [sys.executable, *script, *words]
    launcher = [str(venv.absolute() / "bin" / "traceml"), "run", "--run-name", folder.name]
    return [*launcher, "--logs-dir", str(folder.absolute()), *script, "--args", *words[:2]]


def missed(values: Mapping[str, float]) -> int:
    """Print every goal and what was reached; count those missed by more than twice."""
    for name, value in values.items():
        print(f"{name}: {value:.2f}, goal at most {GOALS[name]:g}")
    return sum(value > 2 * GOALS[name] for name, value in values.items())


def section(args: argparse.Namespace, folder: Path) -> tuple[str, dict[str, float]]:
    """Measure everything; the section of the page, and what stands beside the goals."""
    rounds, times = (40, 3) if args.quick else (args.rounds, TIMES)
    turns = variants(folder, tiny.peer_auto(args.peer))
    both = interleaved({**turns, **seam_share.variants(tiny.Training())}, rounds)
    written = {
        name: statistics.median(turn.others() for _ in range(times)) for name, turn in turns.items()
    }
    found = Found(both, written)
    head = {"machine": page.machine(), "torch": torch.__version__, "rounds": rounds}
    head |= {"steps": STEPS, "written": WRITTEN}
    parts = [
        auto_page.HEAD.format(**head, bare=middle(found.us("bare")).value),
        auto_page.compared(ROWS, found.added, found.share),
        auto_page.SEAMS,
        auto_page.seams(found.seams()),
        auto_page.starts({"0.2.1": turns["peer"].starts, "now": turns["ours"].starts}),
        auto_page.ALONE.format(times=times, steps=tiny.STEPS),
        auto_page.alone(alone(args.peer, args.traceml, folder, times)),
    ]
    return "\n".join(parts) + auto_page.WORDS, found.reached()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", type=Path, required=True, metavar="SITE")
    parser.add_argument("--traceml", type=Path, metavar="VENV")
    parser.add_argument("--rounds", type=int, default=80)
    parser.add_argument("--quick", action="store_true", help="40 rounds, fewer processes")
    parser.add_argument("--check", action="store_true", help="fail beyond twice a goal")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    args = parser.parse_args()
    logging.disable(logging.WARNING)  # what a recording says of the loop is not the question
    with tempfile.TemporaryDirectory() as folder:
        text, values = section(args, Path(folder))
    print(text)
    if args.write:
        page.put(text)
    raise SystemExit(missed(values) > 0 and args.check)


if __name__ == "__main__":
    main()
