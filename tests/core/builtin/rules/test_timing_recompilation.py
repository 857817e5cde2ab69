"""TIMING.RECOMPILATION fires on code that goes on compiling, and not on what a start takes."""

from __future__ import annotations

import numpy as np
import pytest

from pytscope.builtin.rules.timing_recompilation import recompilation
from pytscope.model.errors import Inconclusive, NotApplicable, NotMeasured
from pytscope.model.findings import Severity
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run
from tests.core.builtin.rules.interrupted import instrumented, sparse, watched_run


def compiling(at, ms=200.0, steps=200, **options):
    phases = {"compile": sparse(steps, at, ms), **options.pop("phases", {})}
    return watched_run(phases, **{"noise": 0.05, **options})


@pytest.mark.parametrize(
    "run",
    [
        compiling([0, 1], 30_000),
        compiling(range(10), 3_000),
        compiling(range(30), 3_000, warmup=30),
        compiling([0, 1, 57, 130], 500),
        compiling([0], 500, startup=[("compile", 9_000)]),
        compiling([100], 9_000, phases={"eval": sparse(200, [100, 199], 500)}),
        compiling([0, 1, 100, 101], 900, attempts=[(0, 100), (100, 100)]),
    ],
    ids=[
        "first",
        "settling",
        "warm-up",
        "two surprises",
        "startup",
        "first evaluation",
        "attempts",
    ],
)
def test_what_a_start_compiles_is_quiet(run):
    assert_quiet(recompilation, run)


def test_steps_that_compile_again_are_named_with_their_cost():
    (finding,) = assert_fires(recompilation, compiling([0, 40, 71, 90, 155], noise=0.0))
    assert finding.title == "4 steps after warm-up compile again"
    assert finding.steps == ((40, 40), (71, 71), (90, 90), (155, 155))
    assert finding.cost_s.value == pytest.approx(0.8)
    assert "steps 40, 71, 90, 155; 31 steps apart in the median" in finding.detail
    assert "new shape" not in finding.detail
    for part in ("mark_dynamic", "buckets", "TORCH_LOGS=recompiles"):
        assert part in finding.fix


@pytest.mark.parametrize(
    ("ms", "severity"), [(30, Severity.LOW), (100, Severity.MEDIUM), (400, Severity.HIGH)]
)
def test_severity_follows_the_share_of_the_wall(ms, severity):
    (finding,) = assert_fires(recompilation, compiling(range(20, 200, 30), ms, steps=100 * 2))
    assert finding.severity is severity


def test_a_period_is_named():
    (finding,) = assert_fires(recompilation, compiling(range(24, 200, 25)))
    assert finding.title == "8 steps after warm-up compile again, one in every 25"
    assert "period of 25 steps" in finding.detail


def test_nearly_every_step_is_called_that():
    (finding,) = assert_fires(recompilation, compiling(range(200)))
    assert finding.title == "95.0% of the steps compile"


def test_evaluations_after_the_first_count():
    run = compiling([49, 99, 149, 199], phases={"eval": sparse(200, [49, 99, 149, 199], 50)})
    (finding,) = assert_fires(recompilation, run)
    assert [first for first, _ in finding.steps] == [99, 149, 199]


def test_new_shapes_are_said_only_where_the_log_shows_them():
    at = [0, 30, 60, 90, 120]
    tokens = (np.searchsorted(at, np.arange(200), side="right") * 64).tolist()
    (finding,) = assert_fires(recompilation, compiling(at, scalars={"tokens": tokens}))
    assert "at every new shape" in finding.detail
    alike = [64 + i % 7 for i in range(200)]
    (other,) = assert_fires(recompilation, compiling(at, scalars={"samples": alike}))
    assert "new shape" not in other.detail
    always_new = list(range(200))
    (always,) = assert_fires(recompilation, compiling(at, scalars={"tokens": always_new}))
    assert "new shape" not in always.detail


def test_slower_steps_after_the_last_one_are_told():
    at = range(30, 94, 9)
    forward = [7.0] * 94 + [14.0] * 106
    (finding,) = assert_fires(recompilation, compiling(at, phases={"forward": forward}))
    assert "1.3 times as long as before the first" in finding.detail
    assert "recompile_limit" in finding.fix
    (level,) = assert_fires(recompilation, compiling(at))
    assert "as long as before" not in level.detail


def test_what_is_missing_is_said():
    assert "compiled" in assert_abstains(recompilation, watched_run({}), NotApplicable)
    assert "AutoProfiler" in assert_abstains(recompilation, make_run({"forward": 1}), NotMeasured)
    blind = watched_run({}, instrumented(), {"kind": "instrumentation", "without": ["compile"]})
    assert_abstains(recompilation, blind, NotMeasured)
    assert_abstains(recompilation, compiling([3], steps=19), Inconclusive)
    own = make_run({"forward": 10, "compile": sparse(100, range(20, 100, 20), 90)})
    assert_fires(recompilation, own)


def test_thresholds_are_honoured():
    run = compiling([40, 71, 90, 155])
    assert_quiet(recompilation, run, min_share=0.3)
    assert_quiet(recompilation, run, min_steps=5)
    assert_quiet(recompilation, run, settling_steps=80)
    assert_fires(recompilation, compiling([5, 6, 7]), settling_steps=0)
