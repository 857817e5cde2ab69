"""Runs of hand-written all-reduces, of which 0.2.1 said what was not so."""

from __future__ import annotations

from pathlib import Path

import pytest

import pytscope
from pytscope.builtin.reporters.text import text_report
from pytscope.model.report import Report
from pytscope.plugins.declare import RenderOptions
from pytscope.testing import make_run
from tests.rules_distributed.made import analysed, outcome, said

CASES = Path(__file__).parents[3] / "shared" / "data" / "legacy_runs" / "cases"
RULES = ("DIST.STRAGGLER", "DIST.PAUSE", "DIST.LOAD_IMBALANCE", "DIST.COMM_BOUND", "DIST.SLOW_LINK")
needs_cases = pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")


def case(name: str, **options) -> Report:
    return analysed(pytscope.open(CASES / name), **options)


def reported(report: Report) -> str:
    return text_report(report, RenderOptions(width=200))


def rr(compute: float, comm: float) -> dict[str, float]:
    return {"forward": compute / 3, "backward": 2 * compute / 3, "comm": comm}


def test_waiting_in_comm_is_no_communication():
    run = make_run({}, ranks={r: rr(10, 1) if r == 1 else rr(2, 9) for r in range(4)}, steps=100)
    report = analysed(run)
    (finding,) = said(report, "DIST.STRAGGLER")
    assert finding.ranks == (1,)
    assert said(report, "DIST.COMM_BOUND") == []
    assert report.analyses["exchange"].transfer_share == pytest.approx(1 / 11)


def test_one_denominator_is_used_and_named():
    report = analysed(make_run({}, ranks={0: rr(10, 90), 1: rr(5, 90)}, steps=100))
    (finding,) = said(report, "DIST.STRAGGLER")
    assert finding.title == "Rank 0 takes 100.0% longer than rank 1"
    assert finding.cost_s.value / 99 == pytest.approx(0.005)
    assert "If rank 0 were like rank 1, the steps would take 5.0% less: the cost" in finding.detail
    (bound,) = said(report, "DIST.COMM_BOUND")
    assert bound.title.startswith("90.0% of step time")


def test_equal_ranks_are_equal():
    report = analysed(make_run(rr(10, 1), ranks=4, steps=100))
    assert [outcome(report, rule) for rule in RULES] == [("passed", "")] * 5


@needs_cases
def test_two_slow_ranks_of_a_node_are_both_named():
    (finding,) = said(case("ranks_two_slow"), "DIST.STRAGGLER")
    assert finding.ranks == (4, 5)
    assert "50.0% slower" in finding.title


@needs_cases
@pytest.mark.parametrize("name", ["rank_missing", "rank0_missing", "rank_short", "rank_empty"])
def test_equal_ranks_beside_missing_ones_pass_and_coverage_is_said(name):
    report = case(name)
    assert [outcome(report, rule) for rule in RULES] == [("passed", "")] * 5
    assert any(f.rule.startswith("COVERAGE.RANK") for f in report.findings)
    ranks = report.analyses["ranks"]
    assert ranks.missing or ranks.left_out
    assert " of " in ranks.said()
    panel = next(panel for panel in report.panels if panel.id == "ranks")
    assert any("left out" in str(row) or "no records" in str(row) for row in panel.rows)


@needs_cases
@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("rank_only_one", "not_measured"),
        ("ranks_no_overlap", "inconclusive"),
        ("ranks_ddp_hidden_wait", "not_measured"),
        ("ranks_warmup", "not_measured"),
    ],
)
def test_what_cannot_be_compared_is_no_healthy_verdict(name, verdict):
    report = case(name)
    for rule in RULES:
        found, why = outcome(report, rule)
        assert found == verdict
        assert why


def test_warm_up_is_left_out_on_all_ranks():
    slow = [30.0] * 50 + [10.0] * 150
    run = make_run({}, ranks={0: {"forward": 10.0, "comm": 1}, 1: {"forward": slow, "comm": 1}})
    assert said(analysed(run, warmup=50), "DIST.STRAGGLER") == []
    assert said(analysed(run, warmup=0), "DIST.STRAGGLER") != []


@needs_cases
@pytest.mark.parametrize("name", ["ranks_two_slow", "ranks_comm_90", "ranks_flat_mixed"])
def test_a_cost_has_one_denominator(name):
    """Ranks whose recorded times differ have none that a share could be of, but the steps'."""
    text = reported(case(name))
    assert "costs " in text
    assert "of recorded time)" not in text.partition("COVERAGE")[0].partition("FINDINGS")[2]


@needs_cases
def test_nothing_is_told_of_what_is_nothing():
    text = reported(case("ranks_wait_in_comm"))
    assert " 0 ns of " not in text
    assert "-0.0%" not in text
    assert "waits least" in text
    equal = reported(case("rank_missing"))
    assert "waits least" not in equal
    assert "none of the 3 ranks compared stands out" in equal
    assert "rank 2 is not compared: waiting for it counts as transfer" in equal


@needs_cases
@pytest.mark.parametrize("name", sorted(p.name for p in CASES.glob("rank*")) or ["none"])
def test_every_budget_closes(name):
    report = case(name)
    budget = report.analyses["budget"]
    assert budget.impossible == ()
    for each in budget.ranks:
        assert sum(line.ns for line in each.lines) == each.wall_ns
