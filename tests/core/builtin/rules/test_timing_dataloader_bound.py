"""TIMING.DATALOADER_BOUND fires on slow loaders, and says of which kind."""

from __future__ import annotations

import pytest

from pytscope.builtin.rules import dataloader_bound
from pytscope.model.errors import Inconclusive, NotMeasured
from pytscope.model.findings import Confidence, Severity
from pytscope.testing import assert_abstains, assert_fires, assert_quiet, make_run

REST = {"forward": 4, "backward": 6, "optimizer": 1}


def fired(data, **options):
    (finding,) = assert_fires(dataloader_bound, make_run({"data": data, **REST}, **options))
    return finding


def test_a_loader_that_is_slow_in_every_step():
    finding = fired(12, noise=0.1, steps=95)
    assert finding.severity is Severity.HIGH
    assert finding.confidence is Confidence.CONFIRMED
    assert "Nearly every step waits" in finding.detail
    assert "52" in finding.detail
    assert "num_workers" in finding.fix


def test_the_cost_is_what_a_ready_batch_would_have_saved():
    finding = fired(12, steps=200, warmup=50)
    assert finding.cost_s.value == pytest.approx(150 * (12 - 0.2) / 1e3)


def test_micro_batches_each_may_take_a_hand_over():
    finding = fired(12, steps=100, micro_batches=4)
    assert finding.cost_s.value == pytest.approx(100 * (12 - 0.8) / 1e3)


def test_eval_and_checkpoints_are_not_taken_for_data():
    run = make_run(
        {"data": 0.5, **REST, "eval": [0] * 49 + [900], "checkpoint": [0] * 49 + [900]},
        steps=50,
    )
    assert_quiet(dataloader_bound, run)


@pytest.mark.parametrize("data", [0.1, 0.6, 1.0])
def test_a_healthy_loader_is_quiet(data):
    assert_quiet(dataloader_bound, make_run({"data": data, **REST}, noise=0.2))


def test_one_hiccup_is_no_slow_loader():
    assert_quiet(dataloader_bound, make_run({"data": [0.3] * 99 + [3000], **REST}))


def test_a_share_without_substance_is_quiet():
    run = make_run({"data": 300, "forward": 500}, unit="us")
    assert_quiet(dataloader_bound, run)
    assert_fires(dataloader_bound, run, min_stall_ms=0.05, healthy_ms=0.05)


def test_too_few_workers_show_as_a_short_period():
    data = [40.0 if i % 6 == 0 else 0.2 for i in range(300)]
    finding = fired(data)
    assert "one in every 6 steps" in finding.detail
    assert "num_workers=12" in finding.fix
    assert finding.fix.count("num_workers") == 1
    assert any((e.metric, e.value) == ("period of the waiting", 6) for e in finding.evidence)


def test_epoch_starts_show_as_a_long_period():
    data = [2000.0 if i % 100 == 0 else 0.2 for i in range(1000)]
    finding = fired(data)
    assert "anew with every epoch" in finding.detail
    assert finding.fix.startswith("Keep the workers")


def test_waiting_in_the_steps_of_an_evaluation_is_not_put_down_to_few_workers():
    data = [150.0 if i % 20 == 19 else 0.2 for i in range(200)]
    run = make_run({"data": data, **REST, "eval": [30 if i % 20 == 19 else 0 for i in range(200)]})
    (finding,) = assert_fires(dataloader_bound, run)
    assert "the steps that hold eval as well" in finding.detail
    assert "too few" not in finding.detail
    assert finding.fix.startswith("Keep the workers")


def test_irregular_waiting_is_told_as_such():
    slow = {3, 17, 19, 50, 88, 131, 140, 199, 250, 251, 280}
    finding = fired([80.0 if i in slow else 0.2 for i in range(300)])
    assert "irregular distances" in finding.detail


@pytest.mark.parametrize(
    ("data", "severity"), [(1.7, Severity.MEDIUM), (2.5, Severity.MEDIUM), (3.5, Severity.HIGH)]
)
def test_severity_follows_the_share(data, severity):
    assert fired(data).severity is severity


def test_few_steps_make_it_suggestive_and_fewer_inconclusive():
    assert fired(12, steps=10).confidence is Confidence.SUGGESTIVE
    run = make_run({"data": 12, **REST}, steps=4)
    assert "5 rated steps" in assert_abstains(dataloader_bound, run, Inconclusive)


def test_without_a_data_phase_nothing_is_measured():
    reason = assert_abstains(dataloader_bound, make_run(REST), NotMeasured)
    assert "iter_data" in reason


def test_thresholds_are_honoured():
    run = make_run({"data": 12, **REST})
    assert_quiet(dataloader_bound, run, min_share=0.6)
    assert_fires(dataloader_bound, make_run({"data": 1, **REST}), min_share=0.05)


def test_the_evidence_has_an_interval_around_the_median():
    finding = fired(12, noise=0.2)
    (median,) = [e for e in finding.evidence if e.metric == "data, median"]
    assert median.low < median.value < median.high
    assert median.value == pytest.approx(12, rel=0.1)


def test_it_accounts_for_the_budget_only_where_data_is_the_largest_stall():
    assert "EFFICIENCY.RECOVERABLE" in fired(12).explains
    run = make_run({"data": 12, "comm": 30, "forward": 10})
    (finding,) = assert_fires(dataloader_bound, run)
    assert "EFFICIENCY.RECOVERABLE" not in finding.explains


def test_it_accounts_for_jitter_only_where_data_carries_it():
    periodic = [40.0 if i % 6 == 0 else 0.2 for i in range(300)]
    assert "TIMING.JITTER" in fired(periodic).explains
    other = make_run({"data": 12, **REST, "gc": [200 if i % 50 == 1 else 0 for i in range(300)]})
    (finding,) = assert_fires(dataloader_bound, other)
    assert "TIMING.JITTER" not in finding.explains
