"""Check on a file system what recording relies on: appending, locks, surviving a kill.

    python bench/folder_check.py FOLDER            # a folder on that file system
    python bench/folder_check.py FOLDER --hold 60  # two hosts: on the first …
    python bench/folder_check.py FOLDER --beside   # … and meanwhile on the second

Needs pytscope-core. docs/validation.md says what to expect. Ends with 1 when a check
failed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytscope
from pytscope import Profiler

Outcome = tuple[str, str]
"""`passed`, `failed` or `skipped`, and what was seen."""
TOGETHER = "two-hosts"
SPAWN = multiprocessing.get_context("spawn")


def verdict(good: bool, seen: str) -> Outcome:
    return ("passed" if good else "failed", seen)


def train(folder: Path, steps: int, step_s: float, done: object = None) -> None:
    """Record some steps; counts them in a shared value."""
    with Profiler(folder) as prof:
        for i in range(steps):
            with prof.step():
                time.sleep(step_s)
                prof.mark("forward")
                prof.log(loss=1 / (i + 1))
            if done is not None:
                done.value = i + 1  # type: ignore[attr-defined]  # a multiprocessing value


def written_and_read(folder: Path) -> Outcome:
    """What is recorded is what is read."""
    train(folder, 300, 0.0005)
    run = pytscope.open(folder)
    steps, finished = len(run.shown), all(a.finished for a in run.shown.attempts)
    notes = [note.message for note in run.notes]
    good = steps == 300 and finished and not notes
    return verdict(good, f"{steps} of 300 steps, finished: {finished}, notes: {notes or 'none'}")


def second_process(folder: Path) -> Outcome:
    """A second process of the same rank takes a file of its own."""
    done = SPAWN.Value("i", 0)
    first = SPAWN.Process(target=train, args=(folder, 10**6, 0.001, done))
    first.start()
    wait_for(lambda: done.value > 0)
    train(folder, 20, 0.001)
    first.kill()
    first.join()
    names = sorted(path.name for path in folder.glob("*.pts"))
    return verdict(names == ["rank00000.1.pts", "rank00000.pts"], f"files {', '.join(names)}")


def wait_for(happened: Callable[[], bool], patience_s: float = 30.0) -> None:
    """Wait for another process."""
    until = time.monotonic() + patience_s
    while not happened() and time.monotonic() < until:
        time.sleep(0.02)


def live_and_killed(folder: Path) -> Outcome:
    """Another process reads a run that is going on; a kill costs its last two seconds at most."""
    done = SPAWN.Value("i", 0)
    child = SPAWN.Process(target=train, args=(folder, 10**6, 0.002, done))
    child.start()
    wait_for(lambda: done.value > 0)
    time.sleep(1.5)
    live = pytscope.open(folder).live
    seconds_ago = done.value
    time.sleep(2)
    child.kill()
    child.join()
    run = pytscope.open(folder)
    steps = len(run.shown)
    good = live and steps >= seconds_ago and not any(a.finished for a in run.shown.attempts)
    seen = f"read live: {live}; {steps} steps on disk, {done.value} done, "
    return verdict(good, f"{seen}{seconds_ago} two seconds before the kill")


def stall(folder: Path) -> Outcome:
    """How long writes take here, and that the training thread does not notice them."""
    folder.mkdir(parents=True)
    took = []
    with (folder / "plain").open("ab", buffering=0) as file:
        for _ in range(100):
            began = time.perf_counter()
            file.write(b"x" * 20_000)
            took.append(time.perf_counter() - began)
    began = time.perf_counter()
    with Profiler(folder / "run", flush_every=100) as prof:
        begun = time.perf_counter()
        for _ in range(20_000):
            with prof.step():
                prof.mark("forward")
        looped = time.perf_counter() - begun
    finished = time.perf_counter() - began - looped
    kept = len(pytscope.open(folder / "run").shown)
    seen = f"20 kB in {median(took) * 1e3:.2f} ms, at worst {max(took) * 1e3:.2f} ms; "
    seen += f"a step {looped / 20_000 * 1e6:.1f} µs; start and finish {finished * 1e3:.0f} ms"
    return verdict(kept == 20_000, seen)


CHECKS: tuple[Callable[[Path], Outcome], ...] = (
    written_and_read,
    second_process,
    live_and_killed,
    stall,
)


def hold(folder: Path, seconds: float) -> int:
    """Record on this host for a while."""
    print(f"recording into {folder} for {seconds:g} s; now --beside on the other host", flush=True)
    train(folder, int(seconds / 0.01), 0.01)
    return 0


def beside(folder: Path) -> int:
    """Record the same rank from another host, and see which file it got."""
    train(folder, 20, 0.001)
    names = sorted(path.name for path in folder.glob("*.pts"))
    good = len(names) == 2
    print(f"{'passed' if good else 'failed'}  two_hosts: files {', '.join(names)}")
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hold", type=float, metavar="SECONDS")
    parser.add_argument("--beside", action="store_true")
    asked = parser.parse_args()
    if asked.hold:
        return hold(asked.folder / TOGETHER, asked.hold)
    if asked.beside:
        return beside(asked.folder / TOGETHER)
    asked.folder.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="check-", dir=asked.folder))
    print(f"{os.uname().sysname if hasattr(os, 'uname') else os.name}, into {place}", flush=True)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for check in CHECKS:
        outcome, seen = check(place / check.__name__)
        counts[outcome] += 1
        print(f"{outcome}  {check.__name__}: {seen}", flush=True)
    print(", ".join(f"{n} {word}" for word, n in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
