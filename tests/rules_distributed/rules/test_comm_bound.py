from __future__ import annotations

import numpy as np
import pytest

from pytscope.model.findings import Severity
from tests.rules_distributed.made import analysed, noise, outcome, ranks_run, said

RULE = "DIST.COMM_BOUND"


def test_transfer_that_nothing_hides_is_found():
    run = ranks_run(noise(4, 60, sd=0.02) * 30, transfer_ms=15.0)
    (finding,) = said(analysed(run), RULE)
    assert finding.severity is Severity.HIGH
    assert finding.cost_s.value == pytest.approx(59 * 0.015)
    assert "of step time is transfer between ranks" in finding.title


def test_waiting_is_no_transfer():
    run = ranks_run(np.full((4, 60), 20.0), parts={1: {"forward": 20.0}}, transfer_ms=1.0)
    report = analysed(run)
    assert said(report, RULE) == []
    assert said(report, "DIST.STRAGGLER") != []


def test_a_little_transfer_passes():
    run = ranks_run(noise(4, 60, sd=0.02) * 30, transfer_ms=1.0)
    assert outcome(analysed(run), RULE) == ("passed", "")
    assert said(analysed(run, thresholds={RULE: {"min_share": 0.02}}), RULE) != []


def test_few_steps_are_inconclusive():
    run = ranks_run(noise(4, 12, sd=0.02) * 30, transfer_ms=15.0)
    assert outcome(analysed(run), RULE)[0] == "inconclusive"
