"""Rank files on disk, through the whole analysis: what is missing is never called healthy."""

from __future__ import annotations

import attrs
import pytest

import pytscope
from pytscope.analysis.orchestrator import analyze
from pytscope.model.findings import Severity
from tests.core.builtin.rules.test_together import REGISTRY
from tests.core.runs.pts_bytes import EPOCH_NS, Step, anchor, attempt, record, run_record

STEP = Step((("data", 300_000), ("forward", 6_000_000), ("backward", 12_000_000)))


def rank_file(rank, steps=100, first=0, world=4, **fields):
    return attempt([STEP] * steps, step=first, rank=rank, world=world, **fields)


def analysed(folder, files):
    for name, records in files.items():
        (folder / name).write_bytes(records if isinstance(records, bytes) else b"".join(records))
    return analyze(pytscope.open(folder), REGISTRY)


def named(*ranks):
    return {f"rank{rank:05d}.pts": rank_file(rank) for rank in ranks}


def empty_of_steps(rank):
    return attempt([], rank=rank, world=4)


CASES = {
    "one rank of four is missing": (named(0, 1, 3), "COVERAGE.RANKS_MISSING"),
    "rank 0 is missing": (named(1, 2, 3), "COVERAGE.RANKS_MISSING"),
    "only rank 2 is there": (named(2), "COVERAGE.RANKS_MISSING"),
    "only rank 0 is there": (named(0), "COVERAGE.RANKS_MISSING"),
    "a rank has three steps": (
        {**named(0, 1, 2), "rank00003.pts": rank_file(3, 3)},
        "COVERAGE.RANK_SHORT",
    ),
    "a rank's file is empty": (
        {**named(0, 1, 2), "rank00003.pts": b""},
        "COVERAGE.RANKS_MISSING",
    ),
    "a rank has no step": (
        {**named(0, 1, 2), "rank00003.pts": empty_of_steps(3)},
        "COVERAGE.RANKS_MISSING",
    ),
    "a rank's file is garbage": (
        {**named(0, 1, 2), "rank00003.pts": b"\x00garbage" * 99},
        "COVERAGE.RANKS_MISSING",
    ),
    "no step in common": (
        {
            "rank00000.pts": rank_file(0, 50, world=2),
            "rank00001.pts": rank_file(1, 50, 50, world=2),
        },
        "COVERAGE.RANK_SHORT",
    ),
    "a rank of a newer format": (
        {**named(0, 1, 2), "rank00003.pts": [run_record(rank=3, world=4, v=9)]},
        "COVERAGE.SCHEMA",
    ),
    "gaps without a world size": (
        {f"rank{r:05d}.pts": rank_file(r, world=None) for r in (0, 2)},
        "COVERAGE.RANKS_MISSING",
    ),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_ranks_that_are_missing_or_short_are_the_first_finding(tmp_path, name):
    files, rule = CASES[name]
    report = analysed(tmp_path, files)
    assert report.folded[0].finding.rule == rule
    wanted = Severity.LOW if name == "only rank 0 is there" else Severity.MEDIUM
    assert report.folded[0].finding.severity.order <= wanted.order
    causes = [row.finding.rule for row in report.folded]
    assert len(causes) == len(set(causes))


def test_each_cause_is_told_once(tmp_path):
    for name, (files, _) in CASES.items():
        folder = tmp_path / name.replace(" ", "_")
        folder.mkdir()
        report = analysed(folder, files)
        rules = {row.finding.rule for row in report.folded}
        assert len(rules) == 1, (name, rules)


def test_a_rank_that_died_before_its_first_step_is_one_cause(tmp_path):
    files = {**named(0, 1, 2), "rank00003.pts": [run_record(rank=3, world=4)]}
    (row,) = analysed(tmp_path, files).folded
    assert row.finding.rule == "COVERAGE.NOT_FINISHED"
    assert [f.rule for f in row.also] == ["COVERAGE.RANKS_MISSING"]


def test_whole_ranks_have_no_finding(tmp_path):
    assert analysed(tmp_path, named(0, 1, 2, 3)).findings == ()


def test_two_runs_in_one_folder_are_told(tmp_path):
    later = {"epoch_ns": EPOCH_NS + 10**12}
    records = [*rank_file(0, world=1), *rank_file(0, world=1, **later)]
    (finding,) = analysed(tmp_path, {"rank00000.pts": records}).findings
    assert finding.rule == "COVERAGE.ATTEMPTS"
    assert "1 attempt in this directory" in finding.title
    assert finding.severity is Severity.LOW


def test_a_resumed_run_tells_what_was_done_again_and_how_long_it_was_down(tmp_path):
    later = {"epoch_ns": EPOCH_NS + 60 * 10**9}
    records = [*rank_file(0, world=1), *rank_file(0, 100, 80, world=1, **later)]
    report = analysed(tmp_path, {"rank00000.pts": records})
    (finding,) = report.findings
    assert finding.rule == "COVERAGE.ATTEMPTS"
    assert "20 steps done again" in finding.title
    assert finding.cost_s.value == pytest.approx(20 * STEP.wall_ns / 1e9, rel=1e-4)
    assert "between attempts" in finding.detail


def test_a_jump_of_the_time_of_day_is_told_as_such(tmp_path):
    records = rank_file(0, world=1)
    records.insert(-1, anchor(10**9, EPOCH_NS + 10**9))
    records.insert(-1, anchor(2 * 10**9, EPOCH_NS - 3600 * 10**9))
    (finding,) = analysed(tmp_path, {"rank00000.pts": records}).findings
    assert (finding.rule, finding.severity) == ("COVERAGE.CLOCK", Severity.INFO)
    assert "jumped" in finding.detail


def test_a_clock_that_went_back_is_told_once(tmp_path):
    back = attrs.evolve(STEP, segments=(("data", 300_000), ("forward", -6_000_000)))
    records = attempt([*[STEP] * 50, back, *[STEP] * 49], rank=0, world=1)
    (finding,) = analysed(tmp_path, {"rank00000.pts": records}).findings
    assert finding.rule == "COVERAGE.CLOCK"
    assert finding.steps == ((50, 50),)


def test_records_of_unknown_kinds_are_told(tmp_path):
    records = rank_file(0, world=1)
    records.insert(2, record({"b": "samples", "rows": [1]}))
    (finding,) = analysed(tmp_path, {"rank00000.pts": records}).findings
    assert (finding.rule, finding.severity) == ("COVERAGE.SCHEMA", Severity.INFO)
    assert "'samples'" in finding.detail
