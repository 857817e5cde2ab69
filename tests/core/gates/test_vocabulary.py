from __future__ import annotations

import json

import attrs
import numpy as np
import pytest

from pytscope.diffing.metrics import own_values
from pytscope.gates.reading import Reading
from pytscope.gates.units import told
from pytscope.gates.vocabulary import UnknownMetric
from pytscope.runs.run import Run
from pytscope.testing import make_run
from tests.core.gates.made import PLAIN, words

MIB = 1 << 20


def read(run: Run, name: str) -> Reading:
    return words(run).metric(name).read()


WATCHED = {
    "events": [{"kind": "instrumentation", "seams": ["gc"], "accelerator": "", "sync": True}]
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("step_ms.median", 100),
        ("step_ms.mean", 100),
        ("step_ms.p95", 100),
        ("steps_per_s", 10),
        ("data.share", 0.3),
        ("data_ms.mean", 30),
        ("forward_ms.median", 60),
        ("backward_ms.p95", 10),
        ("phase.data.share", 0.3),
        ("budget.data_stall.share", 0.3),
        ("budget.data_stall.s", 3),
        ("budget.warmup.s", 0),
        ("recoverable.share", 0.3),
        ("stall.share", 0.3),
        ("wall_s", 10),
        ("downtime_s", 0),
        ("loss.last", 2.5),
        ("scalar.loss.tail", 2.5),
        ("steps.total", 100),
        ("steps.rated", 100),
        ("steps.lost", 0),
        ("ranks.present", 1),
        ("attempts", 1),
        ("finished", 1),
        ("findings.TIMING.DATALOADER_BOUND", 1),
        ("findings.COVERAGE.NOT_FINISHED", 0),
        ("analyses.timing.steps", 100),
        ("analyses.timing.phases.data.share", 0.3),
        ("analyses.budget.lines.0.ns", 7e9),
    ],
)
def test_values(name, value):
    assert read(PLAIN, name).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mfu", "FLOPs"),
        ("gc.share", "no counted step has a phase `gc`"),
        ("comm_ms.median", "no counted step has a phase `comm`"),
        ("phase.augment.share", "no counted step has a phase `augment`"),
        ("budget.communication.share", "nothing was recorded for it"),
        ("samples_per_s", "logged `samples`"),
        ("memory.allocated.high", "no rank sampled"),
        ("memory.mine.last", "no rank sampled"),
        ("grad_norm.max", "nothing was logged as `grad_norm`"),
        ("scalar.val/loss.last", "nothing was logged as `val/loss`"),
        ("findings.MEMORY.GROWTH", "was not measured"),
        ("recording.share", "it was not recorded"),
        ("analyses.budget.mfu", "null"),
        ("analyses.acme.x", "no analysis 'acme'"),
    ],
)
def test_what_was_not_measured_has_no_value(name, said):
    found = read(PLAIN, name)
    assert found.value is None
    assert said in found.missing


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("step_ms.medain", "step_ms.median"),
        ("dta.share", "data.share"),
        ("MFU", "mfu"),
        ("findings.hihg", "findings.high"),
        ("findings.TIMING.JITER", "findings.TIMING.JITTER"),
    ],
)
def test_an_unknown_metric_is_refused_with_the_closest_one(name, close):
    with pytest.raises(UnknownMetric, match=f"did you mean '{close}'"):
        words(PLAIN).metric(name)


def test_a_rule_that_is_not_loaded_is_no_severity():
    with pytest.raises(UnknownMetric) as caught:
        words(PLAIN).metric("findings.ACME.LOW")
    assert "'findings.ACME.LOW': no rule ACME.LOW is loaded" in str(caught.value)
    assert "findings.low" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        *("", "x", "phase.share", "phase..share", "phase.", "memory.high"),
        *("scalar.loss", "scalar..last", "analyses.timing", "analyses.timing.clock"),
        *("analyses.timing.nothing", "analyses.budget.x", "analyses", "analyses."),
        "analyses.budget.lines.\u00b2.ns",
    ],
)
def test_what_names_nothing_is_unknown(name):
    with pytest.raises(UnknownMetric):
        words(PLAIN).metric(name)


def test_an_absent_phase_is_zero_where_somebody_looked_for_it():
    run = make_run({"forward": 10}, last_attempt=WATCHED)
    assert read(run, "gc.share").value == 0
    assert read(run, "gc_ms.median").value == 0
    assert read(run, "budget.gc.share").value == 0
    assert read(run, "compile.share").value is None
    assert read(run, "other.share").value == 0


def test_a_name_close_to_the_missing_phase_is_told():
    found = read(make_run({"dataa": 10, "forward": 10}), "data.share")
    assert "`dataa` was recorded" in found.missing


def test_a_phase_of_ones_own_needs_no_prefix_where_the_run_has_it():
    run = make_run({"augment": 5, "forward": 15})
    assert read(run, "augment.share").value == pytest.approx(0.25)
    assert read(run, "phase.augment.share").value == pytest.approx(0.25)
    assert read(run, "budget.augment.share").value == pytest.approx(0.25)


def test_a_phase_named_like_a_metric_does_not_hide_it():
    run = make_run({"step": 5, "forward": 15})
    assert read(run, "step_ms.median").value == pytest.approx(20)
    assert read(run, "phase.step_ms.median").value == pytest.approx(5)


def test_medians_have_an_interval_where_steps_differ():
    found = read(make_run({"forward": 100}, noise=0.1, steps=200), "step_ms.median")
    assert found.low < found.value < found.high
    assert read(make_run({"forward": 1}, steps=1), "step_ms.median").low is None


def test_memory_is_that_of_the_rank_with_most():
    low, high = [MIB] * 100, [MIB * 9 if i == 50 else 2 * MIB for i in range(100)]
    run = make_run({"forward": 9}, ranks=2, memory={"allocated": low})
    assert read(run, "memory.allocated.high").value == MIB
    run = make_run({"forward": 9}, memory={"allocated": high, "mine": 5})
    assert read(run, "memory.allocated.high").value == 9 * MIB
    assert read(run, "memory.allocated.last").value == 2 * MIB
    assert read(run, "memory.mine.high").value == 5
    assert read(run, "memory.allocated.growth").value is not None


def test_summaries_of_a_logged_value_and_what_is_not_finite_in_it():
    values = [float(i) for i in range(100)]
    run = make_run({"forward": 9}, scalars={"loss": values})
    want = {"first": 0, "last": 99, "min": 0, "max": 99, "mean": 49.5, "median": 49.5, "tail": 94.5}
    assert {e: read(run, f"loss.{e}").value for e in want} == want
    run = make_run({"forward": 9}, scalars={"loss": [*values[:50], float("nan"), *values[51:]]})
    assert read(run, "loss.last").value == 99
    assert read(run, "loss.tail").value == 94.5
    for ending in ("min", "max", "mean", "median"):
        assert np.isnan(read(run, f"loss.{ending}").value), ending
    assert read(run, "loss.last").note == "1 value of 100 not finite"


def test_warm_up_counts_for_logged_values_and_not_for_times():
    run = make_run({"forward": [90] * 10 + [10] * 90}, scalars={"loss": [9] + [1] * 99}, warmup=10)
    assert read(run, "loss.max").value == 9
    assert read(run, "step_ms.mean").value == pytest.approx(10)


def test_the_tail_is_what_diff_compares():
    values = [1 / (1 + i) for i in range(61)]
    run = make_run({"forward": 9}, steps=61, scalars={"loss": values})
    assert read(run, "loss.tail").value == own_values(run)["loss"]


def ranked(*logged: dict[str, float]) -> Run:
    """Ranks that log different things; the second is the one that reports show."""
    phases = {0: {}, 1: {"data": 5}, 2: {"data": 9}}
    each = [make_run({"forward": 9}, ranks=phases, scalars=values) for values in logged]
    return attrs.evolve(each[0], timelines=tuple(r.timelines[i] for i, r in enumerate(each)))


def test_logged_values_are_those_of_the_lowest_rank_that_logged_them():
    run = ranked({"loss": 4}, {"loss": 3, "acc": 1}, {"loss": 3, "acc": 2})
    assert run.shown.rank == 1
    found = read(run, "loss.last")
    assert (found.value, found.note) == (4, "of rank 0")
    assert (read(run, "acc.last").value, read(run, "acc.last").note) == (1, "of rank 1")
    assert read(PLAIN, "loss.last").note == ""


def test_rates_are_of_the_shown_rank_and_their_sum_of_all():
    every = {"samples": 10}
    run = ranked(every, every, every)
    assert 0 < read(run, "samples_per_s").value < read(run, "samples_per_s.sum").value
    run = ranked(every, {}, {})
    assert "`samples_per_s.sum` has the 1 rank that did" in read(run, "samples_per_s").missing
    assert read(run, "samples_per_s.sum").value > 0
    assert read(run, "tokens_per_s.sum").missing == "no counted step of any rank logged `tokens`"


def test_counts_of_findings_say_how_many_checks_could_not_be_evaluated():
    found = read(PLAIN, "findings.total")
    assert found.value >= 1
    assert "TIMING.DATALOADER_BOUND" in found.note
    assert "could not be evaluated" in found.note
    total = sum(read(PLAIN, f"findings.{s}").value for s in ("high", "medium", "low", "info"))
    assert found.value == total


def test_without_a_check_that_decided_no_count_is_zero():
    run = make_run({"forward": 1}, steps=5, warmup=5)
    vocabulary = words(run)
    outcomes = {check.outcome.value for check in vocabulary.facts.report.checks}
    found = vocabulary.metric("findings.high").read()
    assert (found.value is None) is not bool({"passed", "finding"} & outcomes)
    assert vocabulary.metric("step_ms.median").read().value is None


ODD = {
    "one step": make_run({"forward": 1}, steps=1),
    "all warm-up": make_run({"forward": 1}, steps=9, warmup=9),
    "ranks": make_run({"forward": 9}, ranks={0: {}, 3: {"data": 50}}, scalars={"tokens": 5}),
    "attempts": make_run({"forward": 9}, attempts=[(0, 30), (20, 40)]),
    "cut": make_run({"forward": 9}, finished=False, last_attempt={"lost_ns": 5, "lost_steps": 2}),
    "figures": make_run({"forward": 9}, flops_per_step=1e9, peak_flops=1e12),
    "impossible": make_run({"forward": 9}, flops_per_step=1e18, peak_flops=1e12),
    "not finite": make_run({"forward": 9}, scalars={"loss": [float("inf")] * 100}),
    "odd names": make_run({"a b": 9, "c.d": 3, "e<f": 1}, scalars={"x/y z": 1, "\x1b[2J": 2}),
}


@pytest.mark.parametrize("name", ODD)
def test_every_metric_has_a_value_or_a_reason_in_any_run(name):
    vocabulary = words(ODD[name])
    for metric in vocabulary.metrics.values():
        found = metric.read()
        assert isinstance(found.value, float | int) or found.missing, metric.name
        if found.value is not None:
            assert told(found.value, metric.unit), metric.name
            assert metric is vocabulary.metric(metric.name)
    json.dumps({n: m.about for n, m in vocabulary.metrics.items()})
