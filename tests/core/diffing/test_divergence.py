"""Where runs part: global steps, identical runs, what was not compared."""

from __future__ import annotations

from pathlib import Path

import attrs
import numpy as np
import pytest

import pytscope
from pytscope.diffing.differences import differences
from pytscope.diffing.divergence import divergence, same_recording
from pytscope.model.comparison import CauseKind
from pytscope.model.comparison_causes import CauseId
from pytscope.model.records import Flag
from pytscope.testing import make_run
from tests.core.diffing.parting import BATCHES, LOSS, changed, environment, found, made

CASES = Path(__file__).parents[4] / "shared" / "data" / "legacy_runs" / "cases"
"""Folders that 0.2.x was seen to fail on; not part of this repository."""
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason=f"no {CASES}")


def test_a_run_is_identical_to_itself():
    told = found(made(), made())
    assert told.identical is True
    assert told.bitwise is None
    assert told.causes == ()
    assert told.not_compared == ()
    assert told.steps == 24


def test_so_is_one_without_a_loss():
    run = make_run({"forward": [1 + i % 3 for i in range(30)]})
    told = found(run, run)
    assert told.identical is True
    assert told.causes == ()
    assert any("No loss" in sentence for sentence in told.not_compared)


def test_two_runs_without_a_loss_are_not_known_to_be():
    a, b = (make_run({"forward": 1}, steps=30, noise=0.1, seed=seed) for seed in (1, 2))
    assert found(a, b).identical is None
    assert not same_recording(a, b)
    assert same_recording(a, a)


def test_a_longer_run_is_identical_where_both_have_steps():
    told = found(made(), made(loss=[*LOSS, 9.0], batches=[*BATCHES, 1]))
    assert told.identical is True
    assert (told.steps, told.only_first, told.only_second) == (24, 0, 1)


def test_the_warm_up_counts():
    told = found(made(warmup=5), made(loss=changed(LOSS, 2), warmup=5))
    assert told.bitwise is not None
    assert told.bitwise.step == 2


def test_bitwise_comes_before_material():
    loss = [v if i < 3 else v * (1 + 1e-8) if i < 9 else v * 2 for i, v in enumerate(LOSS)]
    told = found(made(), made(loss=loss))
    assert told.bitwise is not None
    assert told.material is not None
    assert (told.bitwise.step, told.material.step) == (3, 9)
    assert told.identical is False


def test_batches_come_before_the_loss_in_a_step():
    told = found(made(), made(loss=changed(LOSS, 4), batches=changed(BATCHES, 4)))
    assert told.bitwise is not None
    assert told.bitwise.series == "batch_fingerprint"


def test_what_cannot_be_compared_is_said():
    a = made(batches=None, rate=None, scalars={"acc": 1.0, "step_time": 1.0}, first_step=5)
    b = made(batches=None, rate=None, scalars={"f1": 1.0, "step_time": 2.0}, ranks=2)
    said = " ".join(found(a, b).not_compared)
    for part in ("fingerprint", "Learning rates", "Only A logs acc", "Only B logs f1", "step_time",
                 "Rank 1: only B", "begin at different steps"):  # fmt: skip
        assert part in said


def test_no_common_rank_is_said():
    a, b = made(), made(ranks={3: {}})
    told = found(a, b)
    assert told.identical is None
    assert told.not_compared == ("No rank has records in both runs.",)
    assert (told.steps, told.only_first) == (0, 24)


def test_a_run_without_ranks():
    run = attrs.evolve(made(), timelines=())
    assert found(run, run).identical is None
    assert found(made(), run).identical is None


def test_rounded_losses_are_said():
    rounded = [round(1 / (1 + i), 4) for i in range(24)]
    said = " ".join(found(made(loss=rounded), made(loss=rounded)).not_compared)
    assert "rounded to 4 decimals" in said
    assert "rounded" not in " ".join(found(made(), made()).not_compared)


def test_given_differences_are_taken():
    a, b = made(), made(loss=changed(LOSS, 0))
    assert found(a, b).causes == divergence(a, b, differences((a, b), (0, 1))).causes
    other = differences((a, b, made(config={"lr": 3})), (0, 0, 1))
    assert found(a, b).causes == divergence(a, b, other).causes


def test_labels_are_those_given():
    told = divergence(made(), made(loss=changed(LOSS, 4)), labels=("X", "Y"))
    assert (told.first, told.second) == ("X", "Y")
    assert "in Y" in told.causes[0].detail


def test_ranks_are_named():
    a = made(ranks=2)
    timeline = made(batches=changed(BATCHES, 3), loss=changed(LOSS, 3)).timelines[0]
    timeline.rank = 1
    b = attrs.evolve(a, timelines=(a.timelines[0], timeline))
    told = found(a, b)
    assert told.bitwise is not None
    assert told.bitwise.step == 3
    assert "on rank 1" in told.causes[0].detail


def test_a_skipped_step_is_a_cause():
    told = found(made(), made(loss=changed(LOSS, 8), flags={Flag.SKIPPED: [7]}))
    assert told.causes[0].kind is CauseKind.BACKWARD
    assert told.causes[0].id is CauseId.SKIPPED_STEP
    assert "step 7 was skipped in B alone" in told.causes[0].title


@needs_cases
@pytest.mark.parametrize(
    ("a", "b", "step"),
    [
        ("diff_warm_a", "diff_warm_b", 130),
        ("diff_sparse_a", "diff_sparse_b", 50),
        ("ok", "diff_longer", None),
        ("custom_phases", "custom_phases", None),
        ("ok", "runjson_null_config", None),
    ],
)
def test_runs_of_an_older_version(a: str, b: str, step: int | None):
    told = found(pytscope.open(CASES / a), pytscope.open(CASES / b))
    assert (told.bitwise.step if told.bitwise else None) == step
    assert told.identical is (step is None)


@needs_cases
def test_a_changed_rate_does_not_hide_another_pytorch():
    told = found(pytscope.open(CASES / "diff_cfg_a"), pytscope.open(CASES / "diff_cfg_b"))
    keys = {key for cause in told.causes for key in cause.keys}
    assert {"config.lr", "torch"} <= keys


@needs_cases
def test_every_pair_of_odd_runs_can_be_compared():
    runs = []
    for path in sorted(CASES.iterdir()):
        try:
            runs.append(pytscope.open(path))
        except pytscope.PytscopeError:
            continue
    assert len(runs) > 20
    for a in runs:
        told = divergence(a, runs[0], differences((a, runs[0]), (0, 1)))
        assert told.bitwise is None or np.isfinite(told.bitwise.step)
        assert found(a, a).identical is not False


def test_everything_recorded_and_nothing_else_differs():
    told = found(made(), made(provenance=environment(initial_seed=3)))
    assert told.identical is True
    assert told.causes == ()


def test_equal_batches_alone_make_no_identical_runs():
    bare = {"loss": None, "rate": None}
    assert found(made(**bare), made(**bare)).identical is True
    there = environment(initial_weights={"hash": "w2"})
    other = made(**bare, provenance=there, noise=0.1)
    assert found(made(**bare), other).identical is None
    noisy = made(loss=None, batches=None, noise=0.1)
    assert found(made(loss=None, batches=None), noisy).identical is None
