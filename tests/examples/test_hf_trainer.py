"""The example of the Hugging Face Trainer: healthy, and with a slow collator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pytscope

from .running import run_example

pytest.importorskip("transformers", reason="trains with the Hugging Face Trainer")
pytest.importorskip("accelerate", reason="the Trainer needs it")
pytest.importorskip("pytscope_hf", reason="pytscope-hf is not installed")

STEPS = 60


def document(folder: Path, *options: str) -> Any:
    said = run_example("hf_trainer.py", folder, "--steps", str(STEPS), *options)
    assert said.rstrip().endswith("pytscope analyze runs/hf")
    return json.loads(pytscope.analyze(folder / "runs" / "hf").to_json())


def test_a_healthy_run_has_every_phase_and_no_finding_above_low(tmp_path: Path) -> None:
    found = document(tmp_path)
    assert (found["run"]["steps"], found["run"]["finished"]) == (STEPS, True)
    assert found["problems"] == []
    phases = found["analyses"]["timing"]["phases"]
    assert {"data", "forward", "backward", "optimizer", "eval", "checkpoint", "log"} <= set(phases)
    above = [f["title"] for f in found["findings"] if f["severity"] in ("high", "medium")]
    assert above == []


def test_a_slow_collator_is_the_first_finding(tmp_path: Path) -> None:
    first, *_ = document(tmp_path, "--slow-collator")["findings"]
    assert (first["rule"], first["severity"]) == ("TIMING.DATALOADER_BOUND", "high")
