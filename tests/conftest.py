"""What every test starts from."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def nothing_compiled() -> None:
    """Forget what other tests compiled: FLOPs are not counted where compiled code may run."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is not None:
        dynamo.counters.clear()
