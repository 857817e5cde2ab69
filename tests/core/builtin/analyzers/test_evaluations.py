"""What a report says of evaluations outside of training, and what stays as it was."""

from __future__ import annotations

from pathlib import Path

import attrs

import pytscope
from pytscope.analyses import Evaluated, Evaluations
from pytscope.model.panels import Status
from tests.core.runs.pts_bytes import event
from tests.core.runs.reading import write
from tests.core.runs.test_evaluations import evaluation, trained


def reported(folder: Path, records: list[bytes]) -> pytscope.Report:
    return pytscope.analyze(write(folder, records), warmup=0)


def test_each_has_a_line_and_the_rest_is_the_same(tmp_path: Path) -> None:
    alone = reported(tmp_path / "alone", trained(40))
    both = reported(tmp_path / "both", [*trained(40), *evaluation(40, 50, wall_ns=10**9)])
    (panel,) = [panel for panel in both.panels if panel.id == "evaluations"]
    assert (
        panel.headline == "1 evaluation outside of training · 1.00 s, not counted in the run's wall"
    )
    assert panel.rows[0].rows == (("test", "40", "1.00 s", "test_loss 0.5"),)
    assert [p for p in both.panels if p is not panel] == list(alone.panels)
    assert both.findings == alone.findings
    checks = {check.rule: check.outcome for check in both.checks}
    assert checks == {check.rule: check.outcome for check in alone.checks}


def test_one_that_an_exception_ended_is_said_to_be(tmp_path: Path) -> None:
    records = evaluation(40, 50, values={})
    records.insert(2, event("exception", 100, type="ValueError", message="no labels"))
    report = reported(tmp_path, [*trained(40), *records, *evaluation(40, 60, end=False)])
    (panel,) = [panel for panel in report.panels if panel.id == "evaluations"]
    found = [row[-1] for row in panel.rows[0].rows]
    assert found == ["ended by ValueError: no labels", "did not finish; test_loss 0.5"]
    assert panel.status.value == "watch"
    assert [f.rule for f in report.findings if f.rule == "COVERAGE.NOT_FINISHED"] == []


def test_many_are_counted(tmp_path: Path) -> None:
    records = [r for i in range(12) for r in evaluation(40, 50 + i)]
    report = reported(tmp_path, [*trained(40), *records])
    (panel,) = [panel for panel in report.panels if panel.id == "evaluations"]
    assert panel.rows[0].text == "4 earlier ones not listed"
    assert len(panel.rows[1].rows) == 8


def test_a_folder_with_nothing_else_accuses_nobody_of_evaluating(tmp_path: Path) -> None:
    report = reported(tmp_path, evaluation(0))
    assert [f.rule for f in report.findings] == ["COVERAGE.TOO_FEW_STEPS"]
    (coverage,) = [panel for panel in report.panels if panel.id == "coverage"]
    assert "no training was recorded here" in str(coverage.rows)
    (finding,) = report.findings
    assert finding.title == "No training was recorded here"
    assert "--steps" not in finding.fix
    (panel,) = [panel for panel in report.panels if panel.id == "evaluations"]
    assert "wall" not in panel.headline
    assert "events" not in {panel.id for panel in report.panels}


def test_of_several_without_a_training_the_last_is_the_wall(tmp_path: Path) -> None:
    report = reported(tmp_path, [*evaluation(0), *evaluation(0, 50, wall_ns=10**9)])
    (panel,) = [panel for panel in report.panels if panel.id == "evaluations"]
    assert panel.headline.endswith("1.00 s, the last one is the run's wall")
    assert report.analyses["budget"].wall_ns == 10**9


def test_what_their_recorder_warned_of_is_told(tmp_path: Path) -> None:
    records = evaluation(40, 50)
    records.insert(2, event("warning", 100, message="another live process records this rank"))
    records.insert(3, event("limit", 100, what="evaluations of one process", limit=256))
    coverage = reported(tmp_path, [*trained(40), *records]).analyses["coverage"]
    assert coverage.warnings == (
        "another live process records this rank",
        "limit: what evaluations of one process, limit 256",
    )


def test_one_that_is_being_recorded_is_not_cut_off() -> None:
    running = Evaluated("test", 40, 100, finished=False, live=True)
    found = attrs.evolve(running, values={"acc": 0.5})
    assert [one.outcome for one in (running, found)] == [
        "still recording",
        "still recording; acc 0.5",
    ]
    panel = Evaluations(rank=0, wall_ns=200, evaluations=(running, found)).panel()
    assert panel.status is Status.OK
