"""The PyTorch example, trained for real, its report held against its own stamps."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import pytscope

from .running import run_example

pytest.importorskip("torch", reason="trains a real model")

STEPS, WARMUP = 60, 5
EVERY = {"--eval-every": 20, "--checkpoint-every": 15, "--other-every": 10}
OPTIONS = ["--slow-loader", "--steps", str(STEPS), "--warmup", str(WARMUP)]
OPTIONS += [word for name, every in EVERY.items() for word in (name, str(every))]
Rows = list[tuple[str, int, float]]


def near(seconds: float, stretches: int = 1) -> Any:
    """Within 5 %, or 1 ms a stretch of work."""
    return pytest.approx(seconds, rel=0.05, abs=0.001 * stretches)


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pytorch_real")
    run_example("pytorch_real.py", folder, *OPTIONS)
    return folder / "runs" / "pytorch"


@pytest.fixture(scope="module")
def truth(run_dir: Path) -> Rows:
    """Stamps of the steps that count in rates; those before a step are part of it."""
    rows = json.loads((run_dir / "truth.json").read_text())["rows"]
    return [(phase, before, s) for phase, before, s in rows if before >= WARMUP]


@pytest.fixture(scope="module")
def document(run_dir: Path) -> Any:
    return json.loads(pytscope.analyze(run_dir).to_json())


@pytest.fixture(scope="module")
def lines(document: Any) -> dict[str, float]:
    return {line["name"]: line["ns"] / 1e9 for line in document["budget"]["lines"]}


def stamped(truth: Rows, phase: str, before: int = STEPS + 1) -> list[float]:
    return [s for name, at, s in truth if name == phase and at < before]


def test_the_run_is_whole(document: Any) -> None:
    assert document["run"]["steps"] == STEPS
    assert document["run"]["finished"] is True
    assert document["problems"] == []
    assert {"loss", "lr", "samples", "accuracy"} <= set(pytscope_scalars(document))


def pytscope_scalars(document: Any) -> tuple[str, ...]:
    return pytscope.open(document["run"]["path"]).shown.scalars


def test_the_first_finding_is_the_loader_with_its_cost(document: Any, truth: Rows) -> None:
    first = document["findings"][0]
    assert first["rule"] == "TIMING.DATALOADER_BOUND"
    waited = sum(stamped(truth, "data"))
    assert 0.5 * waited < first["cost_s"]["value"] <= 1.05 * waited


def test_the_lines_sum_to_the_wall_exactly(document: Any) -> None:
    budget = document["budget"]
    assert sum(line["ns"] for line in budget["lines"]) == budget["wall_ns"]
    assert budget["wall_ns"] == document["run"]["wall_ns"]


def test_data_agrees_with_the_stamps(document: Any, truth: Rows, lines: dict[str, float]) -> None:
    waits = stamped(truth, "data")
    assert len(waits) == STEPS - WARMUP
    shown = document["analyses"]["timing"]["phases"]["data"]["median_ns"] / 1e9
    assert shown == near(median(waits))
    assert lines["data_stall"] == near(sum(waits), len(waits))


@pytest.mark.parametrize("phase", ["eval", "checkpoint"])
def test_a_line_of_its_own_agrees_with_the_stamps(
    truth: Rows, lines: dict[str, float], phase: str
) -> None:
    stretches = stamped(truth, phase)
    assert len(stretches) == STEPS // EVERY[f"--{phase}-every"]
    assert lines[phase] == near(sum(stretches), len(stretches))


def test_unnamed_work_is_other(truth: Rows, lines: dict[str, float]) -> None:
    """What comes after the last step is the unnamed rest of the shutdown."""
    inside, last = stamped(truth, "other", STEPS), stamped(truth, "other")[-1]
    assert len(inside) == STEPS // EVERY["--other-every"] - 1
    assert lines["other"] == near(sum(inside), STEPS - WARMUP)
    assert lines["shutdown"] == near(last, 3)


@pytest.fixture(scope="module")
def with_memory(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Reports of the example with `--leak` and with `--memory` alone."""
    pytest.importorskip("pytscope_torch", reason="pytscope-torch samples memory")
    reports = {}
    for option in ("--leak", "--memory"):
        folder = tmp_path_factory.mktemp(option.strip("-"))
        run_example("pytorch_real.py", folder, option, "--steps", "120")
        reports[option] = json.loads(pytscope.analyze(folder / "runs" / "pytorch").to_json())
    return reports


def found(report: Any) -> list[Any]:
    return [f for f in report["findings"] if f["rule"] == "MEMORY.GROWTH"]


def test_a_graph_kept_with_every_step_is_found_with_its_size(with_memory: Any) -> None:
    checks = {check["rule"]: check for check in with_memory["--leak"]["checks"]}
    assert checks["MEMORY.GROWTH"]["outcome"] == "finding", checks["MEMORY.GROWTH"]
    (finding,) = found(with_memory["--leak"])
    assert "grows by" in finding["title"]
    rate = next(e for e in finding["evidence"] if e["metric"].endswith("growth a step"))
    convolution = 16 * 16 * 24 * 24 * 4 / 1024  # KiB that the graph of one batch keeps at least
    assert convolution < rate["value"] < 6 * convolution
    assert rate["low"] > 0


def test_a_healthy_run_does_not_grow(with_memory: Any) -> None:
    assert found(with_memory["--memory"]) == []
    (check,) = [c for c in with_memory["--memory"]["checks"] if c["rule"] == "MEMORY.GROWTH"]
    assert check["outcome"] == "passed"
