"""The Trainer on two ranks that talk over gloo."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import pytscope
from tests.hf import rank_cases
from tests.hf.test_findings import check
from tests.torch.auto.made import torch

RANKS = 2

if not torch.distributed.is_available():
    pytest.skip("torch was built without distributed", allow_module_level=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where two ranks have trained; each has checked what it slept itself."""
    place = tmp_path_factory.mktemp("ranks")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launched = {"WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    logs = [(place / f"said{rank}").open("w") for rank in range(RANKS)]
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", rank_cases.__name__, str(place)],
            cwd=Path(__file__).parents[2],
            env={
                **os.environ,
                **launched,
                "OMP_NUM_THREADS": "1",
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
            },
            stdout=subprocess.DEVNULL,
            stderr=logs[rank],
        )
        for rank in range(RANKS)
    ]
    try:
        ended = [rank.wait(timeout=400) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
        for log in logs:
            log.close()
    said = "".join((place / f"said{rank}").read_text()[-2000:] for rank in range(RANKS))
    assert ended == [0] * RANKS, said
    return place


@pytest.mark.parametrize("name", rank_cases.SITUATIONS)
def test_every_rank_is_recorded_as_it_was(folder: Path, name: str) -> None:
    run = pytscope.open(folder / name / "run")
    assert run.ranks == tuple(range(RANKS))
    steps = 12 if name == "everything" else 6
    for rank in run.ranks:
        timeline = run.rank(rank)
        assert timeline.step.tolist() == list(range(steps))
        assert [a.ended_well for a in timeline.attempts] == [True]
        assert {"data", "forward", "backward", "comm", "optimizer", "eval"} <= set(timeline.phases)
    evaluated = [(one.rank, one.kind, one.step, one.finished) for one in run.evaluations]
    assert evaluated == [(rank, "evaluate", steps, True) for rank in run.ranks]


@pytest.mark.parametrize("fault", rank_cases.FAULTS)
def test_the_first_finding_is_the_fault(folder: Path, fault: str) -> None:
    # on a machine with fewer free cores than ranks, they do wait for each other
    check(pytscope.analyze(folder / fault / "run"), fault, waiting=True)
