"""The example of an untouched loop: healthy, and reported to be."""

from __future__ import annotations

import json
from typing import Any

import pytest

import pytscope

from .running import run_example

pytest.importorskip("torch", reason="trains a real model")
pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")

STEPS = 60


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("auto")
    said = run_example("auto.py", folder, "--steps", str(STEPS))
    assert said.rstrip().endswith("pytscope analyze runs/auto")
    return json.loads(pytscope.analyze(folder / "runs" / "auto").to_json())


def test_every_step_is_there(document: Any) -> None:
    assert document["run"]["steps"] == STEPS
    assert document["run"]["finished"] is True
    assert document["problems"] == []


def test_the_phases_of_the_loop_are_found(document: Any) -> None:
    phases = document["analyses"]["timing"]["phases"]
    assert {"data", "forward", "loss", "backward", "optimizer"} <= set(phases)
    assert max(phases, key=lambda name: phases[name]["total_ns"]) == "backward"
    assert phases.get("other", {"share": 0})["share"] < 0.1


def test_a_healthy_run_gets_no_finding_above_low(document: Any) -> None:
    found = [(f["rule"], f["title"]) for f in document["findings"] if f["severity"] != "low"]
    assert found == []


def test_the_flops_of_a_step_are_known(document: Any) -> None:
    assert document["budget"]["flops_per_step"] > 5e8
