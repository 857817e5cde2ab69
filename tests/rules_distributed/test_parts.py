"""Waiting and transfer in the budget, which closes to the nanosecond with them."""

from __future__ import annotations

import numpy as np
import pytest

from pytscope.analyses import Budget
from pytscope.runs.run import Run
from pytscope.testing import make_run
from pytscope_rules_distributed import Exchange
from tests.rules_distributed.made import MS, analysed, noise, ranks_run


def budget_of(run: Run, **options) -> tuple[Budget, Exchange]:
    report = analysed(run, **options)
    return report.analyses["budget"], report.analyses["exchange"]


def closes(budget: Budget, run: Run) -> None:
    assert budget.impossible == ()
    for each in budget.ranks:
        assert (
            sum(line.ns for line in each.lines) == each.wall_ns == run.rank(each.rank).measured_ns
        )
        assert all(line.ns >= 0 for line in each.lines)


def line(budget: Budget, rank: int, name: str) -> int:
    lines = next(each.lines for each in budget.ranks if each.rank == rank)
    return next((line.ns for line in lines if line.name == name), 0)


@pytest.mark.parametrize("inside", ["backward", "comm", "other"])
@pytest.mark.parametrize("meet", [False, True])
def test_it_closes_wherever_the_waiting_hides(inside, meet):
    own = noise(4, 60, sd=0.1, seed=2) * 20
    parts = {r: {"other": 1.0} for r in range(4)}
    run = ranks_run(
        own, inside=inside, meet_in_forward=meet, transfer_ms=3.0, parts=parts, warmup=4
    )
    budget, exchange = budget_of(run)
    closes(budget, run)
    steps = exchange.steps
    for each in exchange.ranks:
        transfer = line(budget, each.rank, "communication")
        if inside == "comm" and not meet:  # the first rated step has no step before it
            transfer -= run.rank(each.rank).phase_ns("comm")[4] * (steps < 56)
        assert transfer == each.transfer_ns
        assert line(budget, each.rank, "straggler_wait") == each.wait_ns
    assert budget.exchange_measured


def test_waiting_is_what_others_are_blocked_beyond_the_last_one():
    own = np.full((4, 50), 20.0)
    run = ranks_run(own, parts={2: {"backward": 6.0}}, transfer_ms=2.0)
    _, exchange = budget_of(run)
    assert [each.wait_ns for each in exchange.ranks] == [6 * MS * 49] * 2 + [0] + [6 * MS * 49]
    assert {each.transfer_ns for each in exchange.ranks} == {2 * MS * 49}
    assert exchange.transfer_share == pytest.approx(2 / 28)
    assert exchange.wait_share == pytest.approx(0.75 * 6 / 28)


def test_time_the_recording_did_not_place_comes_out_of_compute_as_far_as_there_is():
    own = np.full((3, 40), 20.0)
    run = ranks_run(own, parts={1: {"backward": 6.0}}, transfer_ms=2.0)
    for timeline in run.timelines:
        names = dict(timeline._columns._names)
        kept = tuple(n for n in names["extra"] if not n.startswith("dist.in."))
        timeline._columns._names = {**names, "extra": kept}
    budget, _ = budget_of(run)
    closes(budget, run)
    assert line(budget, 0, "straggler_wait") == 6 * MS * 39


def test_time_blocked_in_an_evaluation_stays_there():
    own = np.full((3, 40), 20.0)
    run = ranks_run(own, inside="eval", transfer_ms=2.0, parts={1: {"backward": 5.0}})
    budget, _ = budget_of(run)
    closes(budget, run)
    assert line(budget, 0, "straggler_wait") == 0
    assert line(budget, 0, "eval") == 7 * MS * 40


def test_useful_compute_is_split_from_what_is_left():
    own = np.full((2, 50), 20.0)
    run = ranks_run(own, parts={1: {"backward": 10.0}}, transfer_ms=2.0)
    budget, _ = budget_of(run, flops_per_step=1e9, peak_flops=1e12)
    closes(budget, run)
    assert line(budget, 0, "useful_compute") == 50 * MS
    assert line(budget, 0, "straggler_wait") == 10 * MS * 49


def test_the_comm_lines_of_a_hand_written_loop_are_told_apart():
    slow = {"forward": 10, "comm": 1}
    run = make_run({"forward": 2, "comm": 9}, ranks={0: {}, 1: slow, 2: {}, 3: {}}, steps=60)
    budget, _ = budget_of(run)
    closes(budget, run)
    assert line(budget, 0, "straggler_wait") == 8 * MS * 59
    assert line(budget, 0, "communication") == (59 + 9) * MS  # the first step cannot be told
    assert line(budget, 1, "straggler_wait") == 0


def test_without_stamps_nothing_is_moved():
    report = analysed(make_run({"forward": 10, "backward": 30}, ranks=3))
    assert report.analyses["budget"].parts == ()
    assert report.analyses["budget"].exchange_measured is False
