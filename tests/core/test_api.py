from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pytscope
from pytscope import (
    Outcome,
    PluginError,
    Profiler,
    PytscopeError,
    Report,
    Run,
    RunNotFound,
    RunUnreadable,
    Severity,
    UsageError,
)
from pytscope.api import opened
from pytscope.cli import main
from pytscope.plugins.selection import PluginSelection
from tests.core.plugins.made import registry
from tests.core.plugins.throwaway import distribution, pack


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a real loop, recorded by the real profiler."""
    folder = tmp_path_factory.mktemp("run")
    with Profiler(folder, name="api", warmup=2) as profiler:
        for _ in profiler.steps(range(30)):
            profiler.mark("forward")
            profiler.log(loss=1.0)
    return folder


def test_open_gives_a_run(recorded: Path) -> None:
    run = pytscope.open(recorded)
    assert isinstance(run, Run)
    assert run.name == "api"
    assert len(run.shown) == 30


def test_open_takes_text_and_a_source(recorded: Path) -> None:
    assert pytscope.open(str(recorded), source="pytscope", attempt=0).name == "api"
    with pytest.raises(UsageError, match="no source is named 'nope'"):
        pytscope.open(recorded, source="nope")


def test_open_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(RunNotFound):
        pytscope.open(tmp_path / "missing")
    with pytest.raises(RunUnreadable):
        pytscope.open(tmp_path)


def test_analyze_takes_a_path_or_a_run(recorded: Path) -> None:
    report = pytscope.analyze(recorded, select=("TIMING",))
    assert isinstance(report, Report)
    assert report.run.steps == 30
    again = pytscope.analyze(pytscope.open(recorded), select=("TIMING",))
    assert again.to_json(reproducible=True) == report.to_json(reproducible=True)


def test_options_reach_the_analysis(recorded: Path) -> None:
    report = pytscope.analyze(
        recorded,
        steps=(10, 19),
        ignore=("COVERAGE",),
        thresholds={"TIMING.DATALOADER_BOUND": {"min_share": 0.5}},
        show_plugins=True,
    )
    checks = {c.rule: c for c in report.checks}
    assert report.run.steps == 10
    assert report.show_plugins
    assert checks["TIMING.DATALOADER_BOUND"].thresholds["min_share"] == 0.5
    assert checks["COVERAGE.NOT_FINISHED"].outcome is Outcome.DISABLED


class TestCheck:
    def test_it_gives_the_gate(self, recorded: Path) -> None:
        gate = pytscope.check(recorded, budgets=["steps.total == 30", "loss.last < 1"])
        assert [one.standing.value for one in gate.judged] == ["passed", "failed"]
        assert not gate.passed
        assert gate.report.run.name == "api"
        assert json.loads(gate.to_json())["schema"] == "pytscope.check/1"
        run = pytscope.open(recorded)
        assert pytscope.check(run, budgets="steps.total == 30", fail_on=Severity.HIGH).passed

    def test_it_says_what_the_command_says(self, recorded: Path, capsys: Any) -> None:
        with pytest.raises(SystemExit):
            main(["check", str(recorded), "--budget", "loss.last < 1", "--format=json"])
        told = json.loads(capsys.readouterr().out)
        made = json.loads(pytscope.check(recorded, budgets="loss.last < 1").to_json())
        assert told["budgets"] == made["budgets"]
        assert told["findings"] == made["findings"]

    def test_it_reads_a_baseline_and_writes_nothing(self, recorded: Path, tmp_path: Path) -> None:
        base = tmp_path / "base.json"
        relative = "steps.total == baseline"
        with pytest.raises(UsageError, match="needs a baseline"):
            pytscope.check(recorded, budgets=relative)
        with pytest.raises(PytscopeError, match="there is no baseline at"):
            pytscope.check(recorded, budgets=relative, baseline=base)
        base.write_text('{"schema": "pytscope.baseline/1", "metrics": {"steps.total": 30}}')
        before = {p: p.stat().st_mtime_ns for p in (*recorded.rglob("*"), *tmp_path.rglob("*"))}
        assert pytscope.check(recorded, budgets=relative, baseline=str(base)).passed
        assert before == {p: p.stat().st_mtime_ns for p in before}
        base.unlink()
        assert pytscope.check(recorded, budgets="steps.total == 30", baseline=base).passed

    def test_options_reach_the_analysis(self, recorded: Path) -> None:
        assert pytscope.check(recorded, budgets="steps.total == 10", steps=(10, 19)).passed
        ignored = pytscope.check(recorded, fail_on="info", ignore=("COVERAGE", "TIMING"))
        outcomes = {c.rule: c.outcome for c in ignored.report.checks}
        assert outcomes["COVERAGE.NOT_FINISHED"] is Outcome.DISABLED

    def test_a_run_without_a_usable_step_does_not_pass(self, recorded: Path) -> None:
        gate = pytscope.check(recorded, budgets="steps.total == 30", warmup=99)
        assert not gate.passed
        assert "30 warm-up" in gate.judged[0].reason

    @pytest.mark.parametrize(
        ("asked", "said"),
        [
            ({}, "nothing to check"),
            ({"fail_on": "never"}, "nothing to check"),
            ({"budgets": ["steps.total"]}, "is not METRIC"),
            ({"budgets": [3]}, "is not METRIC"),
            ({"budgets": "stps.total == 3"}, "unknown metric"),
            ({"fail_on": "hgh"}, "is none of"),
        ],
    )
    def test_what_cannot_be_asked(self, recorded: Path, asked: Any, said: str) -> None:
        with pytest.raises(UsageError, match=said):
            pytscope.check(recorded, **asked)

    def test_it_loads_nothing_of_comparing(self) -> None:
        code = (
            "import sys, pytscope; assert 'pytscope.gates' not in sys.modules; pytscope.check;"
            "print([m for m in sys.modules if 'pytscope.gates' in m or 'pytscope.diffing' in m])"
        )
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, check=True, timeout=60)
        assert done.stdout.strip() == b"[]"


def test_the_built_ins_have_no_problem_with_a_real_run(recorded: Path) -> None:
    report = pytscope.analyze(recorded, plugins=PluginSelection(autoload=False))
    assert report.problems == ()
    assert [p.name for p in report.plugins if p.state.value == "loaded"] == ["builtin"]


@pytest.fixture
def broken_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = distribution(tmp_path, "acme-pack", pack("ACME.BAD", "raise ValueError('no')"))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTSCOPE_PLUGINS", "acme-pack")
    yield
    sys.modules.pop("acme_pack", None)


@pytest.mark.usefixtures("broken_pack")
def test_the_environment_chooses_plugins(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (problem,) = pytscope.analyze(recorded).problems
    assert problem.stage == "rule ACME.BAD"
    monkeypatch.setenv("PYTSCOPE_DISABLED_PLUGINS", "acme_pack")
    assert pytscope.analyze(recorded).problems == ()


@pytest.mark.usefixtures("broken_pack")
@pytest.mark.parametrize("how", ["environment", "argument"])
def test_plugin_errors_can_be_raised(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    if how == "environment":
        monkeypatch.setenv("PYTSCOPE_RAISE_PLUGIN_ERRORS", "1")
    with pytest.raises(PluginError, match="ValueError: no") as caught:
        pytscope.analyze(recorded, raise_errors=how == "argument")
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_source_that_failed_to_detect_is_the_hint(tmp_path: Path) -> None:
    def fail(path: Path) -> bool:
        raise ValueError("no")

    made = registry(pytscope.Source("acme", fail, fail))
    with pytest.raises(RunUnreadable) as caught:
        opened(tmp_path, made)
    assert caught.value.hint.endswith("source acme of plugin acme failed: ValueError: no.")


def test_every_public_name_is_there() -> None:
    for name in pytscope.__all__:
        assert getattr(pytscope, name) is not None
    assert set(pytscope.__all__) <= set(dir(pytscope))
    assert sorted(n for names in pytscope._HOME.values() for n in names) == sorted(
        set(pytscope.__all__) - {"__version__"}
    )


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pytscope' has no attribute 'nope'"):
        _ = pytscope.nope  # type: ignore[attr-defined]  # the point of the test
