"""Core's rules together, through a whole analysis: what comes first, what is folded."""

from __future__ import annotations

import pytest

from pytscope.analysis.orchestrator import analyze
from pytscope.model.findings import Severity
from pytscope.model.report import Outcome
from pytscope.plugins.isolation import Guard
from pytscope.plugins.loading import load_builtins
from pytscope.plugins.registry import build_registry
from pytscope.testing import make_run
from tests.core.builtin.rules.noise import FAMILIES, healthy_run

REGISTRY = build_registry((load_builtins(Guard(reraise=True)),))


def report(run):
    return analyze(run, REGISTRY)


def slow_loader(data=12, checkpoint=40, **options):
    steps = 200
    return make_run(
        {
            "data": data,
            "forward": 4,
            "backward": 6,
            "optimizer": 1,
            "eval": [60 if i % 50 == 49 else 0 for i in range(steps)],
            "checkpoint": [checkpoint if i % 100 == 99 else 0 for i in range(steps)],
        },
        noise=0.1,
        startup=[("other", 500)],
        shutdown=[("other", 20)],
        warmup=10,
        **options,
    )


@pytest.mark.parametrize("data", [1.9, 3, 12, 40])
@pytest.mark.parametrize("checkpoint", [0, 40, 150])
def test_a_slow_loader_comes_first_and_takes_the_budget_under_it(data, checkpoint):
    folded = report(slow_loader(data, checkpoint)).folded
    first = folded[0]
    assert first.finding.rule == "TIMING.DATALOADER_BOUND"
    assert first.finding.cost_s.value == pytest.approx(190 * (data - 0.2) / 1e3, rel=0.05)
    assert {f.rule for row in folded for f in row.also} <= {"EFFICIENCY.RECOVERABLE"}
    assert not any(row.finding.rule == "EFFICIENCY.RECOVERABLE" for row in folded)


def test_a_slow_loader_comes_first_when_mfu_is_known_and_data_is_what_it_lacks():
    run = slow_loader(30, flops_per_step=5e9, peak_flops=1e12)
    (row,) = report(run).folded
    assert row.finding.rule == "TIMING.DATALOADER_BOUND"
    assert {f.rule for f in row.also} == {"EFFICIENCY.LOW_MFU", "EFFICIENCY.RECOVERABLE"}


def test_frequent_checkpoints_are_one_finding_with_the_waiting_under_it():
    saves = [60 if i % 10 == 9 else 0 for i in range(200)]
    (row,) = report(make_run({"forward": 12, "checkpoint": saves})).folded
    assert row.finding.rule == "EFFICIENCY.CHECKPOINT_HEAVY"
    assert {f.rule for f in row.also} == {"EFFICIENCY.RECOVERABLE"}


def test_waiting_of_many_kinds_is_not_hidden_under_the_least_of_them():
    phases = {"data": 3, "comm": 2.8, "forward": 10, "log": 1.8, "h2d": 2.2}
    rows = report(make_run(phases, noise=0.05)).folded
    (row,) = [r for r in rows if "EFFICIENCY.RECOVERABLE" in {f.rule for f in (r.finding, *r.also)}]
    assert row is rows[0]
    assert [(f.rule, f.severity) for f in (row.finding, *row.also)] == [
        ("TIMING.DATALOADER_BOUND", Severity.MEDIUM),
        ("EFFICIENCY.RECOVERABLE", Severity.HIGH),
    ]


def test_low_mfu_does_not_take_under_it_what_starts_with_another_line():
    phases = {"forward": 12, "log": 8}
    run = make_run(phases, flops_per_step=2e9, peak_flops=1e12)
    rules = {row.finding.rule for row in report(run).folded}
    assert rules == {"EFFICIENCY.LOW_MFU", "EFFICIENCY.RECOVERABLE"}


def test_low_mfu_stands_alone_where_compute_is_what_it_lacks():
    run = slow_loader(3, flops_per_step=1e9, peak_flops=1e12)
    rules = [row.finding.rule for row in report(run).folded]
    assert sorted(rules) == ["EFFICIENCY.LOW_MFU", "TIMING.DATALOADER_BOUND"]


def test_periodic_stalls_of_a_loader_are_one_finding():
    data = [40.0 if i % 6 == 0 else 0.2 for i in range(300)]
    (row,) = report(make_run({"data": data, "forward": 10})).folded
    assert row.finding.rule == "TIMING.DATALOADER_BOUND"
    assert {f.rule for f in row.also} >= {"TIMING.JITTER"}


def test_a_healthy_run_has_no_finding_above_low():
    for name, family in FAMILIES.items():
        for finding in report(healthy_run(family, 300, 1)).findings:
            assert finding.severity.order >= Severity.LOW.order, name


def test_a_healthy_run_with_all_there_is_to_a_run_has_no_finding():
    run = make_run(
        {
            "data": 0.8,
            "h2d": 0.3,
            "forward": 8,
            "backward": 16,
            "comm": 2,
            "optimizer": 1.5,
            "log": 0.2,
            "eval": [300 if i % 100 == 99 else 0 for i in range(500)],
            "checkpoint": [80 if i % 100 == 50 else 0 for i in range(500)],
            "gc": [3 if i % 20 == 0 else 0 for i in range(500)],
        },
        noise=0.08,
        ranks=2,
        warmup=10,
        startup=[("compile", 2000), ("other", 3000)],
        flops_per_step=14e9,
        peak_flops=1e12,
        memory={"allocated": 10**9},
        scalars={"loss": [1 + 2 / (1 + 0.1 * i) for i in range(500)], "grad_norm": 1.5},
        last_attempt={"overhead_ns": 500_000},
    )
    made = report(run)
    assert made.findings == ()
    outcomes = {check.rule: check.outcome for check in made.checks}
    assert outcomes.pop("TIMING.HOST_SYNC") is Outcome.NOT_MEASURED
    assert set(outcomes.values()) == {Outcome.PASSED}


def watched(**said):
    """The event of a recorder that looks for interruptions by itself."""
    seams = ["data", "h2d", "compile", "gc"]
    return {"events": [{"kind": "instrumentation", "seams": seams, **said}]}


@pytest.mark.parametrize(("data", "h2d"), [(12, 9), (9, 12)])
def test_a_slow_loader_and_slow_copies_are_two_findings_that_share_the_budget(data, h2d):
    phases = {"data": data, "h2d": h2d, "forward": 4, "backward": 6}
    run = make_run(phases, last_attempt=watched(sync=True), noise=0.1)
    folded = report(run).folded
    rules = [row.finding.rule for row in folded]
    assert sorted(rules) == ["TIMING.DATALOADER_BOUND", "TIMING.H2D_BOUND"]
    assert rules[0] == ("TIMING.DATALOADER_BOUND" if data > h2d else "TIMING.H2D_BOUND")
    assert [f.rule for f in folded[0].also] == ["EFFICIENCY.RECOVERABLE"]
    assert not folded[1].also


def test_recompilations_take_what_they_cost_the_budget_under_them():
    compile_ms = [0 if i % 20 or i < 20 else 400 for i in range(200)]
    run = make_run({"forward": 10, "backward": 20, "compile": compile_ms})
    (row,) = report(run).folded
    assert row.finding.rule == "TIMING.RECOMPILATION"
    assert {f.rule for f in row.also} == {"EFFICIENCY.RECOVERABLE"}


def test_collections_take_the_jitter_that_they_are_under_them():
    gc = [120 if i % 12 == 5 else 0 for i in range(300)]
    run = make_run({"forward": 10, "backward": 20, "gc": gc}, noise=0.05)
    (row,) = report(run).folded
    assert row.finding.rule == "TIMING.GC_PAUSES"
    assert {f.rule for f in row.also} == {"TIMING.JITTER", "EFFICIENCY.RECOVERABLE"}


def test_what_nobody_looked_for_differs_from_what_did_not_happen():
    interrupting = ("TIMING.GC_PAUSES", "TIMING.RECOMPILATION", "TIMING.H2D_BOUND")
    phases = {"data": 0.5, "forward": 10, "backward": 20}
    alone, seen, on_cpu = (
        {check.rule: check.outcome for check in report(run).checks}
        for run in (
            make_run(phases),
            make_run(phases, last_attempt=watched(accelerator="cuda")),
            make_run(phases, last_attempt=watched(accelerator="")),
        )
    )
    assert {alone[name] for name in interrupting} == {Outcome.NOT_MEASURED}
    assert seen["TIMING.GC_PAUSES"] is seen["TIMING.H2D_BOUND"] is Outcome.PASSED
    assert seen["TIMING.RECOMPILATION"] is Outcome.NOT_APPLICABLE
    assert seen["TIMING.HOST_SYNC"] is Outcome.NOT_MEASURED
    assert on_cpu["TIMING.H2D_BOUND"] is on_cpu["TIMING.HOST_SYNC"] is Outcome.NOT_APPLICABLE


def test_an_unrated_run_is_not_called_balanced():
    made = report(make_run({"data": 12, "forward": 10}, steps=30, warmup=100))
    assert [f.rule for f in made.findings] == ["COVERAGE.TOO_FEW_STEPS"]
    outcomes = {check.rule: check.outcome for check in made.checks}
    assert outcomes["TIMING.DATALOADER_BOUND"] is Outcome.NOT_MEASURED
    assert outcomes["TIMING.JITTER"] is Outcome.NOT_MEASURED


def test_no_rule_on_a_phase_passes_where_that_was_never_recorded():
    found = report(make_run({"mine": 10, "typo": 5}, steps=100))
    passed = {check.rule for check in found.checks if check.outcome is Outcome.PASSED}
    of_phases = {
        *(f"TIMING.{name}" for name in ("BACKWARD_HEAVY", "DATALOADER_BOUND", "GC_PAUSES")),
        *(f"TIMING.{name}" for name in ("H2D_BOUND", "OPTIMIZER_HEAVY", "RECOMPILATION")),
        *(f"EFFICIENCY.{name}_HEAVY" for name in ("CHECKPOINT", "EVAL")),
    }
    assert of_phases <= {check.rule for check in found.checks}
    assert not of_phases & passed
