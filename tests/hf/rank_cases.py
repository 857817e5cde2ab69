"""Trainers on two ranks, gloo between them; run as a module by each rank, checks its own."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytscope
from tests.hf.made import Case, torch
from tests.hf.real import FAULTS, trained
from tests.hf.test_phases import EVERYTHING
from tests.torch.auto.made import check_times

SITUATIONS = {
    "everything": EVERYTHING,
    "accumulated": {**EVERYTHING, "gradient_accumulation_steps": 2},
}


def situation(folder: Path, name: str, rank: int) -> None:
    """Phases of each rank are its own, and the same is trained without a recording."""
    states = []
    for on in (False, True):
        case = Case(
            folder / name / str(on) / f"rank{rank}",
            24,
            profiled=on,
            options={"distributed": True},
            pace=float(on),
            **SITUATIONS[name],
        )
        if on:
            case.callback.run_dir = case.folder = folder / name / "run"
        states.append(case.train().state())
        case.trainer.evaluate()
    assert states[0] == states[1], name
    timeline = pytscope.open(case.folder).rank(rank)
    case.timeline = lambda: timeline  # type: ignore[method-assign]  # this rank's, for the check
    assert timeline.step.tolist() == list(range(case.trainer.state.global_step)), name
    check_times(case, skip=0)


def main(folder: Path, rank: int) -> None:
    torch.set_num_threads(1)
    gc.freeze()  # every training collects garbage first: not among all that was imported
    for name in SITUATIONS:
        situation(folder, name, rank)
    for fault in FAULTS:
        rest = {} if FAULTS[fault] else {"gradient_accumulation_steps": 2}  # less to exchange
        trained(folder / fault, fault, **rest)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    import os

    main(Path(sys.argv[1]), int(os.environ["RANK"]))
