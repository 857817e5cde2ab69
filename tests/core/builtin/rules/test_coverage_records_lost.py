"""COVERAGE.RECORDS_LOST."""

from __future__ import annotations

import pytest

from pytscope.builtin.rules import records_lost
from pytscope.model.findings import Severity
from pytscope.runs.run import ReadNote
from pytscope.testing import assert_fires, assert_quiet, make_run


def fired(notes=(), **lost):
    run = make_run({"forward": 10}, last_attempt=lost, notes=notes)
    (finding,) = assert_fires(records_lost, run)
    return finding


@pytest.mark.parametrize(
    ("steps", "severity"), [(1, Severity.LOW), (10, Severity.MEDIUM), (40, Severity.HIGH)]
)
def test_severity_follows_the_share_of_lost_steps(steps, severity):
    finding = fired(lost_steps=steps, lost_ns=steps * 10**7)
    assert finding.severity is severity
    assert finding.cost_s is None
    assert f"Records of {steps} step" in finding.title


def test_lost_time_counts_even_without_a_count_of_steps():
    finding = fired(lost_ns=10**9)
    assert finding.severity is Severity.HIGH
    assert "1.00 s of wall without records" in finding.detail


def test_a_torn_end_alone_is_only_mentioned():
    finding = fired(damaged_bytes=17)
    assert finding.severity is Severity.INFO
    assert "17 unreadable bytes" in finding.detail


def test_an_unreadable_file_is_at_least_medium():
    finding = fired([ReadNote("unreadable_file", "rank00001.pts cannot be read")])
    assert finding.severity is Severity.MEDIUM
    assert finding.detail == "rank00001.pts cannot be read."


def test_files_of_ranks_that_are_missing_are_another_rules():
    notes = [ReadNote("empty_file", "empty", 1), ReadNote("unreadable_file", "unreadable", 2)]
    assert_quiet(records_lost, make_run({"forward": 10}, notes=notes))


def test_dropped_steps_point_to_the_disk():
    finding = fired(lost_steps=5, dropped_steps=5)
    assert "5 steps dropped by the writer" in finding.detail
    assert "local disk" in finding.fix


def test_ranks_that_lost_records_are_named():
    run = make_run({"forward": 10}, ranks=3, last_attempt={"lost_steps": 1})
    (finding,) = assert_fires(records_lost, run)
    assert finding.ranks == (0, 1, 2)


def test_a_whole_run_is_quiet_and_so_are_other_notes():
    assert_quiet(records_lost, make_run({"forward": 10}))
    note = ReadNote("second_file", "a second file", 0)
    assert_quiet(records_lost, make_run({"forward": 10}, notes=[note]))
