"""TIMING.DATALOADER_BOUND fires on slow loaders, and says of which kind."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from pytscope.builtin.rules import dataloader_bound
from pytscope.builtin.rules.loader_waits import Floors, waits
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
    assert "num_workers=" not in finding.fix
    assert finding.fix.count("num_workers") == 1
    assert any((e.metric, e.value) == ("period of the waiting", 6) for e in finding.evidence)


def test_epoch_starts_show_as_a_long_period():
    data = [2000.0 if i % 100 == 0 else 0.2 for i in range(1000)]
    finding = fired(data)
    assert "anew with every epoch" in finding.detail
    assert "keep the workers over epochs" in finding.fix


def test_waiting_in_the_steps_of_an_evaluation_is_not_put_down_to_few_workers():
    data = [150.0 if i % 20 == 19 else 0.2 for i in range(200)]
    run = make_run({"data": data, **REST, "eval": [30 if i % 20 == 19 else 0 for i in range(200)]})
    (finding,) = assert_fires(dataloader_bound, run)
    assert "the steps that hold eval as well" in finding.detail
    assert "too few" not in finding.detail
    assert "keep the workers over epochs" in finding.fix


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


def sick(ranks: int, *which: int, data=12, **options):
    """A run whose loader is slow on some ranks, for which the others wait in backward."""
    slow = {"data": data, **REST}
    healthy = {"data": 0.1, "forward": 4, "backward": 17.9, "optimizer": 1}
    given = {rank: slow if rank in which else healthy for rank in range(ranks)}
    return make_run(healthy, ranks=given, **options)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_rank_that_is_not_shown_is_judged_too(noise):
    run = sick(2, 1, noise=noise)
    assert run.shown.rank == 0 or noise
    (finding,) = assert_fires(dataloader_bound, run)
    assert finding.title.endswith("on rank 1 of 2")
    assert finding.ranks == (1,)
    assert finding.cost_s.value == pytest.approx(100 * 11.8 / 1e3, rel=noise or 1e-9)
    assert all(row.rank == 1 for row in finding.evidence)
    assert "of rank 1 is spent" in finding.detail
    assert run.shown.rank == 1 or finding.explains == ()


def test_several_sick_ranks_are_counted_and_the_longest_waiting_is_described():
    healthy = {"data": 0.1, "forward": 30}
    ranks = {0: {}, 1: {"data": 12}, 2: {"data": 25}, 3: {}}
    (finding,) = assert_fires(dataloader_bound, make_run(healthy, ranks=ranks))
    assert finding.title.endswith("on 2 of 4 ranks")
    assert finding.ranks == (1, 2)
    assert "So does rank 1." in finding.detail
    assert finding.cost_s.value == pytest.approx(100 * 24.8 / 1e3)


def test_a_rank_that_cannot_be_judged_is_named():
    ranks = {0: {"data": 0.1, **REST}, 1: [[("forward", 11)]] * 100}
    reason = assert_abstains(dataloader_bound, make_run({}, ranks=ranks, steps=100), Inconclusive)
    assert "rank 1: no `data` phase" in reason
    ranks[2] = {"data": 12, **REST}
    (finding,) = assert_fires(dataloader_bound, make_run({}, ranks=ranks, steps=100))
    assert finding.ranks == (2,)
    assert "Not judged: rank 1: no `data` phase." in finding.detail


def test_chance_on_one_of_many_ranks_makes_no_finding():
    """Heavy-tailed waits about the floor: some rank passes it, none for certain."""
    draw = np.random.default_rng(7)
    ranks = {
        rank: {"data": draw.lognormal(-0.6, 1.8, 30).tolist(), "forward": 24} for rank in range(300)
    }
    run = make_run({}, ranks=ranks, steps=30)
    floors = Floors(0.1, 0.5e6, 200_000)
    alone = [attrs.evolve(run, timelines=(t,)) for t in run.timelines if t is not run.shown]
    assert any(waits(one, floors).waiting for one in alone)
    assert not [one for one in waits(run, floors).waiting if one.rank != run.shown.rank]


def test_one_sick_rank_of_many_is_found():
    (finding,) = assert_fires(dataloader_bound, sick(300, 211, steps=30, noise=0.2))
    assert finding.ranks == (211,)


def loaded(*, cpus=8, devices=(), local=None, loaders=1, **settings):
    known = {"num_workers": 4, "persistent_workers": True, "pin_memory": False, **settings}
    torch = {"loaders": [known] * loaders, "devices": list(devices)}
    env = {} if local is None else {"LOCAL_WORLD_SIZE": str(local)}
    return {"environment": {"torch": torch, "cpus": cpus, "env": env}}


def test_workers_are_advised_from_what_was_recorded_and_never_more_than_cpus():
    assert "num_workers=8 instead of the recorded 4" in fired(12, **loaded()).fix
    assert "num_workers=6 instead" in fired(12, **loaded(cpus=6)).fix
    assert "num_workers=2, persistent" in fired(12, **loaded(cpus=2, num_workers=0)).fix
    shared = fired(12, **loaded(local=4, num_workers=0))
    assert "num_workers=2, persistent" in shared.fix
    hosted = loaded(num_workers=0)
    hosted["environment"]["host"] = "one"
    assert "up to the 2 CPUs of a rank" in fired(12, ranks=4, **hosted).fix
    enough = fired(12, **loaded(cpus=2, num_workers=2)).fix
    assert "num_workers" not in enough
    assert "make each batch cheaper" in enough


def test_pinning_is_advised_only_with_an_accelerator():
    assert "pin_memory" not in fired(12, **loaded()).fix
    gpu = loaded(devices=[{"name": "GPU"}])
    assert "pin_memory=True" in fired(12, **gpu).fix
    assert "pin_memory" not in fired(12, **loaded(devices=[{"name": "G"}], pin_memory=True)).fix


def test_workers_that_start_anew_come_first_when_the_record_says_so():
    data = [40.0 if i % 10 == 0 else 0.2 for i in range(300)]
    finding = fired(data, **loaded(num_workers=2, persistent_workers=False))
    assert finding.fix.startswith("persistent_workers=True first")
    assert "10 workers" not in finding.detail
    kept = fired(data, **loaded(num_workers=10, cpus=16))
    assert "the 10 recorded workers show that are too few" in kept.detail
    assert kept.fix.startswith("num_workers=16 instead of the recorded 10")


@pytest.mark.parametrize(
    "odd",
    [{"torch": 7}, {"torch": {"loaders": "x"}}, {"torch": {"loaders": [3]}}, {"cpus": "many"}],
)
def test_a_record_of_another_form_gives_general_advice(odd):
    assert fired(12, environment=odd).fix.startswith("In general")


def test_a_name_close_to_data_is_pointed_out():
    reason = assert_abstains(dataloader_bound, make_run({"dta": 3, "forward": 4}), NotMeasured)
    assert "`dta` was recorded: did you mean `data`?" in reason
    assert "did you mean" not in assert_abstains(dataloader_bound, make_run(REST), NotMeasured)


def test_a_cost_that_nobody_would_notice_is_low():
    run = make_run({"data": 1, **REST}, steps=9, startup=[("other", 60_000)])
    (finding,) = assert_fires(dataloader_bound, run, min_share=0.05)
    assert finding.severity is Severity.LOW
