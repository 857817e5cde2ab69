"""Every run of 0.2.x, however broken: a report or one sentence, and nothing broken passes."""

from __future__ import annotations

import pytest

from tests.core.acceptance.conftest import SHARED, Answer
from tests.core.acceptance.made import DAMAGED, EVERY, NOTHING, RANKS, WHOLE

SHARED_NOTHING = {"binary", "empty_dir", "empty_file", "negative_phase", "traces"}
SHARED_GARBAGE = {
    "corrupt_line",
    "half_corrupt",
    "missing_step_key",
    "nan_phase",
    "nonutf8",
    "null_phases",
    "string_loss",
    "string_phase",
    "truncated_last",
    "valid_json_not_object",
    "runjson_list",
    "runjson_nonutf8",
    "runjson_null_config",
    "one_step",
    "appended_twice",
    "unattributed_wall",
}
SHARED_RANKS = {
    "rank_missing",
    "rank0_missing",
    "rank_short",
    "rank_empty",
    "rank_only_one",
    "ranks_no_overlap",
    "ranks_flat_mixed",
}


def reads(answer: Answer) -> None:
    """A report, or one sentence and a hint with exit status 3."""
    assert "Traceback" not in answer.text + answer.err
    assert answer.code in (0, 3)
    if answer.code == 0:
        assert answer.document["run"]["steps"] > 0
        assert answer.document["problems"] == []
        assert not [c for c in answer.document["checks"] if c["outcome"] == "error"]
        assert (
            sum(n["ns"] for n in answer.document["budget"]["lines"])
            == (answer.document["budget"]["wall_ns"])
        )
    else:
        assert answer.text == ""
        assert answer.err.startswith("error: ")
        assert answer.err.count("\n") <= 2
    printable = (answer.text + answer.err).replace("\n", "")
    assert printable.isprintable()


def is_not_healthy(answer: Answer) -> None:
    """A coverage finding, or no report at all."""
    if answer.code == 0:
        assert {rule for rule in answer.fired if rule.startswith("COVERAGE.")}
        assert "no findings" not in answer.text


@pytest.mark.parametrize("name", EVERY)
def test_every_kind_gives_a_report_or_one_sentence(analyze, tmp_path, name):
    answer = analyze(EVERY[name](tmp_path / name))
    reads(answer)
    assert (answer.code == 3) == (name in NOTHING)
    if name in WHOLE:
        assert not {rule for rule in answer.fired if rule.startswith("COVERAGE.")}
    if name in DAMAGED or name in RANKS:
        is_not_healthy(answer)
    if name in ("ok", "recorded_twice"):
        assert answer.document["run"]["steps"] == 40


shared = pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data beside this repository")


@shared
@pytest.mark.parametrize("name", sorted(p.name for p in SHARED.glob("*")) or ["absent"])
def test_every_shared_run_gives_a_report_or_one_sentence(analyze, name):
    answer = analyze(SHARED / name)
    reads(answer)
    assert (answer.code == 3) == (name in SHARED_NOTHING)
    if name in SHARED_GARBAGE | SHARED_RANKS:
        is_not_healthy(answer)


@shared
def test_the_shared_runs_are_those_that_are_expected():
    there = {p.name for p in SHARED.iterdir()} | {"empty_dir"}  # git keeps no empty folder
    assert there >= SHARED_NOTHING | SHARED_GARBAGE | SHARED_RANKS
