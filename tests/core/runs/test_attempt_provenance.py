"""Each attempt keeps what it was started with."""

from __future__ import annotations

from pathlib import Path

import pytscope
from pytscope.recording.profiler import Profiler


def recorded(folder: Path, first: int, rate: float) -> None:
    profiler = Profiler(folder, config={"lr": rate}, inline=True).start(step=first)
    for _ in range(4):
        profiler.begin_step()
        profiler.mark("forward")
        profiler.end_step()
    profiler.finish()


def test_an_attempt_keeps_its_configuration_and_provenance(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    recorded(folder, 0, 0.1)
    recorded(folder, 2, 0.2)
    run = pytscope.open(folder)
    attempts = run.timelines[0].attempts
    assert [attempt.config for attempt in attempts] == [{"lr": 0.1}, {"lr": 0.2}]
    assert run.config == attempts[-1].config
    assert all("packages" in attempt.environment for attempt in attempts)
    assert run.environment == attempts[-1].environment
    assert "lr" not in repr(attempts[0])
