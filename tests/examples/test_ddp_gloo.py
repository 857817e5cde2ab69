"""Whom the report names when ranks really train together; `nox -s accuracy` is the whole of it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the example trains with torch")
pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")
pytest.importorskip("pytscope_rules_distributed", reason="its rules are not installed")
if not torch.distributed.is_available():
    pytest.skip("torch was built without distributed", allow_module_level=True)

import pytscope  # noqa: E402  # after what it is skipped for
from tests.core.recording.truth import checked  # noqa: E402  # as above

ROOT = Path(__file__).parents[2]
SETTINGS: Any = SimpleNamespace(ranks=4, steps=60)


@pytest.fixture(scope="module")
def accuracy() -> ModuleType:
    path = ROOT / "bench" / "accuracy.py"
    spec = importlib.util.spec_from_file_location("accuracy", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_slow_rank_and_its_phase_are_named(tmp_path: Path, accuracy: ModuleType) -> None:
    seen = {}
    for place, (where, phase) in enumerate(accuracy.PHASES.items()):
        rank = place % 4
        slow = ("--straggler-rank", str(rank), "--where", where)
        report = accuracy.trained(tmp_path / where, SETTINGS, place, *slow)
        checked(tmp_path / where)
        seen[where] = (accuracy.named(report)[0], [(rank, phase)])
        # what waits inside of the backward pass is no work of it
        assert "TIMING.BACKWARD_HEAVY" not in {finding.rule for finding in report.findings}
    right = [where for where, (named, true) in seen.items() if named == true]
    assert len(right) >= len(seen) - 1, seen


def test_no_healthy_rank_is_named_for_sure(tmp_path: Path, accuracy: ModuleType) -> None:
    for seed in (100, 101):
        report = accuracy.trained(tmp_path / str(seed), SETTINGS, seed)
        assert accuracy.named(report)[1] != "confirmed"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--straggler-rank", "9"], "error: --straggler-rank 9: the ranks are 0 to 3"),
        (["--ranks", "0"], "error: argument --ranks: it has to be at least 1"),
        (["--steps", "x"], "error: argument --steps: invalid number value: 'x'"),
        (["--delay-ms", "nan"], "error: argument --delay-ms: it has to be 0 or more"),
        (["--where", "loss"], "error: argument --where: invalid choice: 'loss'"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], said: str) -> None:
    command = [sys.executable, str(ROOT / "examples" / "ddp_gloo.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert said in done.stderr


def test_all_reduces_by_hand_are_judged_alike(tmp_path: Path) -> None:
    words = [sys.executable, "-W", "error", str(ROOT / "examples" / "ddp_gloo.py"), "--manual"]
    more = ["--straggler-rank", "2", "--steps", "60", "--delay-ms", "10"]
    subprocess.run([*words, *more, "--run", str(tmp_path / "run")], check=True)
    report = pytscope.analyze(tmp_path / "run")
    assert [f.ranks for f in report.findings if f.rule == "DIST.STRAGGLER"] == [(2,)]
    budget = {line.name: line.ns for line in report.analyses["budget"].lines}
    assert budget["straggler_wait"] > 0
    checked(tmp_path / "run")
