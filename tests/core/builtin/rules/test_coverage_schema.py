"""COVERAGE.SCHEMA."""

from __future__ import annotations

import attrs
import pytest

from pytscope.builtin.rules import schema
from pytscope.model.findings import Severity
from pytscope.runs.run import ReadNote
from pytscope.testing import assert_fires, assert_quiet, make_run


@pytest.mark.parametrize(
    ("kind", "severity"),
    [
        ("newer_format", Severity.MEDIUM),
        ("values", Severity.LOW),
        ("metadata", Severity.LOW),
        ("limit", Severity.LOW),
        ("unknown_record", Severity.INFO),
        ("unknown_column", Severity.INFO),
    ],
)
def test_what_was_passed_over_is_told(kind, severity):
    note = ReadNote(kind, "3 of them were passed over", 0)
    (finding,) = assert_fires(schema, make_run({"forward": 10}, notes=[note]))
    assert finding.severity is severity
    assert finding.detail == "3 of them were passed over."
    assert finding.ranks == (0,)
    assert finding.cost_s is None


def test_files_of_a_newer_format_account_for_the_ranks_they_are_of():
    note = ReadNote("newer_format", "rank00001.pts is of version 9", 1)
    run = make_run({"forward": 10}, world_size=2, notes=[note])
    (finding,) = assert_fires(schema, run)
    assert finding.explains == ("COVERAGE.RANKS_MISSING",)
    (finding,) = assert_fires(schema, attrs.evolve(run, world_size=3))
    assert finding.explains == ()


def test_metadata_of_a_run_that_did_not_finish_is_another_rules():
    note = ReadNote("metadata", "run.json is not there", 0)
    assert_quiet(schema, make_run({"forward": 10}, finished=False, notes=[note]))


def test_other_notes_are_other_rules():
    notes = [ReadNote(kind, "said", 0) for kind in ("damaged", "clock_back", "second_file")]
    assert_quiet(schema, make_run({"forward": 10}, notes=notes))
