"""Whatever the training thread does for us is part of what recording took, wherever it is done."""

from __future__ import annotations

import importlib
import time
from pathlib import Path
from typing import Any

import pytest

from tests.core.recording.decode import attempt
from tests.torch.auto.made import AutoProfiler, torch  # skips without pytscope-torch

SLOW_S = 0.2
"""Longer than a start and everything else that is counted."""
ONCE: dict[str, dict[str, Any]] = {
    "seams.modules.living": {},
    "seams.waits.waiting": {},
    "seams.waits.place_of": {},
    "auto.model_bytes": {},
    "auto.topology_of": {},
    "provenance.Weights": {},
    "provenance.autocast": {},
    "provenance.loader_settings": {},
    "provenance.random_states": {},
    "flops._dtype": {"measure_flops": True},
}
"""Work for the start and the first steps, and what asks for it."""
EACH: dict[str, dict[str, Any]] = {
    "fingerprint.fetched": {"fingerprint_batches": True},
    "fingerprint.joined": {"fingerprint_batches": True},
}
"""Work for every step."""


class Slowed:
    """A function that takes longer when it is first called, and knows by how much."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self.slept_ns = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.slept_ns:
            began = time.perf_counter_ns()
            time.sleep(SLOW_S)
            self.slept_ns = time.perf_counter_ns() - began
        return self._function(*args, **kwargs)


def trained(folder: Path, **options: Any) -> dict[str, Any]:
    """The end of a recording that finds its model by itself."""
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = torch.utils.data.DataLoader([torch.ones(4)] * 4, batch_size=None)
    with AutoProfiler(folder, None, optimizer, **options):
        for x in batches:
            model(x).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    end: dict[str, Any] = attempt((folder / "rank00000.pts").read_bytes())["end"]
    return end


def slowed(monkeypatch: pytest.MonkeyPatch, place: str) -> Slowed:
    module, _, name = f"pytscope_torch.{place}".rpartition(".")
    slow = Slowed(getattr(importlib.import_module(module), name))
    monkeypatch.setattr(f"{module}.{name}", slow)
    return slow


@pytest.mark.parametrize("place", ONCE)
def test_first_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    slow = slowed(monkeypatch, place)
    end = trained(tmp_path, **ONCE[place])
    assert 0 < slow.slept_ns <= end["overhead_once_ns"] <= end["overhead_ns"] <= end["wall_ns"]


@pytest.mark.parametrize("place", EACH)
def test_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    slow = slowed(monkeypatch, place)
    end = trained(tmp_path, **EACH[place])
    assert 0 < slow.slept_ns <= end["overhead_ns"] - end["overhead_once_ns"]
