"""Spikes of loss, gradient norm, step time and memory, and what accounts for them."""

from __future__ import annotations

import json
import math

import attrs
import numpy as np
import pytest

import pytscope
from pytscope.builtin.analyzers import event_mask, spikes
from pytscope.model.errors import NotMeasured
from pytscope.model.panels import Status
from pytscope.testing import make_run
from tests.core.test_schemas import REPORT

STEPS = 200


def noise(level: float = 1.0, sd: float = 0.03, seed: int = 0, steps: int = STEPS) -> list[float]:
    return (level * np.random.default_rng(seed).lognormal(0.0, sd, steps)).tolist()


def raised(values: list[float], at: range | list[int], times: float) -> list[float]:
    return [v * times if i in at else v for i, v in enumerate(values)]


def found(run):
    return spikes(run, event_mask(run))


def only(run, name: str):
    axis = found(run).axis(name)
    assert axis is not None
    return axis


def test_every_axis_is_looked_at():
    run = make_run(
        {"forward": raised(noise(10, seed=1), [90], 4)},
        scalars={"loss": noise(), "grad_norm": raised(noise(seed=2), [120], 9)},
        memory={"allocated": [2 * 10**9 if i == 60 else 10**9 for i in range(STEPS)]},
    )
    seen = found(run)
    starts = {axis.name: [k.spike.start for k in axis.spikes] for axis in seen.axes}
    assert starts == {"loss": [], "grad_norm": [120], "step_time": [90], "memory": [60]}
    assert seen.missing == ()


def test_what_is_missing_is_said():
    seen = found(make_run({"forward": 10}, steps=STEPS))
    assert [axis.name for axis in seen.axes] == ["step_time"]
    assert seen.missing == ("loss, grad norm, memory not recorded",)
    assert seen.panel().headline == "step time 0 · loss not judged"
    assert seen.panel().status is Status.OK


def test_few_values_are_not_judged():
    with pytest.raises(NotMeasured, match="16 steps"):
        found(make_run({"forward": 10}, steps=12, scalars={"loss": 1.0}))


def test_a_checkpoint_accounts_for_step_time_and_memory():
    checkpoint = [40 if i % 60 == 50 else 0 for i in range(STEPS)]
    slow = raised(noise(10, seed=1), [50], 4)
    axis = only(make_run({"forward": slow, "checkpoint": checkpoint}), "step_time")
    assert [k.explained for k in axis.spikes] == ["checkpoint"]
    assert axis.unexplained == ()


def test_a_checkpoint_does_not_account_for_one_spike_of_the_loss():
    checkpoint = [40 if i % 60 == 50 else 0 for i in range(STEPS)]
    scalars = {"loss": raised(noise(), [50], 4)}
    axis = only(make_run({"forward": 10, "checkpoint": checkpoint}, scalars=scalars), "loss")
    assert [k.explained for k in axis.spikes] == [""]


def test_spikes_of_the_loss_that_keep_to_evaluations_are_theirs():
    at = [37, 96, 131, 190]
    phases = {"forward": 10, "eval": [30 if i in at else 0 for i in range(STEPS)]}
    axis = only(make_run(phases, scalars={"loss": raised(noise(), at, 4)}), "loss")
    assert [k.explained for k in axis.spikes] == ["eval"] * 4


def test_spikes_that_keep_a_period_are_explained_by_it():
    at = list(range(20, 200, 25))
    axis = only(make_run({"forward": 10}, scalars={"loss": raised(noise(), at, 4)}), "loss")
    assert axis.period == 25
    assert {k.explained for k in axis.spikes} == {"period"}


def test_collections_are_no_spike_of_step_time():
    gc = [80 if i in (60, 133) else 0 for i in range(STEPS)]
    assert only(make_run({"forward": noise(10), "gc": gc}), "step_time").number == 0


def test_memory_is_read_where_it_tells_most():
    resets = [10**9 + (i % 2) for i in range(STEPS)]
    memory = {"allocated": 10**9, "peak": resets, "rss": 10**9}
    assert only(make_run({"forward": 10}, memory=memory), "memory").series == "peak"
    memory["peak"] = [10**9 + i for i in range(STEPS)]
    assert only(make_run({"forward": 10}, memory=memory), "memory").series == "allocated"


def test_beside_names_the_axes_of_the_same_moment():
    scalars = {"loss": raised(noise(), [90], 4), "grad_norm": raised(noise(seed=2), [89, 90], 9)}
    seen = found(make_run({"forward": 10}, scalars=scalars))
    assert [k.beside for k in seen.axis("loss").spikes] == [("grad_norm",)]
    assert seen.axis("loss").spikes[0].word == "spike"


def test_a_loss_that_ends_in_nan_says_from_where():
    loss = noise()
    loss[150:] = [math.nan] * 50
    axis = only(make_run({"forward": 10}, scalars={"loss": loss}), "loss")
    assert (axis.lost_from, axis.not_finite) == (150, 50)


@pytest.mark.parametrize(
    ("at", "times", "status"),
    [([], 1, Status.OK), ([90], 2, Status.OK), ([90, 91], 3, Status.WATCH)],
)
def test_the_light_follows_the_loss(at, times, status):
    run = make_run({"forward": 10}, scalars={"loss": raised(noise(), at, times)})
    assert found(run).panel().status is status


def test_a_loss_that_does_not_come_back_is_bad():
    scalars = {"loss": raised(noise(), range(120, STEPS), 3)}
    assert found(make_run({"forward": 10}, scalars=scalars)).panel().status is Status.BAD


def test_a_gradient_norm_alone_is_no_alarm():
    scalars = {"loss": noise(), "grad_norm": raised(noise(seed=2), [80, 81, 120], 9)}
    report = pytscope.analyze(make_run({"forward": 10}, scalars=scalars))
    assert report.findings == ()
    panel = next(panel for panel in report.panels if panel.id == "spikes")
    assert panel.status is Status.OK
    assert "grad norm 2" in panel.headline


def test_the_document_of_a_run_with_all_of_it_is_of_the_schema():
    loss = raised(noise(), range(70, 73), 4)
    loss[190:] = [math.nan] * 10
    run = make_run(
        {"forward": raised(noise(10, seed=1), range(70, 73), 3), "eval": [9] + [0] * 199},
        scalars={
            "loss": loss,
            "grad_norm": raised(noise(seed=2), [70, 71], math.inf),
            "lr": 1e-3,
            "epoch": [i // 50 for i in range(STEPS)],
        },
        memory={"allocated": [2 * 10**9 if i == 71 else 10**9 for i in range(STEPS)]},
        warmup=3,
    )
    document = json.loads(pytscope.analyze(run).to_json())
    REPORT.validate(document)
    assert {"event_mask", "spikes", "instability"} <= set(document["analyses"])
    assert document["analyses"]["instability"]["sets"]


def test_a_run_with_very_many_spikes_writes_the_tallest():
    rng = np.random.default_rng(0)
    loss = np.exp(0.05 * rng.standard_t(2, 20_000)).tolist()
    run = make_run({"forward": 10}, scalars={"loss": loss})
    axis = only(run, "loss")
    assert axis.number == len(axis.spikes) > 100
    document = json.loads(pytscope.analyze(run).to_json())
    assert len(document["analyses"]["spikes"]["axes"][0]["spikes"]) == 100


def test_nan_in_some_steps_is_above_everything():
    loss = noise()
    loss[90:93] = [math.nan, 5.0, -math.inf]
    axis = only(make_run({"forward": 10}, scalars={"loss": loss}), "loss")
    (known,) = axis.spikes
    assert (known.spike.start, known.spike.end, known.spike.recovered) == (90, 92, True)
    assert math.isnan(known.spike.value)
    assert axis.not_finite == 2
    assert found(make_run({"forward": 10}, scalars={"loss": loss})).panel().status is Status.WATCH


def test_nan_in_every_third_step_stands_for_no_value():
    loss = [math.nan if i % 3 else v for i, v in enumerate(noise())]
    axis = only(make_run({"forward": 10}, scalars={"loss": loss}), "loss")
    assert axis.spikes == ()
    assert axis.judged == 67 - 16


def test_a_gradient_norm_that_ends_in_nan_is_bad_and_one_skipped_update_is_not():
    for lost, status in ((20, Status.BAD), (1, Status.OK)):
        grad_norm = [*noise(seed=2)[:-lost], *[math.nan] * lost]
        run = make_run({"forward": 10}, scalars={"loss": noise(), "grad_norm": grad_norm})
        assert found(run).panel().status is status


def test_zeros_that_stand_for_no_value_are_not_judged():
    loss = [0.0 if i % 2 else v for i, v in enumerate(noise())]
    assert only(make_run({"forward": 10}, scalars={"loss": loss}), "loss").judged == 100 - 16
    seen = found(make_run({"forward": 10}, scalars={"loss": 0.0}, steps=STEPS))
    assert "loss: 16 values or fewer that are not 0" in seen.missing


def test_what_is_off_the_beat_is_not_explained_by_the_period():
    at = [*range(20, 200, 12), 146]
    axis = only(make_run({"forward": 10}, scalars={"loss": raised(noise(), sorted(at), 4)}), "loss")
    assert [k.spike.start for k in axis.unexplained] == [146]


def test_an_axis_that_follows_into_a_lasting_spike_is_beside_it_and_it_beside_the_axis():
    scalars = {"loss": raised(noise(), [92, 93], 4)}
    scalars["grad_norm"] = raised(noise(seed=2), range(90, 94), 9)
    seen = found(make_run({"forward": 10}, scalars=scalars))
    assert [k.beside for k in seen.axis("loss").spikes] == [("grad_norm",)]
    assert [k.beside for k in seen.axis("grad_norm").spikes] == [("loss",)]


def test_ranks_and_steps_done_again_are_told():
    log = {"loss": noise(steps=220)}
    run = make_run({"forward": 10}, ranks=3, attempts=[(0, 120), (100, 100)], scalars=log)
    seen = found(run)
    assert (seen.ranks, seen.redone, seen.axis("loss").rank) == (3, 20, run.shown.rank)
    text = seen.panel().rows[-1].text
    assert "20 steps done again: only the last pass is looked at" in text
    assert f"loss, step time of rank {run.shown.rank}; other ranks are not looked at" in text


def test_a_loss_of_another_rank_than_the_shown_one_says_its_rank():
    run = make_run({"forward": 10}, ranks=3, steps=STEPS)
    logs = make_run({"forward": 10}, ranks=3, scalars={"train_loss": noise()}).timelines[2]
    seen = found(attrs.evolve(run, timelines=(*run.timelines[:2], logs)))
    assert (seen.axis("loss").rank, seen.axis("loss").series) == (2, "train_loss")
    assert seen.axis("step_time").rank == run.shown.rank != 2
