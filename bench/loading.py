"""Loading a million steps: seconds, and growth of memory, each in a process of its own.

    python bench/loading.py {ours,peer} FOLDER [SITE]

prints both; `measured` runs it.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time_ns
from typing import Any, NamedTuple

import loops

STATUS = Path("/proc/self/status")


class Loaded(NamedTuple):
    """What loading took.

    Attributes:
        cpu_s: CPU time.
        grown_bytes: Peak of the process's memory above what it had before.
    """

    cpu_s: float
    grown_bytes: int


def ticking() -> Callable[[], int]:
    """A clock whose readings are 1 to 30 ms apart."""
    rng, now = random.Random(2), [10**15]
    gaps = [rng.randrange(10**6, 3 * 10**7) for _ in range(10_007)]

    def clock() -> int:
        now[0] += gaps[now[0] % 10_007]
        return now[0]

    return clock


def record(prof: Any, stream: str, steps: int) -> None:
    """Record the steps of a stream."""
    with prof:
        loops.made(stream, steps=steps)(prof)


def load_ours(folder: Path) -> int:
    """Open a run and decode every column of it."""
    import pytscope

    (timeline,) = pytscope.open(folder).timelines
    for name in timeline.phases:
        timeline.phase_ns(name)
    for name in timeline.scalars:
        timeline.column("scalar", name)
    return len(timeline)


def load_peer(folder: Path, site: Path) -> int:
    """Load a run as the peer does."""
    import peer

    peer.load(site)
    store = sys.modules[peer.NAME].RunStore.load(folder)
    return len(store.steps)


def status_bytes(name: str) -> int:
    """A line of the process's status, or the peak that the platform knows."""
    if not STATUS.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return int(lines[name].split()[0]) * 1024


def measured(kind: str, folder: Path, site: Path) -> Loaded:
    """Load in a fresh process."""
    command = [sys.executable, __file__, kind, str(folder), str(site)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Loaded(**json.loads(out))


def main(kind: str, folder: Path, site: Path) -> None:
    load: Callable[[Path], int] = load_ours if kind == "ours" else lambda f: load_peer(f, site)
    load(folder / "small")  # imports are not loading
    before = status_bytes("VmRSS")
    began = process_time_ns()
    load(folder / "large")
    took = (process_time_ns() - began) / 1e9
    print(json.dumps({"cpu_s": took, "grown_bytes": status_bytes("VmHWM") - before}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
