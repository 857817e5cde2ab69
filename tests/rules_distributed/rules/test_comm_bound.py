from __future__ import annotations

import attrs
import numpy as np
import pytest

from pytscope.model.findings import Confidence, Severity
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


def test_of_ranks_that_are_not_compared_it_may_be_waiting():
    own = noise(8, 120, sd=0.02) * 40
    run = ranks_run(own, parts={4: {"forward": 10.0}})
    run = attrs.evolve(run, timelines=tuple(t for t in run.timelines if t.rank != 4))
    (finding,) = said(analysed(run), RULE)
    assert finding.confidence is Confidence.SUGGESTIVE
    assert "Rank 4 is not compared: part of it may be waiting for it." in finding.detail


def test_roles_that_wait_for_each_other_are_no_transfer():
    own = noise(8, 120, sd=0.02) * 40
    own[4:] *= 3
    places = [{"role": "actor" if r < 4 else "learner"} for r in range(8)]
    report = analysed(ranks_run(own, places=places))
    assert said(report, RULE) == []
    verdict, why = outcome(report, RULE)
    assert verdict == "inconclusive"
    assert "stages or roles may wait for each other" in why


def test_of_stages_the_one_that_transfers_least_counts():
    own = noise(8, 120, sd=0.02) * 20
    places = [{"dp": r % 4, "pp": r // 4} for r in range(8)]
    groups = [range(4), range(4, 8)]
    report = analysed(ranks_run(own, places=places, groups=groups, transfer_ms=10.0))
    (finding,) = said(report, RULE)
    assert finding.confidence is Confidence.CONFIRMED
    assert finding.cost_s.value == pytest.approx(119 * 0.010)


def crowded_run(cpus: object):
    places = [{"host": "n0" if rank < 3 else "n1"} for rank in range(4)]
    run = ranks_run(noise(4, 60, sd=0.02) * 30, transfer_ms=15.0, places=places)
    for timeline in run.timelines:
        timeline.metadata = {"environment": {"cpus": cpus}}
    return run


def test_ranks_that_share_processors_may_be_waiting_for_one():
    (finding,) = said(analysed(crowded_run(2)), RULE)
    assert (finding.severity, finding.confidence) == (Severity.LOW, Confidence.SUGGESTIVE)
    assert "On n0 3 ranks share 2 processors: part of it may be" in finding.detail
    assert finding.fix.startswith("Give each rank a processor of its own")


@pytest.mark.parametrize("cpus", [3, 64, None, 0, True, "2"])
def test_processors_enough_or_unknown_change_nothing(cpus):
    (finding,) = said(analysed(crowded_run(cpus)), RULE)
    assert (finding.severity, finding.confidence) == (Severity.HIGH, Confidence.CONFIRMED)
    assert "processor" not in finding.detail
