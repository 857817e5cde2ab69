"""Real training of a small GPT-2: what `pytscope analyze` says first, and that it is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pytscope
from pytscope.model.findings import Severity
from tests.hf.real import FAULTS, STEPS, trained


@pytest.mark.parametrize("fault", FAULTS)
def test_the_first_finding_is_the_fault(tmp_path: Path, fault: str) -> None:
    trained(tmp_path, fault)
    check(pytscope.analyze(tmp_path / "run"), fault)


def check(report: Any, fault: str, *, waiting: bool = False) -> None:
    """The first finding is the fault's; a healthy run has none above low.

    Args:
        report: Of the run.
        fault: Its fault.
        waiting: Whether its ranks share cores and really wait for each other.
    """
    assert report.run.steps == STEPS
    found = [(f.rule, f.severity, f.title) for f in report.findings]
    if waiting:
        found = [f for f in found if not f[0].startswith("DIST.")]
        found = [f for f in found if "communication" not in f[2] and "straggler" not in f[2]]
    above = [f for f in found if f[1].order < Severity.LOW.order]
    if not FAULTS[fault]:
        assert above == []
        return
    assert found[0] in above
    assert found[0][0] == FAULTS[fault], found
    assert fault != "frequent_checkpoints" or "checkpoints" in found[0][2], found
