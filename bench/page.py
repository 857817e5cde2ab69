"""What the measurements say, as the first part of docs/performance.md."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from loading import Loaded
from rounds import Middle, difference, middle, ratio

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
NEXT = "\n# "
"""Where the parts begin that bench/auto.py and bench/scale.py write."""
HEAD = """# What recording costs

Measured by `nox -s bench -- --write` against pytscope 0.2.1, which is loaded under another name
into the same process: {machine}.

Loops take turns in random order, {steps:,} steps each, {rounds} rounds; steps follow each other
without work between them. *Loop* is CPU time of the training thread, *total* of the whole process
until everything is on disk, so with the writer thread. A ratio is the median of the ratios of the
rounds, in brackets the interval that holds it in 95 of 100 repetitions.
"""
WORDS = """
## What the words mean

- A *full* step: begin, four marks, `log(loss, grad_norm, lr)`, end. *Mixed*: the same marks,
  logging every 10th step, evaluation every 50th, garbage collection in 3 of 100, printing in 5.
- *In memory*: nothing is written. Five readings of the clock, five calls and ten appends are what
  recording cannot do without; the rest is the check that the calling thread is the one that trains.
- The writer thread takes what waits each second, or each 500 steps. Steps that do no work, as
  these, compete with it for the interpreter; in training it runs beside the kernels.
- A block has a header of 300 bytes and more, so that a step takes more bytes the fewer there are
  in a second: with ten a second it is still below a kilobyte a second.
- Steps of one shape are packed column by column. Steps of many shapes cost the writer more, not
  the loop.

## What is not measured

CUDA events, device memory and `sync=True` have no figures here, for want of a GPU; neither have
network file systems. [validation.md](validation.md) says how to get them. Other Python versions
than the one named above have other figures: of a step in memory, 3.12 and 3.13 take about as many
clock readings.
"""
Rows = Iterable[Sequence[str]]


def machine() -> str:
    """Interpreter and processors."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, {_processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text().splitlines() if listing.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def table(head: Sequence[str], rows: Rows) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _with(value: Middle, form: str) -> str:
    return f"{value.value:{form}} ({value.low:{form}} to {value.high:{form}})"


def times(peer: Sequence[float], ours: Sequence[float]) -> str:
    """How many times as fast, with its interval."""
    return _with(ratio(peer, ours), ".1f") + "x"


def compared(found: Mapping[str, list[tuple[float, ...]]], rows: Mapping[str, str]) -> str:
    """Nanoseconds a step of both recorders in every loop.

    Args:
        found: Per variant, loop and total of every round; variants are named
            `peer NAME` and `ours NAME`.
        rows: Titles by NAME.
    """
    lines = []
    for name, title in rows.items():
        for column, what in enumerate(("loop", "total")):
            peer = [turn[column] for turn in found[f"peer {name}"]]
            ours = [turn[column] for turn in found[f"ours {name}"]]
            if column and name in {"memory", "off"}:
                continue  # no writer
            medians = [f"{statistics.median(v):,.0f}" for v in (peer, ours)]
            lines.append([title, what, *medians, times(peer, ours)])
    return table(["a step", "", "0.2.1, ns", "now, ns", "faster"], lines)


def clock_share(found: Mapping[str, list[tuple[float, ...]]]) -> str:
    """How much of recording a step into memory is reading the clock."""
    bare, clock, ours = ([t[0] for t in found[n]] for n in ("bare", "clock", "ours memory"))
    reading = difference(clock, bare)
    part = middle([(c - b) / (o - b) for b, c, o in zip(bare, clock, ours, strict=True)])
    return (
        f"Five clock readings take {reading.value:,.0f} ns, {part.value:.0%} "
        f"({part.low:.0%} to {part.high:.0%}) of what recording that step in memory takes.\n"
    )


def sizes(bytes_a_step: Mapping[str, tuple[float, float]]) -> str:
    """Bytes a step of both recorders."""
    rows = [
        [name, f"{peer:.1f}", f"{ours:.1f}", f"{peer / ours:.1f}x"]
        for name, (peer, ours) in bytes_a_step.items()
    ]
    return table(["bytes on disk a step", "0.2.1", "now", "smaller"], rows)


def loads(peer: Loaded, ours: Loaded, steps: int) -> str:
    """Loading one run with both."""
    grown = [f"{loaded.grown_bytes / 2**20:,.0f}" for loaded in (peer, ours)]
    rows = [
        ["CPU, s", f"{peer.cpu_s:.2f}", f"{ours.cpu_s:.3f}", f"{peer.cpu_s / ours.cpu_s:.0f}x"],
        ["memory grown, MiB", *grown, f"{peer.grown_bytes / ours.grown_bytes:.1f}x"],
    ]
    return table([f"loading {steps:,} full steps, every column", "0.2.1", "now", "less"], rows)


def in_training(found: Mapping[str, list[float]]) -> str:
    """What each recorder adds to a real step."""
    bare = found["nothing"]
    rows = [
        [name, f"{statistics.median(took):,.1f}", _with(difference(took, bare), ".1f")]
        for name, took in found.items()
    ]
    return table(["torch CPU step of one thread, with", "µs", "added µs"], rows)


def own(found: Mapping[str, list[tuple[float, ...]]], names: Mapping[str, str]) -> str:
    """What other calls of this recorder cost, bytes beside."""
    rows = [
        [names[name], *(f"{statistics.median(t[i] for t in found[name]):,.0f}" for i in (0, 1))]
        for name in names
    ]
    return table(["a step of", "loop, ns", "total, ns"], rows)


def starts(found: Mapping[str, list[float]]) -> str:
    """Milliseconds to start."""
    rows = [[f"`{name}`", f"{statistics.median(took):.1f}"] for name, took in found.items()]
    return table(["process", "ms, median"], rows)


def write(text: str) -> None:
    """Put it in front of what other benchmarks wrote."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    _, found, rest = page[1:].partition(NEXT)
    PAGE.write_text(text.rstrip() + "\n" + (found + rest if found else ""), encoding="utf-8")


def put(text: str) -> None:
    """Put a section where one of its title was, or at the end of the page."""
    title, _, _ = text.partition("\n")
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    before, _, old = page.partition(f"{title}\n")
    _, found, after = old.partition(NEXT)
    rest = found + after if found else ""
    PAGE.write_text(f"{before.rstrip()}\n\n{text.rstrip()}\n{rest}", encoding="utf-8")
