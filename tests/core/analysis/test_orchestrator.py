from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from pytscope import (
    Analyzer,
    Finding,
    Flag,
    NothingUsable,
    Outcome,
    Panel,
    PluginError,
    Rule,
    Run,
    Severity,
    Status,
    UsageError,
    analyzer,
    rule,
)
from pytscope.analysis.options import AnalyzeOptions
from pytscope.analysis.orchestrator import analyze, prepare
from pytscope.builtin.reporters.sections import slow_words
from pytscope.plugins.isolation import Guard
from pytscope.plugins.registry import build_registry
from pytscope.testing import make_run
from tests.core.plugins.made import ACME, OTHER, OWN, plugin, registry

RUN = make_run({"data": 30, "forward": 10}, steps=10)


@attrs.frozen
class Clock:
    ticks: int
    warm: int

    def panel(self) -> Panel:
        return Panel("clock", "CLOCK", f"{self.ticks} ticks", Status.OK)


@analyzer("clock")
def clock(run: Run) -> Clock:
    return Clock(len(run.shown), int(run.shown.has(Flag.WARMUP).sum()))


@rule("ACME.TICKS", since="1.0")
def ticks(clock: Clock, *, least: int = 5) -> Iterator[Finding]:
    """Detects ticks."""
    if clock.ticks >= least:
        yield Finding(severity=Severity.LOW, title=f"{clock.ticks} ticks", cost_s=1.0)


@rule("ACME.QUIET", since="1.0")
def quiet(clock: Clock) -> None:
    """Detects nothing."""


@rule("ACME.BAD", since="1.0")
def bad(clock: Clock) -> Iterator[Finding]:
    """Fails."""
    yield Finding(severity=Severity.HIGH, title="never seen")
    raise SystemExit(1)


GOOD = registry(clock, ticks, quiet)


def test_a_report_holds_everything() -> None:
    report = analyze(RUN, GOOD)
    assert [(c.rule, c.outcome) for c in report.checks] == [
        ("ACME.QUIET", Outcome.PASSED),
        ("ACME.TICKS", Outcome.FINDING),
    ]
    assert [f.rule for f in report.findings] == ["ACME.TICKS"]
    assert [p.headline for p in report.panels] == ["10 ticks"]
    assert report.analyses == {"clock": Clock(10, 0)}
    assert report.run.steps == 10
    assert report.problems == ()
    assert report.plugins == GOOD.plugins
    assert not report.show_plugins


def test_the_version_is_the_built_ins() -> None:
    assert analyze(RUN, build_registry([plugin(OWN)])).tool_version == "0.3.0"
    assert analyze(RUN, GOOD).tool_version == ""


def test_a_broken_rule_leaves_the_rest_unchanged() -> None:
    with_bad = build_registry(
        [
            plugin(ACME, analyzers=[clock], rules=[ticks, quiet]),
            plugin(OTHER, rules=[bad]),
        ]
    )
    sound, broken = analyze(RUN, GOOD), analyze(RUN, with_bad)
    assert broken.findings == sound.findings
    assert broken.panels == sound.panels
    assert [c for c in broken.checks if c.rule != "ACME.BAD"] == list(sound.checks)
    (problem,) = broken.problems
    assert (problem.plugin, problem.stage) == ("other", "rule ACME.BAD")


def test_thresholds_reach_the_rule_and_the_check() -> None:
    report = analyze(RUN, GOOD, AnalyzeOptions(thresholds={"ACME.TICKS": {"least": "11"}}))
    check = report.checks[1]
    assert check.outcome is Outcome.PASSED
    assert check.thresholds == {"least": 11}


def test_unselected_rules_are_disabled_and_analyses_stay() -> None:
    report = analyze(RUN, GOOD, AnalyzeOptions(select=("ACME.QUIET",), show_plugins=True))
    assert report.checks[1].outcome is Outcome.DISABLED
    assert report.findings == ()
    assert report.analyses
    assert report.show_plugins


def test_warm_up_is_decided_before_the_window() -> None:
    options = AnalyzeOptions(warmup=3, steps=(2, None))
    report = analyze(RUN, GOOD, options)
    assert report.analyses["clock"] == Clock(8, 1)
    assert report.run.window == (2, None)


def test_figures_of_the_caller_win() -> None:
    run = make_run({"data": 1}, flops_per_step=1.0, peak_flops=2.0)
    prepared = prepare(run, AnalyzeOptions(flops_per_step=5.0))
    assert (prepared.flops_per_step, prepared.peak_flops) == (5.0, 2.0)
    assert (run.flops_per_step, run.peak_flops) == (1.0, 2.0)


def test_nothing_to_analyse() -> None:
    with pytest.raises(NothingUsable, match="holds no record of any rank"):
        analyze(attrs.evolve(RUN, timelines=()), GOOD)
    with pytest.raises(NothingUsable):
        analyze(RUN, GOOD, AnalyzeOptions(steps=(100, None)))


def test_a_run_without_a_completed_step_is_still_reported() -> None:
    report = analyze(make_run([], startup=[("data", 5)]), registry(quiet, clock))
    assert report.run.steps == 0
    assert report.run.wall_ns == 5_000_000


def test_usage_is_checked_before_anything_runs() -> None:
    def never(run: Run) -> Clock:
        raise AssertionError("ran")

    with pytest.raises(UsageError):
        analyze(RUN, registry(Analyzer("clock", never)), AnalyzeOptions(select=("NO.SUCH",)))


def test_problems_are_sorted_and_include_late_ones() -> None:
    made = registry(bad, clock, Rule("ACME.ALSO", lambda x: [], "1.0"))
    made.guard.noted.append(OWN.problem("source s", "late"))
    stages = [(p.plugin, p.stage) for p in analyze(RUN, made).problems]
    assert stages == [
        ("acme", "rule ACME.ALSO"),
        ("acme", "rule ACME.BAD"),
        ("builtin", "source s"),
    ]


def test_authors_may_have_it_raised() -> None:
    with pytest.raises(PluginError, match=r"rule ACME\.BAD") as caught:
        analyze(RUN, registry(clock, bad), AnalyzeOptions(raise_errors=True))
    assert isinstance(caught.value.__cause__, SystemExit)


def test_the_same_run_gives_the_same_report() -> None:
    def shown() -> Any:
        report = analyze(RUN, GOOD)
        return report.folded, report.checks, report.panels, report.analyses

    assert shown() == shown()


def test_a_plugin_that_failed_has_its_first_reason_in_the_listing() -> None:
    made = build_registry(
        [plugin(OWN), plugin(ACME, rules=[bad], analyzers=[clock]), plugin(OTHER)]
    )
    assert [p.reason for p in made.plugins] == ["", "", ""]
    rows = {p.name: p.reason for p in analyze(RUN, made).plugins}
    assert rows["acme"].startswith("rule ACME.BAD: ")
    assert rows["other"] == rows["builtin"] == ""
    assert [p.reason for p in made.plugins] == ["", "", ""]


def test_a_slow_plugin_is_named_with_its_stage_and_time() -> None:
    class Clock:
        now = 0

        def __call__(self) -> int:
            return self.now

    host = Clock()

    def slow(run: Run) -> None:
        host.now += 3_500_000_000

    def quick(run: Run) -> None:
        host.now += 900_000_000

    rules = [Rule("ACME.SLOW", slow, "1"), Rule("ACME.FAST", quick, "1")]
    made = build_registry([plugin(ACME, rules=rules), plugin(OTHER)], guard=Guard(clock=host))
    report = analyze(RUN, made)
    assert {p.name: p.slow_ns for p in report.plugins} == {
        "acme": {"rule ACME.SLOW": 3_500_000_000},
        "other": {},
    }
    assert slow_words(report.plugins) == ["rule ACME.SLOW of plugin acme took 3.50 s"]
    assert report.problems == ()


def test_what_a_call_changed_is_a_problem_beside_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def wanders(run: Run) -> Iterator[Finding]:
        os.chdir("/")
        yield Finding(severity=Severity.LOW, title="kept")

    report = analyze(RUN, registry(Rule("ACME.WANDERS", wanders, "1")))
    assert [f.title for f in report.findings] == ["kept"]
    (problem,) = report.problems
    assert problem.stage == "rule ACME.WANDERS"
    assert problem.message == "it changed the working directory; that was put back"
    assert Path.cwd() == tmp_path


def test_panels_are_drawn_before_rules_can_touch_what_they_draw() -> None:
    @attrs.define
    class Ticks:
        count: int = 3

        def panel(self) -> Panel:
            return Panel("ticks", "TICKS", f"{self.count} ticks", Status.OK)

    @analyzer("ticks", provides=Ticks)
    def ticks(run: Run) -> Ticks:
        return Ticks()

    @rule("ACME.MEDDLES", since="1.0", needs={"given": Ticks})
    def meddles(given: Any) -> None:
        given.count = 1000

    report = analyze(RUN, registry(ticks, meddles))
    assert [p.headline for p in report.panels] == ["3 ticks"]
