"""The Lightning example, as a user runs it: the slow collator is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pytscope

from .running import run_example

pytest.importorskip("lightning.pytorch", reason="trains with Lightning")
pytest.importorskip("pytscope_lightning", reason="pytscope-lightning is not installed")


def test_the_slow_collator_is_the_first_finding(tmp_path: Path) -> None:
    said = run_example("lightning_fit.py", tmp_path, "--slow-collator", "--steps", "40")
    assert said == "40 steps; now: pytscope analyze runs/lightning\n"
    document = json.loads(pytscope.analyze(tmp_path / "runs" / "lightning").to_json())
    assert document["run"]["steps"] == 40
    assert document["run"]["finished"] is True
    assert document["findings"][0]["rule"] == "TIMING.DATALOADER_BOUND"
    phases = document["analyses"]["timing"]["phases"]
    assert {"data", "forward", "backward", "optimizer"} <= set(phases)
