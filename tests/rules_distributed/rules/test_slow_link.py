from __future__ import annotations

import attrs
import numpy as np

from pytscope.model.findings import Confidence
from tests.rules_distributed.made import analysed, noise, outcome, ranks_run, said

RULE = "DIST.SLOW_LINK"


def test_a_process_group_with_a_bad_link_is_named():
    own = noise(8, 60, sd=0.02) * 20
    places = [{"dp": r // 2, "tp": r % 2} for r in range(8)]
    tp = noise(8, 60, sd=0.05, seed=3) * 3
    tp[4:6] *= 3
    run = ranks_run(own, places=places, extras={"dist.group.tp_ns": tp})
    (finding,) = said(analysed(run), RULE)
    assert finding.title.startswith("Transfers in the tp group of ranks 4-5 take ")
    assert finding.ranks == (4, 5)
    assert finding.confidence is Confidence.CONFIRMED


def test_an_all_reduce_that_became_slow_is_told_since_when():
    own = noise(4, 300, sd=0.02) * 20
    transfer = np.where(np.arange(300) < 200, 4.0, 12.0) * np.exp(noise(1, 300, sd=0.05)[0] - 1)
    (finding,) = said(analysed(ranks_run(own, transfer_ms=transfer)), RULE)
    assert "from step 20" in finding.title
    assert finding.ranks == ()


def test_waiting_for_a_rank_that_is_not_compared_may_look_like_it():
    late = np.where(np.arange(300) < 200, 0.0, 20.0)
    run = ranks_run(noise(4, 300, sd=0.02) * 20, parts={1: {"data": late}})
    run = attrs.evolve(run, timelines=tuple(t for t in run.timelines if t.rank != 1))
    (finding,) = said(analysed(run), RULE)
    assert finding.confidence is Confidence.SUGGESTIVE


def test_a_late_rank_is_no_slow_link():
    run = ranks_run(noise(4, 300, sd=0.02) * 20, parts={1: {"data": np.arange(300) // 200 * 20.0}})
    report = analysed(run)
    assert outcome(report, RULE) == ("passed", "")
    assert said(report, "DIST.STRAGGLER") != []


def test_few_steps_are_inconclusive():
    run = ranks_run(noise(4, 12, sd=0.02) * 30)
    assert outcome(analysed(run), RULE)[0] == "inconclusive"
