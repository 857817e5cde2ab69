"""BUDGET.IMPOSSIBLE."""

from __future__ import annotations

import attrs

from pytscope.analyses import BudgetPart
from pytscope.builtin.rules import impossible
from pytscope.model.findings import Severity
from pytscope.plugins.declare import analyzer
from pytscope.runs.run import Run
from pytscope.testing import assert_fires, assert_quiet, make_run


def test_an_mfu_above_one_names_the_figures():
    run = make_run({"forward": 10}, flops_per_step=1e18, peak_flops=1e12)
    (finding,) = assert_fires(impossible, run)
    assert finding.severity is Severity.HIGH
    assert finding.cost_s is None
    assert "100%" in finding.title
    assert "FLOPs per step" in finding.fix


def test_every_contradiction_is_a_finding():
    run = make_run({"forward": 10}, flops_per_step=-5.0, peak_flops=float("nan"))
    findings = assert_fires(impossible, run)
    assert len(findings) == 2
    assert any("-5.0" in f.detail for f in findings)


@attrs.frozen(eq=False, kw_only=True)
class Wait(BudgetPart):
    """A part of the kind a plugin brings."""


@analyzer("wait")
def too_long(run: Run) -> Wait:
    """Moves an hour out of communication, whatever the run."""
    name = f"invented for {run.name}"
    return Wait(take_from="communication", give_to="straggler_wait", ns=3600 * 10**9, why=name)


@analyzer("wait")
def short(run: Run) -> Wait:
    """Moves a nanosecond."""
    return Wait(take_from="communication", give_to="straggler_wait", ns=1, why=run.name)


def test_a_plugins_part_that_is_larger_than_its_line_is_an_error_finding():
    run = make_run({"forward": 6, "comm": 4})
    (finding,) = assert_fires(impossible, run, analyzers=[too_long])
    assert "The part straggler_wait takes 60 m 00 s from communication" in finding.detail
    assert "Wait (invented for test)" in finding.fix
    assert_quiet(impossible, run, analyzers=[short])


def test_a_sound_budget_is_quiet():
    assert_quiet(impossible, make_run({"forward": 10}))
    assert_quiet(impossible, make_run({"forward": 10}, flops_per_step=9e9, peak_flops=1e12))
    assert_quiet(impossible, make_run({"forward": []}))
