from __future__ import annotations

import numpy as np
import pytest

from pytscope.model.findings import Confidence, Severity
from tests.rules_distributed.made import analysed, noise, outcome, ranks_run, said

RULE = "DIST.PAUSE"


def own(ranks: int = 8, steps: int = 200) -> np.ndarray:
    return noise(ranks, steps, sd=0.02, rho=0.3, seed=1) * 40


def test_one_long_pause_comes_first_with_its_rank_and_step():
    once = np.where(np.arange(200) == 150, 10_000.0, 0.0)
    report = analysed(ranks_run(own(), parts={5: {"backward": once}}))
    (top,) = report.folded
    finding = top.finding
    assert finding.rule == RULE
    assert finding.title == "Rank 5 held the others up for 10.00 s in step 150, mostly in backward"
    assert (finding.ranks, finding.steps) == ((5,), ((150, 150),))
    assert (finding.severity, finding.confidence) == (Severity.HIGH, Confidence.SUGGESTIVE)
    assert finding.cost_s.value == pytest.approx(10, rel=0.01)
    assert "EFFICIENCY.RECOVERABLE" in {f.rule for f in top.also}
    assert said(report, "DIST.STRAGGLER") == []


@pytest.mark.parametrize(
    ("phase", "told"),
    [
        ("eval", "Let all ranks evaluate"),
        ("checkpoint", "Save from all ranks"),
        ("log", "what this rank alone does in log"),
    ],
)
def test_what_one_rank_does_alone_is_told_as_that(phase, told):
    now = np.where(np.arange(200) % 50 == 49, 500.0, 0.0)
    report = analysed(ranks_run(own(), parts={0: {phase: now}}))
    (finding,) = said(report, RULE)
    assert finding.title == f"Rank 0 holds the others up every 50 steps, mostly in {phase}"
    assert finding.confidence is Confidence.CONFIRMED
    assert told in finding.fix
    assert finding.cost_s.value == pytest.approx(2.0, rel=0.01)
    assert report.folded[0].finding is finding
    assert said(report, "DIST.STRAGGLER") == []


@pytest.mark.parametrize(
    ("phase", "told"), [("data", "this rank's input"), ("other", "garbage collection")]
)
def test_a_pause_where_all_ranks_are_at_times_has_no_known_reason(phase, told):
    now = np.where(np.arange(200) % 50 == 49, 500.0, 0.0)
    (finding,) = said(analysed(ranks_run(own(), parts={5: {phase: now}})), RULE)
    assert finding.confidence is Confidence.SUGGESTIVE
    assert told in finding.fix


def test_steps_in_a_row_are_a_range():
    first = np.where(np.arange(200) < 9, 80.0, 0.0)
    (finding,) = said(analysed(ranks_run(own(), parts={2: {"forward": first}})), RULE)
    assert finding.title.startswith("Rank 2 holds the others up in steps 1 to 8")


def test_irregular_ones_are_counted():
    now = np.isin(np.arange(200), (20, 33, 90, 121, 122)) * 300.0
    (finding,) = said(analysed(ranks_run(own(), parts={2: {"forward": now}})), RULE)
    assert finding.title == "Rank 2 held the others up in 5 single steps, mostly in forward"


def test_pauses_that_go_round_have_no_culprit():
    slow = own()
    for i in range(0, 200, 8):
        slow[i // 8 % 8, i] += 100
    (finding,) = said(analysed(ranks_run(slow)), RULE)
    assert finding.title == "Pauses go round 8 ranks, and all others wait each time"
    assert finding.ranks == ()
    assert finding.confidence is Confidence.SUGGESTIVE
    assert "gc.collect()" in finding.fix


def test_little_pauses_pass():
    now = np.where(np.arange(200) % 100 == 99, 60.0, 0.0)
    run = ranks_run(own(), parts={0: {"log": now}})
    assert outcome(analysed(run), RULE) == ("passed", "")
    assert said(analysed(run, thresholds={RULE: {"min_share": 0.01}}), RULE) != []


def test_what_all_ranks_do_together_is_no_pause():
    now = np.where(np.arange(200) % 50 == 49, 500.0, 0.0)
    run = ranks_run(own(), parts={rank: {"eval": now} for rank in range(8)})
    assert outcome(analysed(run), RULE) == ("passed", "")


@pytest.mark.parametrize("ranks", [2, 8])
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(
    "phase", ["gc", "data", "compile", "h2d", "log", "optimizer", "eval", "checkpoint"]
)
def test_no_second_is_in_two_rows(phase, rank, ranks):
    now = np.where(np.arange(200) % 20 == 19, 1000.0, 0.0)
    report = analysed(ranks_run(own(ranks), parts={rank: {phase: now}}))
    (top,) = report.folded
    assert (top.finding.rule, top.finding.ranks) == (RULE, (rank,))
    assert len(top.also) > 0


def test_nor_where_pauses_go_round():
    parts = {r: {"gc": np.where(np.arange(200) % 40 == 5 * r, 500.0, 0.0)} for r in range(8)}
    (top,) = analysed(ranks_run(own(), parts=parts)).folded
    assert top.finding.title == (
        "Pauses go round 8 ranks, mostly in gc, and all others wait each time"
    )
    assert "TIMING.GC_PAUSES" in {one.rule for one in top.also}


def test_what_all_do_as_well_is_under_the_rank_that_takes_longer():
    now = np.where(np.arange(200) % 50 == 49, 3000.0, 0.0)
    parts = {rank: {"eval": now * (2 if rank == 3 else 1)} for rank in range(8)}
    (top,) = analysed(ranks_run(own(), parts=parts)).folded
    assert [top.finding.rule, *(one.rule for one in top.also)] == [RULE, "EFFICIENCY.EVAL_HEAVY"]


def test_the_rule_of_another_ranks_phase_is_left_alone():
    now = np.where(np.arange(200) % 50 == 49, 500.0, 0.0)
    report = analysed(ranks_run(own(), parts={5: {"checkpoint": now}}))
    assert report.analyses["budget"].shown_rank != 5
    (finding,) = said(report, RULE)
    assert "EFFICIENCY.CHECKPOINT_HEAVY" not in finding.explains
