"""Fits whose phases are known: each has its true length, each optimizer step is one step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lightning.pytorch", reason="lightning is not installed")

from tests.lightning.made import Case
from tests.lightning.situations import SITUATIONS, STEPS
from tests.torch.auto.made import check_count, check_times


@pytest.mark.parametrize("name", list(SITUATIONS))
def test_phases_are_the_fits_own(tmp_path: Path, name: str) -> None:
    case: Any = Case(tmp_path)
    SITUATIONS[name](case)
    check_count(case)
    check_times(case)
    assert len(case.timeline()) == STEPS[name]
    assert case.said() == []
