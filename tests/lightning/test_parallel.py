"""Several ranks over gloo, however Lightning starts them: each has its steps, all have one run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
pytest.importorskip("pytscope_lightning", reason="pytscope-lightning is not installed")

import pytscope
from tests.lightning.parallel import DATA, EVAL, FORWARD, STEPS, fit

ROOT = Path(__file__).parents[2]


def check(folder: Path, forward: str = "forward") -> None:
    """Both ranks are there, with their steps and with phases as long as they slept."""
    run = pytscope.open(folder)
    assert [timeline.rank for timeline in run.timelines] == [0, 1]
    for timeline in run.timelines:
        assert len(timeline) == STEPS
        total = sum((timeline.phase_ns(n) for n in timeline.phases), np.zeros(STEPS, np.int64))
        assert np.array_equal(total, timeline.wall_ns)
        assert np.all(timeline.phase_ns("data")[1:] >= DATA * 1e9)
        assert np.all(timeline.phase_ns(forward)[1:] >= FORWARD * 1e9)
        assert np.all(timeline.phase_ns("backward") > 0)
        evaluated = timeline.phase_ns("eval")
        assert evaluated[4] >= 2 * EVAL * 1e9  # the fifth step comes after the validation
        assert np.flatnonzero(evaluated).tolist() == [4]
        assert [record.micro_batches for record in timeline.records()] == [1] * STEPS
        (attempt,) = timeline.attempts
        assert attempt.ended_well
        assert dict(attempt.startup)["eval"] > 0
        assert [e for e in attempt.events if e["kind"] == "warning"] == []


@pytest.mark.parametrize("strategy", ["ddp_spawn", "ddp_fork"])
def test_ranks_that_python_starts(tmp_path: Path, strategy: str) -> None:
    fit(tmp_path / "run", strategy, 2)
    check(tmp_path / "run")


def test_ranks_that_run_the_script_again(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.lightning.parallel", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    check(tmp_path / "automatic")
    tested = pytscope.open(tmp_path / "automatic").evaluations
    assert [(one.rank, one.kind, one.step, one.finished) for one in tested] == [
        (rank, "test", STEPS, True) for rank in (0, 1)
    ]
    slept = [sum(ns for name, ns in one.segments if name == "eval") for one in tested]
    assert min(slept) >= 2 * EVAL * 1e9
    check(tmp_path / "manual", forward="other")  # what it does before it calls a module
    check(tmp_path / "sharded")


def test_rank_zero_alone_by_default(tmp_path: Path) -> None:
    fit(tmp_path / "run", "ddp_fork", 2, distributed=False)
    run: Any = pytscope.open(tmp_path / "run")
    assert [(t.rank, len(t)) for t in run.timelines] == [(0, STEPS)]
