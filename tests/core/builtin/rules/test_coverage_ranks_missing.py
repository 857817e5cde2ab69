"""COVERAGE.RANKS_MISSING."""

from __future__ import annotations

import attrs

from pytscope import Profiler
from pytscope.builtin.analyzers import coverage
from pytscope.builtin.rules import ranks_missing
from pytscope.model.errors import NotApplicable
from pytscope.model.findings import Confidence, Severity
from pytscope.runs.run import ReadNote
from pytscope.runs.sources.run_directory import open_run_directory
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run


def ranked(ranks, world, **options):
    present = {rank: {} for rank in ranks}
    return make_run({"forward": 10}, steps=50, ranks=present, world_size=world, **options)


def test_missing_ranks_are_named():
    (finding,) = assert_fires(ranks_missing, ranked([0, 1, 3], 4))
    assert finding.severity is Severity.MEDIUM
    assert finding.ranks == (2,)
    assert "no records of rank 2" in finding.detail
    assert finding.cost_s is None


def test_more_than_half_missing_is_high():
    (finding,) = assert_fires(ranks_missing, ranked([1, 2], 8))
    assert finding.severity is Severity.HIGH
    assert "6 of 8 ranks" in finding.title


def test_rank_zero_alone_may_be_on_purpose():
    (finding,) = assert_fires(ranks_missing, ranked([0], 8))
    assert (finding.severity, finding.confidence) == (Severity.LOW, Confidence.SUGGESTIVE)


def test_rank_zero_alone_by_the_recorders_own_word_is_only_mentioned():
    run = ranked([0], 8)
    run.shown.metadata = {"recorded": "zero"}
    (finding,) = assert_fires(ranks_missing, run)
    assert finding.severity is Severity.INFO


def test_a_rank_without_a_step_counts_as_missing():
    run = ranked([0, 1], 2)
    first, second = run.timelines
    run = attrs.evolve(run, timelines=(first, second.select(second.step < 0, second.attempts)))
    (finding,) = assert_fires(ranks_missing, run)
    assert "no completed step of rank 1" in finding.detail
    assert finding.ranks == (1,)


def test_ranks_with_fewer_steps_are_another_rules():
    run = ranked([0, 1], 2)
    first, second = run.timelines
    short = attrs.evolve(run, timelines=(first, second.select(second.step < 20, second.attempts)))
    assert_quiet(ranks_missing, short)


def test_a_gap_in_the_numbers_of_the_ranks_is_missed_without_a_world_size():
    run = attrs.evolve(ranked([0, 1, 3], 4), world_size=None)
    (finding,) = assert_fires(ranks_missing, run)
    assert finding.ranks == (2,)
    assert finding.title == "1 of 4 ranks are not in the records"


def test_a_rank_whose_file_gave_nothing_is_missed_with_the_reason():
    note = ReadNote("empty_file", "rank00001.pts is empty", 1)
    run = attrs.evolve(ranked([0], 1), notes=(note,))
    (finding,) = assert_fires(ranks_missing, run)
    assert finding.severity is Severity.MEDIUM
    assert finding.confidence is Confidence.CONFIRMED
    assert "rank00001.pts is empty" in finding.detail


def test_an_absurd_rank_does_not_take_memory():
    run = ranked([0, 999_999_999], None)
    (finding,) = assert_fires(ranks_missing, run)
    assert len(finding.ranks) < 200_000


def test_a_run_of_one_rank_is_not_asked():
    assert_abstains(ranks_missing, make_run({"forward": 10}), NotApplicable)


def test_a_file_that_was_opened_on_purpose_misses_no_rank(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        with Profiler(tmp_path, only_rank_zero=False) as profiler:
            for _ in range(3):
                with profiler.step():
                    pass
    run = open_run_directory(tmp_path / "rank00001.pts")
    assert run.ranks == (1,)
    assert "one rank's file was opened" in assert_abstains(ranks_missing, run, NotApplicable)
    rows = [getattr(row, "text", "") for row in coverage(run).panel().rows]
    assert any("one file was opened, of rank 1 of 2" in text for text in rows)
