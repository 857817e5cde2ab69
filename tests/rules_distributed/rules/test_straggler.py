from __future__ import annotations

import attrs
import numpy as np
import pytest

from pytscope.model.findings import Confidence, Severity
from tests.rules_distributed.made import analysed, noise, outcome, ranks_run, said

RULE = "DIST.STRAGGLER"


def run_of(slow: dict[int, float], ranks: int = 8, steps: int = 120, **options):
    own = noise(ranks, steps, sd=0.02, rho=0.3, seed=1) * 40
    return ranks_run(own, parts={r: {"forward": ms} for r, ms in slow.items()}, **options)


def test_one_rank_is_named_with_what_it_costs():
    (finding,) = said(analysed(run_of({2: 8.0})), RULE)
    assert finding.title.startswith("Rank 2 holds the others up: ")
    assert finding.title.endswith("slower, mostly in forward")
    assert finding.ranks == (2,)
    assert finding.confidence is Confidence.CONFIRMED
    assert finding.severity is Severity.MEDIUM
    assert finding.cost_s.value == pytest.approx(119 * 0.0072, rel=0.15)
    assert finding.cost_s.low < finding.cost_s.value < finding.cost_s.high
    assert "device" in finding.fix


def test_several_are_named_together():
    (finding,) = said(analysed(run_of({1: 8.0, 6: 8.0, 7: 8.0})), RULE)
    assert finding.ranks == (1, 6, 7)
    assert finding.title.startswith("Ranks 1, 6, 7 hold the others up")
    assert "all of them like their peers" in finding.detail


def test_a_node_is_named_as_a_node():
    places = [{"host": f"gpu-{r // 4}", "dp": r} for r in range(16)]
    run = run_of(dict.fromkeys(range(4, 8), 8.0), ranks=16, places=places)
    (finding,) = said(analysed(run), RULE)
    assert finding.title.startswith("Node gpu-1 (ranks 4, 5, 6, 7) holds the others up")
    assert finding.ranks == (4, 5, 6, 7)
    assert "node" in finding.fix


def test_a_slow_loader_has_its_own_fix():
    own = noise(6, 80, sd=0.02) * 20
    (finding,) = said(analysed(ranks_run(own, parts={0: {"data": 9.0}})), RULE)
    assert "shard" in finding.fix


@pytest.mark.parametrize(
    ("phase", "told"),
    [
        ("log", "what this rank does in log"),
        ("metrics", "what this rank does in metrics"),
        ("other", "between the phases"),
        ("backward", "the rank's device"),
    ],
)
def test_a_device_is_not_suspected_of_what_the_host_does(phase, told):
    own = noise(6, 80, sd=0.02) * 20
    (finding,) = said(analysed(ranks_run(own, parts={0: {phase: 9.0}})), RULE)
    assert f"mostly in {phase}" in finding.title
    assert told in finding.fix


def on_a_host(accelerator: str | None, cpus: int | None, phase: str = "forward"):
    own = noise(6, 80, sd=0.02) * 20
    places = [{"host": "n0", "dp": rank} for rank in range(6)]
    run = ranks_run(own, parts={0: {phase: 9.0}}, places=places)
    for timeline in run.timelines:
        timeline.metadata = {"environment": {"cpus": cpus}}
        watched = {"kind": "instrumentation", "accelerator": accelerator}
        (attempt,) = timeline.attempts
        timeline.attempts = (attrs.evolve(attempt, events=(watched, *attempt.events)),)
    (finding,) = said(analysed(run), RULE)
    return finding.fix


def test_without_an_accelerator_code_of_this_rank_comes_first():
    fix = on_a_host("", 64)
    assert fix.startswith("Look for code that this rank alone runs in forward: ")
    assert fix.endswith("other processes on them.")
    assert not {"ECC", "temperature", "swap", "share"} & set(fix.replace(",", "").split())


@pytest.mark.parametrize("accelerator", ["", "cuda", None])
def test_ranks_that_share_processors_are_told_before_a_device(accelerator):
    fix = on_a_host(accelerator, 2)
    assert fix.startswith("Look for code that this rank alone runs in forward: ")
    assert "On n0 6 ranks share 2 processors: " in fix
    assert ("ECC" in fix) is (accelerator != "")


@pytest.mark.parametrize("accelerator", ["cuda", None])
def test_a_device_of_its_own_is_looked_at(accelerator):
    assert on_a_host(accelerator, 64).startswith("Look at the rank's device: clocks")


@pytest.mark.parametrize("phase", ["data", "metrics"])
def test_shared_processors_are_told_with_what_else_to_look_at(phase):
    assert on_a_host("", 2, phase).endswith("and record the run again.")
    assert "processors" not in on_a_host("", 64, phase)


def test_each_share_says_what_it_is_of():
    report = analysed(run_of({2: 8.0}))
    (finding,) = said(report, RULE)
    assert "% less: the cost, of the " in finding.detail
    (panel,) = (panel for panel in report.panels if panel.title == "RANKS")
    assert any("held others up: a rank's part of the steps' time" in str(row) for row in panel.rows)


def test_shares_of_a_sum_over_ranks_do_not_make_a_rank_one_of_equal_load():
    own = noise(6, 80, sd=0.02) * 20
    shares = np.tile(np.random.default_rng(0).integers(400, 600, 80), (6, 1)).astype(float)
    run = ranks_run(own, parts={0: {"forward": 9.0}}, tokens=shares)
    (finding,) = said(analysed(run), RULE)
    assert "no tokens or samples are logged" in finding.detail


def test_of_two_ranks_it_says_which_takes_longer_and_no_more():
    (finding,) = said(analysed(run_of({1: 12.0}, ranks=2)), RULE)
    assert finding.title.startswith("Rank 1 takes ")
    assert finding.title.endswith(" longer than rank 0")
    assert finding.confidence is Confidence.SUGGESTIVE
    assert "nothing tells which is the odd one" in finding.detail
    assert finding.cost_s.value == pytest.approx(119 * 0.012, rel=0.1)
    assert "If rank 1 were like rank 0, the steps would take" in finding.detail


def test_of_two_ranks_it_costs_what_the_other_waits():
    report = analysed(run_of({0: 30.0}, ranks=2))
    (finding,) = said(report, RULE)
    assert report.analyses["budget"].shown_rank == 1
    waited = report.analyses["budget"].ns("straggler_wait") / 1e9
    assert finding.cost_s.value == pytest.approx(waited, rel=0.02)
    (top,) = (f for f in report.folded if f.finding.rule == RULE)
    assert "EFFICIENCY.RECOVERABLE" in {f.rule for f in top.also}


def test_an_episode_is_told_with_its_steps():
    late = np.where(np.arange(300) >= 180, 10.0, 0.0)
    own = noise(8, 300, sd=0.02) * 40
    (finding,) = said(analysed(ranks_run(own, parts={3: {"forward": late}})), RULE)
    assert "since step 18" in finding.detail
    ((first, last),) = finding.steps
    assert abs(first - 180) <= 2
    assert last == 299


def test_what_others_would_be_blamed_for_is_folded_under_it():
    own = noise(4, 120, sd=0.02) * 20
    report = analysed(ranks_run(own, parts={2: {"forward": 30.0}}))
    (top,) = (f for f in report.folded if f.finding.rule == RULE)
    folded = {f.rule for f in top.also}
    assert "EFFICIENCY.RECOVERABLE" in folded
    assert {f.finding.rule for f in report.folded} == {RULE}


@pytest.mark.parametrize("noisy", [0.02, 0.2])
def test_a_named_rank_stands_above_the_waiting_it_causes(noisy):
    """Waiting on the shown rank is more than the culprit costs: noise makes ranks wait too."""
    own = noise(4, 200, sd=noisy, seed=3) * 20
    report = analysed(ranks_run(own, parts={2: {"forward": 12.0}}, transfer_ms=3.0))
    rules = [row.finding.rule for row in report.folded]
    assert rules[0] == RULE
    assert "EFFICIENCY.RECOVERABLE" not in rules


def test_transfer_that_is_larger_keeps_the_waiting_finding_apart():
    own = noise(4, 120, sd=0.02) * 20
    report = analysed(ranks_run(own, parts={2: {"forward": 8.0}}, transfer_ms=20.0))
    also = {row.finding.rule: {f.rule for f in row.also} for row in report.folded}
    assert list(also) == ["DIST.COMM_BOUND", RULE]
    assert "EFFICIENCY.RECOVERABLE" in also["DIST.COMM_BOUND"]
    assert "EFFICIENCY.RECOVERABLE" not in also[RULE]


def test_transfer_does_not_take_waiting_under_it():
    own = noise(4, 120, sd=0.02) * 20
    report = analysed(ranks_run(own, parts={2: {"forward": 12.0}}, transfer_ms=8.0))
    also = {row.finding.rule: {f.rule for f in row.also} for row in report.folded}
    assert list(also) == [RULE, "DIST.COMM_BOUND"]
    assert "EFFICIENCY.RECOVERABLE" in also[RULE]
    assert also["DIST.COMM_BOUND"] == set()


def test_healthy_ranks_pass():
    assert outcome(analysed(run_of({})), RULE) == ("passed", "")


def test_a_slowdown_that_costs_nothing_is_none():
    own = noise(8, 120, sd=0.005) * 2
    run = ranks_run(own, parts={1: {"forward": 0.3}}, transfer_ms=100.0)
    assert said(analysed(run), RULE) == []
    assert said(analysed(run, thresholds={RULE: {"min_share": 0.001}}), RULE) != []


def test_a_higher_threshold_is_silent():
    run = run_of({2: 4.0})
    assert said(analysed(run), RULE) != []
    assert said(analysed(run, thresholds={RULE: {"min_slowdown": 0.3}}), RULE) == []


def test_noise_that_hides_everything_is_inconclusive():
    own = noise(4, 25, sd=0.8, rho=0.9) * 20
    verdict, why = outcome(analysed(ranks_run(own)), RULE)
    assert verdict == "inconclusive"
    assert "slower to be seen" in why


def test_few_steps_are_inconclusive():
    verdict, why = outcome(analysed(ranks_run(noise(4, 15, sd=0.02) * 20)), RULE)
    assert verdict == "inconclusive"
    assert "20 steps" in why


def test_more_work_is_not_a_slow_device():
    tokens = np.full((8, 120), 4096.0)
    tokens[2] *= 1.4
    own = noise(8, 120, sd=0.02) * 40
    own[2] *= 1.4
    report = analysed(ranks_run(own, tokens=tokens))
    assert said(report, RULE) == []
    (finding,) = said(report, "DIST.LOAD_IMBALANCE")
    assert finding.title == "Rank 2 has more to do than the others"
    assert finding.ranks == (2,)


def test_a_slow_device_is_found_among_batches_that_differ():
    rng = np.random.default_rng(5)
    tokens = rng.integers(2000, 6000, (8, 200)).astype(float)
    own = noise(8, 200, sd=0.02) * tokens / 100
    own[3] *= 1.15
    report = analysed(ranks_run(own, tokens=tokens))
    (finding,) = said(report, RULE)
    assert finding.ranks == (3,)
    assert finding.confidence is Confidence.CONFIRMED
    assert finding.title.endswith("slower for its tokens")
    assert "% more than its tokens account for" in finding.detail
    slower = next(e.value for e in finding.evidence if e.metric == "slower than peers")
    assert slower == pytest.approx(15, abs=1)
    (uneven,) = said(report, "DIST.LOAD_IMBALANCE")
    held = report.analyses["stragglers"].held_up_ns / 1e9
    assert uneven.cost_s.value + finding.cost_s.value <= held


def test_a_node_is_told_as_one_with_the_mean_of_its_ranks():
    places = [{"host": f"gpu-{r // 4}", "dp": r} for r in range(16)]
    slow = dict.fromkeys(range(4, 8), 8.0) | {13: 16.0}
    (finding,) = said(analysed(run_of(slow, ranks=16, places=places)), RULE)
    assert finding.title.startswith("Node gpu-1 (ranks 4, 5, 6, 7) and rank 13 hold the others up")
    assert "Rank 13 takes 15.9 ms" in finding.detail
    assert "The ranks of node gpu-1 take " in finding.detail
    assert "Rank 4 takes" not in finding.detail


def test_a_threshold_that_drops_a_nodes_ranks_drops_the_node():
    places = [{"host": f"gpu-{r // 4}", "dp": r} for r in range(16)]
    run = run_of(dict.fromkeys(range(4, 8), 4.0) | {13: 20.0}, ranks=16, places=places)
    (finding,) = said(analysed(run, thresholds={RULE: {"min_slowdown": 0.3}}), RULE)
    assert finding.ranks == (13,)
    assert "gpu-1" not in finding.title


def test_several_episodes_are_told_with_their_steps():
    late = np.zeros(300)
    late[40:80] = late[200:240] = 12.0
    own = noise(8, 300, sd=0.02) * 40
    (finding,) = said(analysed(ranks_run(own, parts={1: {"forward": late}})), RULE)
    assert "in 2 episodes: steps 40 to 79, steps 200 to 239" in finding.detail
    assert finding.steps == ((40, 79), (200, 239))


def test_of_two_ranks_what_was_waited_for_one_is_what_the_other_waited():
    (finding,) = said(analysed(run_of({0: 30.0}, ranks=2)), RULE)
    by = {e.metric: e.value for e in finding.evidence}
    assert by["waited for it"] == pytest.approx(finding.cost_s.value, rel=0.01)
    assert by["slowest rank beyond the other, all steps"] >= by["waited for it"]


@pytest.mark.parametrize("skew_ns", [(0, 300 * 10**9, -120 * 10**9, 7), (0, 0, 0, 0)])
def test_clocks_that_are_minutes_apart_change_nothing(skew_ns):
    (finding,) = said(analysed(run_of({2: 8.0}, ranks=4, skew_ns=skew_ns)), RULE)
    assert finding.ranks == (2,)


def test_a_slow_rank_in_a_stage_that_waits_costs_nothing():
    own = noise(16, 120, sd=0.02) * 40
    own[12:] *= 1.6
    own[5] *= 1.25
    places = [{"dp": r % 4, "pp": r // 4} for r in range(16)]
    groups = [range(at, at + 4) for at in range(0, 16, 4)]
    report = analysed(ranks_run(own, places=places, groups=groups))
    assert [one.rank for one in report.analyses["stragglers"].slow] == [5]
    assert said(report, RULE) == []
    assert [f.ranks for f in said(report, "DIST.LOAD_IMBALANCE")] == [(12, 13, 14, 15)]


def test_a_fast_rank_of_three_makes_nobody_slow():
    own = noise(3, 120, sd=0.02) * 40
    own[1] *= 0.8
    assert outcome(analysed(ranks_run(own)), RULE) == ("passed", "")


def test_ranks_restarted_at_different_steps_are_compared_all_the_same():
    one, other = (
        run_of({2: 8.0}, ranks=4, attempts=attempts)
        for attempts in ([(0, 120)], [(0, 60), (60, 60)])
    )
    pairs = zip(one.timelines, other.timelines, strict=True)
    mixed = attrs.evolve(one, timelines=tuple(b if b.rank == 3 else a for a, b in pairs))
    (finding,) = said(analysed(mixed), RULE)
    assert finding.ranks == (2,)
    assert "over 118 steps" in finding.detail


@pytest.mark.parametrize(
    ("phase", "rule"),
    [
        ("checkpoint", "EFFICIENCY.CHECKPOINT_HEAVY"),
        ("data", "TIMING.DATALOADER_BOUND"),
    ],
)
def test_the_seconds_of_its_phase_are_in_one_row(phase, rule):
    own = noise(2, 200, sd=0.02, rho=0.3, seed=1) * 40
    report = analysed(ranks_run(own, parts={0: {phase: 60.0}}))
    assert report.analyses["budget"].shown_rank == 0
    (top,) = report.folded
    assert (top.finding.rule, top.finding.ranks) == (RULE, (0,))
    assert rule in {one.rule for one in top.also}
