"""What every test starts from."""

from __future__ import annotations

import sys

import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a device where there is none: `pytest -m gpu` shows how many that are."""
    if item.get_closest_marker("gpu") is not None:
        torch = pytest.importorskip("torch", reason="needs torch and a CUDA device")
        if not torch.cuda.is_available():
            pytest.skip("needs a CUDA device")


@pytest.fixture(autouse=True)
def nothing_compiled() -> None:
    """Forget what other tests compiled: FLOPs are not counted where compiled code may run."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is not None:
        dynamo.counters.clear()
