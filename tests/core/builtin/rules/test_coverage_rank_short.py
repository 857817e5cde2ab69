"""COVERAGE.RANK_SHORT."""

from __future__ import annotations

import attrs
import pytest

from pytscope.builtin.rules import not_finished, rank_short
from pytscope.model.errors import NotApplicable
from pytscope.model.findings import Severity
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run


def cut(*bounds, finished=True, ms=10, **options):
    """A run whose ranks have the steps between their bounds, of 100."""
    run = make_run({"forward": ms}, ranks=len(bounds), **options)
    timelines = []
    for timeline, (first, last) in zip(run.timelines, bounds, strict=True):
        keep = (timeline.step >= first) & (timeline.step < last)
        attempts = timeline.attempts
        if last < 100:
            attempts = tuple(attrs.evolve(a, finished=finished) for a in attempts)
        timelines.append(timeline.select(keep, attempts))
    return attrs.evolve(run, timelines=tuple(timelines))


@pytest.mark.parametrize(
    ("last", "severity"),
    [(99, Severity.INFO), (97, Severity.LOW), (90, Severity.MEDIUM), (58, Severity.HIGH)],
)
def test_a_rank_that_stops_early_is_named(last, severity):
    (finding,) = assert_fires(rank_short, cut((0, 100), (0, 100), (0, last)))
    assert finding.severity is severity
    assert finding.ranks == (2,)
    assert finding.title == f"Rank 2 has {last} of 100 steps"
    assert f"early, after step {last - 1}" in finding.detail
    assert finding.cost_s is None


def test_a_rank_that_begins_late_or_has_holes_is_told_so():
    (finding,) = assert_fires(rank_short, cut((0, 100), (40, 100)))
    assert "Rank 1 begins 40 steps late (40.0% of all steps)." in finding.detail
    run = make_run({"forward": 10}, ranks=2)
    first, second = run.timelines
    holes = second.select((second.step < 30) | (second.step > 39), second.attempts)
    (finding,) = assert_fires(rank_short, attrs.evolve(run, timelines=(first, holes)))
    assert "lacks 10 steps in between" in finding.detail


def test_ranks_without_a_common_step_are_high():
    (finding,) = assert_fires(rank_short, cut((0, 50), (50, 100)))
    assert finding.title == "The ranks have no step in common"
    assert finding.severity is Severity.HIGH
    assert finding.ranks == (0, 1)


def test_many_short_ranks_are_summed_up():
    (finding,) = assert_fires(rank_short, cut((0, 100), *[(0, 50)] * 6))
    assert finding.title == "6 of 7 ranks lack steps that others have"
    assert "So do 2 ranks more." in finding.detail


def test_a_killed_rank_may_lack_what_was_not_written():
    assert_quiet(rank_short, cut((0, 100), (0, 60), finished=False))
    assert_fires(rank_short, cut((0, 100), (0, 60), finished=False), tail_s=0.1)
    assert_fires(rank_short, cut((0, 100), (0, 60), finished=False, ms=100))


def test_lost_steps_are_another_rules():
    run = cut((0, 100), (0, 60))
    first, second = run.timelines
    lost = tuple(attrs.evolve(a, lost_steps=40) for a in second.attempts)
    run = attrs.evolve(run, timelines=(first, second.select(second.step >= 0, lost)))
    assert_quiet(rank_short, run)


def test_equal_ranks_are_quiet():
    assert_quiet(rank_short, cut((0, 100), (0, 100)))
    assert_quiet(rank_short, make_run({"forward": 10}, ranks=3, attempts=[(0, 60), (40, 40)]))


def test_one_rank_and_a_live_run_are_not_asked():
    assert_abstains(rank_short, make_run({"forward": 10}), NotApplicable)
    live = attrs.evolve(cut((0, 100), (0, 50)), live=True)
    assert_abstains(rank_short, live, NotApplicable)


def test_a_rank_that_was_killed_early_is_one_cause():
    run = cut((0, 100), (0, 20), finished=False, ms=100)
    (finding,) = assert_fires(not_finished, run)
    assert "COVERAGE.RANK_SHORT" in finding.explains
    run = cut((0, 100), (0, 20), finished=True, ms=100)
    assert_quiet(not_finished, run)
