"""The section on AutoProfiler in docs/performance.md."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import page
from rounds import Middle

HEAD = """# AutoProfiler

Measured by `nox -s bench -- --auto --traceml --write`: {machine}, PyTorch {torch}.

The step is forward, loss, backward, `SGD.step()` and `zero_grad()` of a three-layer model on one
CPU thread: {bare:,.0f} µs when nothing is recorded. {rounds} rounds in one process; in each, every
loop has a turn of {steps} steps, in random order, between a start and a finish that are not timed.
A turn is worth what its least disturbed tenth of steps took, in CPU time of the training thread
(*loop*). *Total* has the writer thread's time in it, measured over {written:,} steps until all was
on disk. *Added* is beyond the bare loop's turn of the same round: the median of the rounds, with
the interval that holds it in 95 of 100 repetitions.
"""
SEAMS = """
*Loop* is most of it, and most of that is cold: between two stamps a step goes through more code and
data than the caches hold. A seam alone therefore adds more than it adds to the others, in a loop
over a `DataLoader`, the stamps kept by nobody:
"""
ALONE = """
Each recorder in processes of its own, {times} times in turn, {steps:,} steps each: medians and
extremes of what a step takes. TraceML 0.5.0 wants a block around each step, which all loops have
here. *First start* is that of a process, the recorder imported before; memory is what the process
holds after the last step beyond what it held before the start.
"""
BESIDES = ("start_ms", "grown_mib")
STARTED = ("0.2.1", "now")
WORDS = """
- 0.2.1 does not stamp fetches, clearing of gradients or the end of the backward pass.
- `collect_memory`: without an accelerator 0.2.1 samples nothing; here it is the host's memory,
  read by a system call after each of the first 128 steps, and then, as these are short ones,
  once in 5 ms. The latter is what was measured, without the reading itself, which the least
  disturbed steps have none of; its time is phase `log` of the run.
- `start()` walks over no living objects when it is given the model and one process trains.

Not measured here: an accelerator. On CUDA the same stamps are taken while kernels run;
`collect_memory` reads the allocator's statistics, `sync=True` waits at every stamp, and a
transfer of a batch has two stamps more.
"""


def _us(value: Middle) -> str:
    return f"{value.value:.1f} ({value.low:.1f} to {value.high:.1f})"


class Added(Protocol):
    """Microseconds that a recorder adds to a loop."""

    def __call__(self, who: str, name: str, *, total: bool) -> Middle:
        """Of one recorder in one loop."""


class Share(Protocol):
    """What we add, as a part of what the peer adds."""

    def __call__(self, name: str, *, total: bool) -> Middle:
        """In one loop."""


def compared(rows: Mapping[str, str], added: Added, share: Share) -> str:
    """Microseconds added by both, in every loop."""
    lines = []
    for name, title in rows.items():
        for total, what in ((False, "loop"), (True, "total")):
            both = [_us(added(who, name, total=total)) for who in ("peer", "ours")]
            lines.append([title, what, *both, f"{share(name, total=total).value:.0%}"])
    return page.table(["added to a step", "", "0.2.1, µs", "now, µs", "now, of it"], lines)


def seams(shares: Mapping[str, tuple[Middle, Middle]]) -> str:
    """Microseconds of each seam."""
    rows = [[name, _us(alone), _us(lacking)] for name, (alone, lacking) in shares.items()]
    return page.table(["seam", "adds alone, µs", "the rest lacks without it, µs"], rows)


def starts(kinds: Mapping[str, Sequence[float]]) -> str:
    """Milliseconds of a start."""
    rows = [
        [name, f"{statistics.median(took):.1f}", f"{max(took):.1f}"] for name, took in kinds.items()
    ]
    return page.table(["`start()`, not the first of its process", "ms, median", "most"], rows)


def alone(found: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Every recorder in its own process."""
    columns = ("wall_us", "loop_us", "total_us")
    bare = {name: statistics.median(turn[name] for turn in found["bare"]) for name in columns}
    lines = []
    for kind, turns in found.items():
        cells = [_extremes([turn[name] for turn in turns]) for name in columns]
        wall = statistics.median(turn["wall_us"] for turn in turns) - bare["wall_us"]
        start, grown = (statistics.median(turn[name] for turn in turns) for name in BESIDES)
        begun = f"{start:.1f}" if kind in STARTED else ""
        lines.append([kind, *cells, f"{wall:+.0f}", begun, f"{grown:.1f}"])
    head = ["process", "wall, µs", "CPU, loop, µs", "CPU, total, µs", "wall added, µs"]
    return page.table([*head, "first start, ms", "memory, MiB"], lines)


def _extremes(values: Iterable[float]) -> str:
    ordered = sorted(values)
    return f"{statistics.median(ordered):.0f} ({ordered[0]:.0f} to {ordered[-1]:.0f})"
