"""Print what stamping the waits of DistributedDataParallel adds to a training step.

    python bench/ddp.py [--rounds N] [--write]

One process is its own group of gloo, so that nobody waits for anybody: what is added is
work of the training thread alone. `--write` puts the section into docs/performance.md.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import page
import tiny
import torch
from auto import STEPS, WARM_UP, Turn
from rounds import Middle, difference, interleaved, middle
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from pytscope.auto import AutoProfiler

TEXT = """# Waits for other ranks

Measured by `nox -s bench -- --ddp --write`: {machine}, PyTorch {torch}.

The step of AutoProfiler's section above under DistributedDataParallel, in a gloo group of this one
process, so that nothing waits: {bare:,.0f} µs when nothing is recorded. {rounds} rounds of turns in
random order, each {steps} steps after {warm_up} untimed ones; CPU time of the training thread,
the least disturbed tenth, the median over the rounds of what is beyond the bare loop's turn.

| recorded | added, µs a step |
|---|---|
| all ranks, without waits (`capture_comm=False`) | {without} |
| all ranks, with their waits | {whole} |
| what the waits are of it | {waits} |

An accelerator's waits are two events of a stream more; that is not measured here.
"""


def variants(folder: Path) -> dict[str, Turn]:
    """The loop bare, recorded without waits, and with them."""
    training = tiny.Training()
    training.model = DistributedDataParallel(training.model)  # type: ignore[assignment]  # called alike
    numbers = iter(range(10**9))

    def made(**options: Any) -> Callable[[], Any]:
        given = (training.model, training.optimizer)
        place = folder / "run"
        return lambda: AutoProfiler(place / str(next(numbers)), *given, distributed=True, **options)

    return {
        "bare": Turn(training, lambda: None),
        "without": Turn(training, made(capture_comm=False)),
        "whole": Turn(training, made()),
    }


def _us(value: Middle) -> str:
    return f"{value.value:.1f} ({value.low:.1f} to {value.high:.1f})"


def section(folder: Path, rounds: int) -> str:
    """Measure, and write the section."""
    found = interleaved(dict(variants(folder)), rounds)
    us = {name: [turn[0] / 1e3 for turn in turns] for name, turns in found.items()}
    return TEXT.format(
        machine=page.machine(),
        torch=torch.__version__,
        rounds=rounds,
        steps=STEPS,
        warm_up=WARM_UP,
        bare=middle(us["bare"]).value,
        without=_us(difference(us["without"], us["bare"])),
        whole=_us(difference(us["whole"], us["bare"])),
        waits=_us(difference(us["whole"], us["without"])),
    )


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=80)
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        meeting = f"file://{folder}/meeting"
        distributed.init_process_group("gloo", init_method=meeting, rank=0, world_size=1)
        try:
            text = section(Path(folder), args.rounds)
        finally:
            distributed.destroy_process_group()
    print(text)
    if args.write:
        page.put(text)


if __name__ == "__main__":
    main()
