"""The example without ML packages, run for real."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pytscope

from .running import run_example

STEPS = 40


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("manual_loop")
    said = run_example("manual_loop.py", folder, "--steps", str(STEPS))
    return folder / "runs" / "demo", said


@pytest.fixture(scope="module")
def document(recorded: tuple[Path, str]) -> Any:
    return json.loads(pytscope.analyze(recorded[0]).to_json())


def test_it_prints_the_next_command(recorded: tuple[Path, str]) -> None:
    assert recorded[1].rstrip().endswith("pytscope analyze runs/demo")


def test_every_step_is_there(document: Any) -> None:
    assert document["run"]["steps"] == STEPS
    assert document["coverage"]["warmup_steps"] == 5
    assert document["run"]["finished"] is True
    assert document["problems"] == []


def test_the_slow_loader_comes_first(document: Any) -> None:
    first = document["findings"][0]
    assert first["rule"] == "TIMING.DATALOADER_BOUND"
    stall = {line["name"]: line["ns"] for line in document["budget"]["lines"]}["data_stall"]
    assert 0 < first["cost_s"]["value"] <= stall / 1e9


def test_the_lines_sum_to_the_wall(document: Any) -> None:
    lines = document["budget"]["lines"]
    assert sum(line["ns"] for line in lines) == document["budget"]["wall_ns"]
    assert document["budget"]["wall_ns"] == document["run"]["wall_ns"]


def test_phases_hold_at_least_what_was_slept(document: Any) -> None:
    phases = document["analyses"]["timing"]["phases"]
    slept_ns = {"data": 11e6, "forward": 4e6, "backward": 6e6, "optimizer": 1e6}
    assert all(phases[name]["median_ns"] >= ns for name, ns in slept_ns.items())
