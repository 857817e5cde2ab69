"""Check on this machine what only an accelerator or several ranks can show.

    python bench/device_check.py                                        # one process
    torchrun --standalone --nproc-per-node 8 bench/device_check.py      # one node
    torchrun … bench/device_check.py --folder /shared/pytscope-check    # several nodes

Needs pytscope-core, pytscope-torch and torch. Runs on a CPU as well and says what it
skips there. docs/validation.md says what to expect. Ends with 1 when a check failed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import torch
import torch.distributed as dist

import pytscope
from pytscope import Profiler

STEPS = 24
WARM = 4
MIB = 2**20
Outcome = tuple[str, str]
"""`passed`, `failed` or `skipped`, and what was seen."""


def pick_device() -> torch.device:
    """CUDA by local rank, else XPU, else Apple's MPS, else the CPU."""
    if torch.cuda.is_available():
        local = int(os.environ.get("LOCAL_RANK", "0"))
        torch.cuda.set_device(local)
        return torch.device("cuda", local)
    if hasattr(torch, "xpu") and torch.xpu.is_available():
        return torch.device("xpu")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


DEVICE = pick_device()
ON_CPU = DEVICE.type == "cpu"


def wait() -> None:
    """Wait for the device, not by way of pytscope."""
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()
    elif DEVICE.type == "mps":
        torch.mps.synchronize()
    elif DEVICE.type == "xpu":
        torch.xpu.synchronize()


def verdict(good: bool, seen: str) -> Outcome:
    return ("passed" if good else "failed", seen)


def ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


class Work:
    """A chain of matrix products that keeps the device busy for about `target_s`."""

    def __init__(self, target_s: float = 0.02) -> None:
        size = 256 if ON_CPU else 2048
        self.a = torch.randn(size, size, device=DEVICE) / size
        self.turns = 1
        while self.timed() < target_s and self.turns < 10**6:
            self.turns *= 2

    def __call__(self) -> torch.Tensor:
        """Queue the chain."""
        out = self.a
        for _ in range(self.turns):
            out = out @ self.a
        return out

    def timed(self) -> float:
        """Seconds the device takes for the chain, by waiting before and after."""
        wait()
        began = time.perf_counter()
        self()
        wait()
        return time.perf_counter() - began


def stamps_wait(folder: Path, work: Work) -> Outcome:
    """With sync=True a phase is the device's time, by this script's own stamps."""
    own = []
    with Profiler(folder, sync=True, warmup=WARM, distributed=True) as prof:
        for _ in range(STEPS):
            with prof.step():
                own.append(work.timed())
                prof.mark("forward")
    ours = series(folder, "forward")[WARM:]
    seen, truth = median(ours), median(own[WARM:])
    return verdict(
        abs(seen - truth) <= max(0.05 * truth, 0.001), f"{ms(seen)}, own stamps {ms(truth)}"
    )


def series(folder: Path, name: str) -> list[float]:
    """A series of this process's own rank."""
    run = pytscope.open(folder)
    return [float(value) for value in run.series(name, rank=run.ranks[0])[1]]


def wall_is_true_without_waiting(folder: Path, work: Work) -> Outcome:
    """Without sync the phases shift to where the loop waits, and steps keep their sum."""
    if ON_CPU:
        return "skipped", "a CPU has done its work when the call returns"
    own = []
    with Profiler(folder, warmup=WARM, distributed=True) as prof:
        for _ in range(STEPS):
            began = time.perf_counter()
            with prof.step():
                out = work()
                prof.mark("forward")
                out.sum().item()  # here the loop waits
                prof.mark("optimizer")
            own.append(time.perf_counter() - began)
    steps, truth = median(series(folder, "wall")[WARM:]), median(own[WARM:])
    launch = median(series(folder, "forward")[WARM:])
    good = abs(steps - truth) <= max(0.05 * truth, 0.001) and launch < 0.5 * truth
    return verdict(good, f"step {ms(steps)}, own stamps {ms(truth)}, launching {ms(launch)}")


def logging_does_not_wait(folder: Path, work: Work) -> Outcome:
    """`log(loss=…)` of a device scalar copies it there; its value is right in the end."""
    took = []
    with Profiler(folder, distributed=True) as prof:
        for i in range(STEPS):
            with prof.step():
                loss = work().sum() * 0 + i
                began = time.perf_counter()
                prof.log(loss=loss)
                took.append(time.perf_counter() - began)
                loss += 1000  # what comes later must not change what was logged
    values = series(folder, "loss")
    right = values == [float(i) for i in range(STEPS)]
    typical = median(took[WARM:])
    quick = ON_CPU or typical < 0.25 * work.timed()
    return verdict(right and quick, f"{STEPS} values right: {right}, {ms(typical)} a call")


def device_memory(folder: Path, _: Work) -> Outcome:
    """Allocated bytes follow a tensor of known size; with "reset" the peak is the step's."""
    if ON_CPU:
        return "skipped", "a CPU has no device memory"
    kept = []
    with Profiler(folder, collect_memory="reset", distributed=True) as prof:
        for i in range(8):
            with prof.step():
                if i == 4:
                    kept.append(torch.ones(64 * MIB, dtype=torch.uint8, device=DEVICE))
                if i == 6:
                    torch.ones(128 * MIB, dtype=torch.uint8, device=DEVICE)
                wait()
    allocated = series(folder, "allocated")
    grown = allocated[5] - allocated[3]
    good, seen = grown >= 64 * MIB, f"grew by {grown / MIB:.1f} MiB for 64"
    if DEVICE.type != "mps":
        peaks = series(folder, "peak")
        good = good and peaks[6] - peaks[5] >= 100 * MIB and peaks[7] < peaks[6]
        seen += f"; peaks {', '.join(f'{p / MIB:.0f}' for p in peaks[5:])} MiB"
    return verdict(good, seen)


def random_state(folder: Path, _: Work) -> Outcome:
    """Recording draws no random number, on the host or on the device."""

    def states() -> list[torch.Tensor]:
        found = [torch.get_rng_state()]
        if DEVICE.type == "cuda":
            found.append(torch.cuda.get_rng_state(DEVICE))
        if DEVICE.type == "mps":
            found.append(torch.mps.get_rng_state())
        return found

    before = states()
    with Profiler(folder, sync=True, collect_memory=not ON_CPU, distributed=True) as prof:
        for _ in range(STEPS):
            with prof.step():
                prof.log(loss=1.0)
    same = all(torch.equal(a, b) for a, b in zip(before, states(), strict=True))
    return verdict(same, f"{len(before)} generators unchanged")


def graph_capture(folder: Path, work: Work) -> Outcome:
    """A mark during the capture of a CUDA graph does not break it, nor wait."""
    if DEVICE.type != "cuda":
        return "skipped", "CUDA graphs need CUDA"
    work()
    wait()
    with Profiler(folder, sync=True, distributed=True) as prof:
        graph = torch.cuda.CUDAGraph()
        with prof.step():
            with torch.cuda.graph(graph):
                out = work()
                prof.mark("forward")
            graph.replay()
    wait()
    return verdict(bool(torch.isfinite(out).all()), "captured with a mark in it, and replayed")


def ranks(folder: Path, _: Work) -> Outcome:
    """Every rank's file is there; who waits for the slow rank has the time in `comm`."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        return "skipped", "one rank: start it with torchrun --nproc-per-node N"
    rank = dist.get_rank()
    tensor = torch.ones(1024, device=DEVICE)
    for _ in range(WARM):
        dist.all_reduce(tensor)
    wait()
    with Profiler(folder, sync=True, warmup=WARM, distributed=True) as prof:
        for _ in range(STEPS):
            with prof.step():
                time.sleep(0.03 if rank == world - 1 else 0.005)  # the last rank is slow
                prof.mark("forward")
                with prof.comm():
                    dist.all_reduce(tensor)
    dist.barrier()
    run = pytscope.open(folder)
    if run.ranks != tuple(range(world)):
        return verdict(False, f"ranks {run.ranks} of {world}")
    waits = [median(run.series("comm", rank=r)[1][WARM:]) for r in (0, world - 1)]
    steps = {len(run.rank(r)) for r in range(world)}
    good = steps == {STEPS} and waits[0] > 0.018 and waits[1] < 0.5 * waits[0]
    return verdict(
        good, f"{world} ranks, comm {ms(waits[0])} on rank 0, {ms(waits[1])} on the slow one"
    )


CHECKS: tuple[Callable[[Path, Work], Outcome], ...] = (
    stamps_wait,
    wall_is_true_without_waiting,
    logging_does_not_wait,
    device_memory,
    random_state,
    graph_capture,
    ranks,
)


def outcomes(place: Path) -> Iterator[tuple[str, Outcome]]:
    """Every check by its name; ranks share one folder for the last, else each has its own."""
    rank, work = os.environ.get("RANK", "0"), Work()
    for check in CHECKS:
        shared = check is ranks
        folder = place / check.__name__ / ("shared" if shared else f"of-rank-{rank}")
        try:
            yield check.__name__, check(folder, work)
        except (pytscope.PytscopeError, RuntimeError, LookupError) as error:
            yield check.__name__, ("failed", f"{type(error).__name__}: {error}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", help="where to record; new, and shared by all nodes")
    asked = parser.parse_args()
    if importlib.util.find_spec("pytscope_torch") is None:
        sys.exit("pytscope-torch is not installed: pip install ./pytscope-core ./pytscope-torch")
    rank = int(os.environ.get("RANK", "0"))
    several = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if several:
        dist.init_process_group("nccl" if DEVICE.type == "cuda" else "gloo")
    place = Path(asked.folder) if asked.folder else Path(tempfile.mkdtemp(prefix="pytscope-"))
    if several:
        agreed = [str(place)]
        dist.broadcast_object_list(agreed, src=0)
        place = Path(agreed[0])
    torch.set_num_threads(1)
    name = torch.cuda.get_device_name(DEVICE) if DEVICE.type == "cuda" else DEVICE.type
    print(f"rank {rank}: device {name}, torch {torch.__version__}, into {place}", flush=True)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for check, (outcome, seen) in outcomes(place):
        counts[outcome] += 1
        if rank == 0 or outcome == "failed":
            print(f"{outcome}  rank {rank}  {check}: {seen}", flush=True)
    print(f"rank {rank}: {', '.join(f'{n} {word}' for word, n in counts.items())}", flush=True)
    if several:
        dist.destroy_process_group()
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
