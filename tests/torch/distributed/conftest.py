"""Ranks that train together, once for all tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def run(module: str, folder: Path, ranks: int) -> list[Any]:
    """What each rank of a module of this folder found."""
    root = Path(__file__).parents[3]
    words = [sys.executable, "-W", "error", "-m", f"tests.torch.distributed.{module}"]
    started = [
        subprocess.Popen(
            [*words, str(rank), str(ranks), str(folder)],
            cwd=root,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    said = [process.communicate(timeout=300)[1] for process in started]
    assert [process.returncode for process in started] == [0] * ranks, said
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(ranks)]


@pytest.fixture(scope="session", params=[2, 4])
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    needed()
    return run("cases", tmp_path_factory.mktemp("ranks"), request.param)


@pytest.fixture(scope="session")
def blocked(tmp_path_factory: pytest.TempPathFactory) -> Any:
    needed()
    return run("blocking", tmp_path_factory.mktemp("blocked"), 2)


def needed() -> None:
    torch = pytest.importorskip("torch", reason="tests AutoProfiler")
    if not torch.distributed.is_available():
        pytest.skip("torch was built without distributed")
