"""Fabric leaves the loop to the user; `AutoProfiler` around it records it as any other loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightning.fabric", reason="lightning is not installed")
torch = pytest.importorskip("torch", reason="records a loop of PyTorch")
pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")

from lightning.fabric import Fabric  # noqa: E402  # needs what is skipped above

import pytscope  # noqa: E402  # as above
from pytscope.auto import AutoProfiler  # noqa: E402  # as above


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_a_loop_of_fabric(tmp_path: Path, precision: str) -> None:
    fabric = Fabric(accelerator="cpu", devices=1, precision=precision)
    model = torch.nn.Linear(4, 1)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.01))
    loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(torch.ones(12, 4)))
    with AutoProfiler(tmp_path / "run", model, optimizer):
        for batch in loader:
            loss = model(batch).sum()
            fabric.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        fabric.save(tmp_path / "saved.ckpt", {"model": model})
    timeline = pytscope.open(tmp_path / "run").rank(0)
    assert len(timeline) == 12
    for phase in ("data", "forward", "backward", "optimizer"):
        assert np.all(timeline.phase_ns(phase) > 0), phase
    (attempt,) = timeline.attempts
    assert "checkpoint" in {name for name, _ in attempt.shutdown}
    assert [e for e in attempt.events if e["kind"] == "warning"] == []
