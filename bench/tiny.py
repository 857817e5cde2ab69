"""The training step that AutoProfiler's cost is measured on, and one process of it.

    python bench/tiny.py {bare,now,0.2.1,traceml} FOLDER [--peer SITE]

runs it alone under one recorder and prints what a step took, as JSON in the last line;
`traceml run bench/tiny.py --args traceml FOLDER` does so under TraceML, which wants a block
around each step; all of them have one here.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import statistics
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from time import perf_counter_ns, process_time_ns, thread_time_ns
from types import FunctionType
from typing import Any

import peer
import torch
from torch import nn

WIDTH, BATCH = 128, 32
WARM_UP = 50
STEPS = 2_000
Loop = Callable[[Iterable[Any]], None]


class Training:
    """A three-layer model whose step takes some 300 µs on one CPU thread."""

    def __init__(self) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(0)
        layers = (nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())
        self.model = nn.Sequential(*layers, nn.Linear(WIDTH, 10))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.criterion = nn.CrossEntropyLoss()
        self.batch = (torch.randn(BATCH, WIDTH), torch.randint(0, 10, (BATCH,)))

    def loop(self) -> Loop:
        """The loop that anybody writes, compiled anew, so that no caches are shared."""
        model, criterion, optimizer = self.model, self.criterion, self.optimizer

        def train(batches: Iterable[Any]) -> None:
            for x, y in batches:
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()

        code = train.__code__.replace()
        return FunctionType(code, train.__globals__, closure=train.__closure__)

    def batches(self, steps: int) -> list[Any]:
        """That many batches, of which nobody can tell that they are fetched."""
        return [self.batch] * steps

    def loader(self, steps: int) -> Any:
        """A `DataLoader` that has little to do for a batch."""
        return torch.utils.data.DataLoader(self.batches(steps), batch_size=None)  # type: ignore[arg-type]  # a list is one


def own_ns(loop: Loop, batches: Iterable[Any]) -> float:
    """CPU nanoseconds of this thread in a step that nothing disturbs: the fastest tenth's slowest.

    On a machine with other work to do, means and medians of a few steps tell of that.
    """
    at: list[int] = []

    def seen() -> Iterator[Any]:
        for batch in batches:
            at.append(thread_time_ns())
            yield batch
        at.append(thread_time_ns())

    loop(seen())
    took = sorted(later - earlier for earlier, later in pairwise(at))
    return float(took[len(took) // 10])


def resident_bytes() -> int:
    """What the process holds in memory, where the platform tells."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * 4096 if status.exists() else 0


def recorder(kind: str, folder: Path, site: Path | None, training: Training) -> Any:
    """What records the loop; started, when it is entered."""
    if kind == "now":
        from pytscope.auto import AutoProfiler

        return AutoProfiler(folder, training.model, training.optimizer)
    if kind == "0.2.1" and site is not None:
        return peer_auto(site)(folder, training.model, training.optimizer)
    return contextlib.nullcontext()


def peer_auto(site: Path) -> Any:
    """The peer's `AutoProfiler`."""
    peer.load(site)
    return importlib.import_module(f"{peer.NAME}.auto").AutoProfiler


def timed(steps: Iterator[None]) -> dict[str, float]:
    """Wall time of a step, its median, and CPU time of the thread and of the process, means."""
    took, last = [], perf_counter_ns()
    whole, own = process_time_ns(), thread_time_ns()
    for _ in steps:
        now = perf_counter_ns()
        took.append(now - last)
        last = now
    own, whole = thread_time_ns() - own, process_time_ns() - whole
    return {
        "wall_us": statistics.median(took) / 1e3,
        "loop_us": own / len(took) / 1e3,
        "total_us": whole / len(took) / 1e3,
    }


def stepping(training: Training, around: Callable[[], Any], count: int) -> Iterator[None]:
    """The same loop, for a recorder that wants to stand around each step."""
    model, criterion, optimizer = training.model, training.criterion, training.optimizer
    for x, y in training.batches(count):
        with around():
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        yield


def traceml_step(training: Training) -> Callable[[], Any]:
    """TraceML's block around a step, its instrumentation in place."""
    import traceml_ai as traceml

    traceml.init(mode="auto")
    return lambda: traceml.trace_step(training.model)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("bare", "now", "0.2.1", "traceml"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peer", type=Path, metavar="SITE")
    args = parser.parse_args()
    training = Training()
    around = traceml_step(training) if args.kind == "traceml" else contextlib.nullcontext
    for _ in stepping(training, contextlib.nullcontext, WARM_UP):
        pass
    prof = recorder(args.kind, args.folder, args.peer, training)
    before, began = resident_bytes(), perf_counter_ns()
    with prof:
        started = perf_counter_ns() - began
        for _ in stepping(training, around, WARM_UP):
            pass
        found = timed(stepping(training, around, STEPS))
        grown = resident_bytes() - before
    found |= {"start_ms": started / 1e6, "grown_mib": grown / 2**20}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
