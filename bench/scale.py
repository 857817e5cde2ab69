"""Print time and peak memory of reading and analysing large runs on this machine.

    python bench/scale.py [--rounds N] [--write] [NAME ...]

`--write` puts it into docs/performance.md. The rank files are packed here by numpy
as the recorder packs them, because recording ten million steps would take minutes;
`tests/core/runs/test_scale.py` holds the two together. Every measurement is a process
of its own, taken after one that warmed the file cache; shown are the median of the
rounds and the highest peak of resident memory.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import numpy as np
import numpy.typing as npt

TITLE = "# Scale"
EPOCH_NS = 1_700_000_000_000_000_000
STARTUP_NS, SHUTDOWN_NS = 5_000_000, 2_000_000
BLOCK = 500
EVAL_EVERY, CHECKPOINT_EVERY = 100, 1_000

Column = tuple[str, str, str]
"""Kind, name and type, as in a block's header."""


@attrs.frozen
class Scene:
    """A run to make.

    Attributes:
        ranks: Number of rank files.
        steps: Steps of each.
        phases: Phases of a step, with their typical nanoseconds.
        scalars: Logged values, with their type on disk.
    """

    ranks: int
    steps: int
    phases: tuple[tuple[str, int], ...]
    scalars: tuple[tuple[str, str], ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of a plain step, as in a block's header."""
        phases = tuple(("p", name, "<i4") for name, _ in self.phases)
        return phases + tuple(("i" if t == "<i4" else "s", name, t) for name, t in self.scalars)


README = (("data", 60_000), ("forward", 90_000), ("backward", 150_000), ("optimizer", 40_000))
OTHER = ("other", 3_000)
SCENES = {
    "1 M steps": Scene(
        1, 1_000_000, (*README, OTHER), (("loss", "<f4"), ("lr", "<f4"), ("samples", "<i4"))
    ),
    "10 M steps, 10 columns": Scene(
        1,
        10_000_000,
        (*README, ("h2d", 9_000), OTHER),
        (("loss", "<f4"), ("grad_norm", "<f4"), ("lr", "<f4"), ("tokens", "<i4")),
    ),
    "10,000 ranks, 200 steps": Scene(10_000, 200, (*README, OTHER), (("loss", "<f4"),)),
    "64 ranks, 20,000 steps": Scene(64, 20_000, (*README, OTHER), (("loss", "<f4"),)),
}


def record(header: dict[str, object], data: bytes | None = None) -> bytes:
    if data is not None:
        header = {**header, "len": len(data)}
    text = json.dumps(header, separators=(",", ":")).encode()[:-1]
    line = text + b',"crc":%d}\n' % zlib.crc32(data or b"", zlib.crc32(text))
    return line if data is None else line + data + b"\n"


def opening(scene: Scene, rank: int) -> bytes:
    run = {"b": "run", "format": "pytscope.steps", "v": 1, "rank": rank, "world": scene.ranks}
    run |= {"attempt": 0, "step": 0, "name": "scale", "config": {"lr": 1e-3}, "environment": {}}
    run |= {"warmup": None, "job": None, "restart": None, "epoch_ns": EPOCH_NS + rank, "mono_ns": 1}
    startup = {"b": "event", "kind": "startup", "t": STARTUP_NS}
    return (
        record(run)
        + record({"b": "anchor", "t": 0, "epoch_ns": EPOCH_NS + rank})
        + record({**startup, "segments": [["other", STARTUP_NS]]})
    )


def durations(rng: np.random.Generator, typical: int, n: int) -> npt.NDArray[np.int64]:
    return (typical * rng.lognormal(0, 0.05, n)).astype(np.int64)


def block(scene: Scene, rng: np.random.Generator, first: int, n: int, t0: int) -> tuple[bytes, int]:
    """A block of steps of up to three shapes, and the time it covers."""
    step = np.arange(first, first + n)
    shape = np.zeros(n, np.uint8)
    shape[step % EVAL_EVERY == EVAL_EVERY - 1] = 1
    shape[step % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1] = 2
    present = np.unique(shape).tolist()
    patterns, data, wall = [], [], 0
    if len(present) > 1:
        data.append(np.searchsorted(present, shape).astype(np.uint8).tobytes())
    for kind in present:
        count = int((shape == kind).sum())
        extra = ((), ("eval", 30_000_000), ("checkpoint", 90_000_000))[kind]
        columns = list(scene.columns)
        values = [durations(rng, typical, count) for _, typical in scene.phases]
        if extra:
            columns.insert(len(values) - 1, ("p", extra[0], "<i4"))
            values.insert(-1, durations(rng, extra[1], count))
        wall += sum(int(column.sum()) for column in values)
        data += [column.astype("<i4").tobytes() for column in values]
        data += [durations(rng, 1_000, count).astype(t).tobytes() for _, t in scene.scalars]
        patterns.append([count, columns])
    header: dict[str, object] = {"b": "steps", "pats": patterns, "step": first, "n": n, "t0": t0}
    return record(header, b"".join(data)), wall


def rank_file(scene: Scene, rank: int) -> Iterator[bytes]:
    """The records of one rank."""
    yield opening(scene, rank)
    rng, t = np.random.default_rng(rank), STARTUP_NS
    for first in range(0, scene.steps, BLOCK):
        packed, wall = block(scene, rng, first, min(BLOCK, scene.steps - first), t)
        yield packed
        t += wall
    end: dict[str, object] = {"b": "end", "t": t + SHUTDOWN_NS, "wall_ns": t + SHUTDOWN_NS}
    end |= {"steps": scene.steps, "shutdown": [["other", SHUTDOWN_NS]], "dropped": 0}
    yield record({**end, "overhead_ns": scene.steps * 800, "writer_ns": scene.steps * 600})


def write_run(scene: Scene, folder: Path) -> int:
    """Write a run's rank files; returns their size in bytes."""
    folder.mkdir(parents=True)
    size = 0
    for rank in range(scene.ranks):
        with (folder / f"rank{rank:05d}.pts").open("wb") as file:
            size += sum(map(file.write, rank_file(scene, rank)))
    return size


READ = "import sys, pytscope; pytscope.open(sys.argv[1])"
COLUMNS = (
    READ.replace("pytscope.open", "t = pytscope.open")
    + ".timelines[0]; [t.phase_ns(p) for p in t.phases]; [t.column('scalar', s) for s in t.scalars]"
)
COMMANDS = {
    "open": ("-c", READ),
    "open, read every column": ("-c", COLUMNS),
    "analyze": ("-m", "pytscope", "analyze"),
    "analyze, JSON": ("-m", "pytscope", "analyze", "--format", "json"),
}


@attrs.frozen
class Taken:
    """What one process took: seconds, mebibytes at its peak, bytes printed."""

    seconds: float
    cpu_s: float
    peak_mib: float
    printed: int


def measured(command: Sequence[str]) -> Taken:
    """Run a command; its time, and its own peak of resident memory."""
    began = time.perf_counter()
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        printed = len(process.stdout.read())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    if process.returncode:
        raise SystemExit(process.returncode)
    return Taken(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, printed)


def rows(name: str, scene: Scene, rounds: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        size = write_run(scene, path) / 2**20
        yield f"| **{name}**, {size:,.0f} MiB on disk | | | | |"
        for what, command in COMMANDS.items():
            if scene.ranks > 1 and "column" in what:
                continue
            measured([*command, str(path)])
            taken = [measured([*command, str(path)]) for _ in range(rounds)]
            seconds = statistics.median(t.seconds for t in taken)
            cpu = statistics.median(t.cpu_s for t in taken)
            peak = max(t.peak_mib for t in taken)
            printed = f"{taken[0].printed:,}" if taken[0].printed else ""
            yield f"| {what} | {seconds:.2f} | {cpu:.2f} | {peak:,.0f} | {printed} |"


def section(names: Sequence[str], rounds: int) -> Iterator[str]:
    yield TITLE
    yield ""
    yield (
        f"Measured by `nox -s scale -- --write` on {platform.python_implementation()} "
        f"{platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} when "
        f"it began: whole processes, {rounds} of each, with the files in the system's cache. Wall "
        "and CPU time are medians; the peak is of resident memory, the highest of them."
    )
    yield ""
    yield (
        "A rank file is read once, piece by piece, and kept as it is on disk; columns are decoded "
        "when they are asked for. With eight columns that takes about 90 bytes a step to open a "
        "run and about 170 more while it is analysed (`tests/core/runs/test_scale.py`)."
    )
    yield ""
    yield "| | wall, s | CPU, s | peak, MiB | bytes printed |"
    yield "|---|---|---|---|---|"
    for name in names:
        yield from rows(name, SCENES[name], rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {'; '.join(SCENES)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    lines = []
    for line in section(args.names or list(SCENES), args.rounds):
        print(line, flush=True)
        lines.append(line)
    if args.write:
        import page  # beside this script, which tests load from elsewhere

        page.put("\n".join(lines))


if __name__ == "__main__":
    main()
