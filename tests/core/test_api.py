from __future__ import annotations

import sys
from pathlib import Path

import pytest

import pytscope
from pytscope import (
    Outcome,
    PluginError,
    Profiler,
    Report,
    Run,
    RunNotFound,
    RunUnreadable,
    UsageError,
)
from pytscope.api import opened
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
