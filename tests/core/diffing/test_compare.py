"""Comparing as a whole: arms, pairs, findings on either side, plugins that fail."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import attrs
import pytest

import pytscope
from pytscope import Finding, NothingUsable, Severity, UsageError
from pytscope.diffing.compare import compare
from pytscope.diffing.gate import RegressionGate
from pytscope.diffing.noise import NoiseStore
from pytscope.diffing.options import Compared, CompareOptions
from pytscope.diffing.rules import compared_rules, counted, gained, lost
from pytscope.model.comparison import Comparison, Verdict
from pytscope.model.errors import PluginError
from pytscope.model.report import Check, FoldedFinding, Outcome, Report
from pytscope.plugins.declare import RenderOptions, Reporter, reporter
from pytscope.plugins.guarded import drawing, render
from pytscope.plugins.registry import load_registry
from pytscope.plugins.selection import PluginSelection
from pytscope.testing import make_run
from tests.core.diffing.said import compared as made_up
from tests.core.plugins.made import registry
from tests.core.report_samples import RUN


def run(seed: int | None = None, level: float = 0.0, steps: int = 40, **more: Any) -> pytscope.Run:
    """A run whose loss falls, and wobbles in a way of its own."""
    loss = [1 / (1 + i) + level + ((i * 7 + (seed or 0) * 13) % 5) / 1000 for i in range(steps)]
    config = {} if seed is None else {"seed": seed}
    name = f"seed{seed}level{level}"
    return make_run(
        {"forward": 10, "backward": 20},
        steps=steps,
        scalars={"loss": loss},
        config=config,
        name=name,
        **more,
    )


@pytest.fixture(scope="module")
def core() -> Any:
    return load_registry(PluginSelection(autoload=False))


@pytest.mark.parametrize(
    ("first", "second", "pairs"),
    [
        ((1, 2), (), [(0, 1)]),
        ((1, 2, 3), (), [(0, 1), (0, 2)]),
        ((1, 2), (1, 2), [(0, 2), (1, 3)]),
        ((1, 2), (2, 1), [(1, 2), (0, 3)]),
        ((1,), (2, 3), [(0, 1), (0, 2)]),
        ((1, 2, 3), (4,), [(0, 3)]),
        ((None, None), (None, None), [(0, 2), (1, 3)]),
    ],
)
def test_runs_are_looked_at_in_pairs_of_one_seed_where_they_can_be(first, second, pairs):
    compared = Compared.of([run(s) for s in first], [run(s) for s in second])
    assert list(compared.pairs) == pairs
    assert compared.grouped is bool(second)


@pytest.mark.parametrize(("first", "second"), [((), ()), ((1,), ()), ((), (1,))])
def test_one_run_is_no_comparison(first, second):
    with pytest.raises(UsageError, match="two runs"):
        Compared.of([run(s) for s in first], [run(s) for s in second])


def test_labels_go_on_after_z():
    labels = Compared.letters(54)
    assert (labels[0], labels[25], labels[26], labels[27], labels[52]) == (
        "A",
        "Z",
        "AA",
        "AB",
        "BA",
    )
    assert len(set(labels)) == 54


def test_a_run_and_itself(core):
    one = run(1)
    found = compare(Compared.of([one, one]), core, CompareOptions(gate=RegressionGate()))
    assert found.identical is True
    assert found.gate == "passed"
    assert {m.verdict for m in found.outcomes} == {Verdict.IDENTICAL}
    assert "equal to the last bit at all 40 common steps" in found.headline


def test_three_runs_an_arm_are_compared_as_runs(core):
    first, second = [run(i) for i in (1, 2, 3)], [run(i, 0.5) for i in (4, 5, 6)]
    found = compare(Compared.of(first, second), core)
    loss = found.outcomes[0]
    assert loss.verdict is Verdict.REGRESSION
    assert (len(loss.first), len(loss.second)) == (3, 3)
    assert found.headline.startswith("regression: ")
    assert found.gate is None


def test_one_run_an_arm_never_regresses(core):
    found = compare(Compared.of([run(1), run(2, 5.0), run(3, 9.0)]), core)
    assert Verdict.REGRESSION not in {m.verdict for m in (*found.outcomes, *found.timings)}
    assert "regression" not in found.headline


def test_a_run_that_is_empty_cannot_be_compared(core):
    with pytest.raises(NothingUsable):
        compare(Compared.of([run(1), attrs.evolve(run(2), timelines=())]), core)


def test_the_public_function_takes_runs_paths_and_one_run_as_an_arm(tmp_path):
    from pytscope import Profiler

    with Profiler(tmp_path / "run", inline=True) as profiler:
        for i in range(20):
            with profiler.step():
                profiler.log(loss=float(i))
    found = pytscope.diff(tmp_path / "run", str(tmp_path / "run"))
    assert isinstance(found, Comparison)
    assert found.identical is True
    assert pytscope.diff(run(1), vs=run(2)).grouped is True
    assert pytscope.diff(run(1), vs=[run(2)], fail_on=0.05).gate == "not evaluated"
    store = NoiseStore().add(run(1))
    assert pytscope.diff(run(1), run(2), noise=store, steps=(0, 9)).sides[0].run.window == (0, 9)
    with pytest.raises(UsageError):
        pytscope.diff(run(1))


def test_an_analysis_loads_nothing_of_comparing():
    code = "import sys, pytscope.api; print([m for m in sys.modules if 'pytscope.diffing' in m])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def report(*findings: Finding, **outcomes: Outcome) -> Report:
    checks = tuple(Check(name.replace("_", ".", 1), o) for name, o in outcomes.items())
    return Report(RUN, tuple(FoldedFinding(f) for f in findings), checks, (), (), (), {}, "0.3.0")


def finding(rule: str, severity: Severity = Severity.LOW) -> Finding:
    return Finding(rule=rule, severity=severity, title=f"{rule} fired")


def test_what_was_not_evaluated_on_one_side_is_neither_gained_nor_lost():
    hit, ok, blind = Outcome.FINDING, Outcome.PASSED, Outcome.NOT_MEASURED
    a = report(finding("A.LOST"), A_LOST=hit, A_GAINED=ok, A_BLIND=blind, A_BOTH=ok)
    b = report(
        finding("A.GAINED", Severity.HIGH),
        finding("A.BLIND"),
        A_LOST=ok, A_GAINED=hit, A_BLIND=hit, A_BOTH=ok,
    )  # fmt: skip
    rules = compared_rules([a, b])
    assert [r.rule for r in rules] == ["A.GAINED", "A.BLIND", "A.LOST"]
    assert gained(rules, (0, 1)) == ("A.GAINED",)
    assert lost(rules, (0, 1)) == ("A.LOST",)
    assert rules[1].outcomes == (blind, hit)
    assert counted(a) == {hit: 1, ok: 2, blind: 1}


def drawn_by(one: Reporter, comparison: Comparison | None = None, **more: Any) -> Any:
    reporters = registry(one).reporters
    return render(
        {**load_registry(PluginSelection(autoload=False)).reporters, **reporters},
        one.name, comparison or made_up(), RenderOptions(), **more,
    )  # fmt: skip


def test_a_reporter_of_a_plugin_draws_comparisons():
    @reporter("short", compare=lambda comparison, _: comparison.headline)
    def short(report: Report, options: RenderOptions) -> str:
        return "a report"

    text, comparison = drawn_by(short)
    assert text == comparison.headline


def test_one_that_draws_reports_alone_says_which_others_can(core):
    alone = reporter("alone")(lambda report, options: "")
    with pytest.raises(UsageError, match="draws reports, not comparisons") as error:
        drawn_by(alone)
    assert error.value.hint == "Formats of comparisons: json, markdown, text."
    with pytest.raises(UsageError, match="did you mean 'markdown'"):
        drawing(core.reporters, "markdwon", Comparison)


@pytest.mark.parametrize("compare_badly", [lambda c, o: 1 / 0, lambda c, o: 7])
def test_one_that_fails_is_told_and_the_text_stands_in(compare_badly):
    bad = reporter("bad", compare=compare_badly)(lambda report, options: "")
    text, comparison = drawn_by(bad)
    assert "● DIVERGENCE" in text
    assert "reporter bad" in text
    assert len(comparison.problems) == len(made_up().problems) + 1
    with pytest.raises(PluginError):
        drawn_by(bad, reraise=True)


def test_what_is_no_function_is_refused():
    odd = attrs.evolve(reporter("odd")(lambda report, options: ""), compare="no function")
    built = registry(odd)
    assert "odd" not in built.reporters
    assert any("compare of reporter odd must be a function" in p.message for p in built.problems)
