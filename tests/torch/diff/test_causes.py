"""Real trainings that part for a known reason: the step and the reason are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pytscope
from tests.torch.diff.made import (  # skips without pytscope-torch
    AN_EPOCH,
    Lookup,
    compared,
    resumed,
    torch,
    trained,
)

from pytscope.model.comparison import Cause, CauseKind, Divergence  # isort: skip
from pytscope.model.comparison_causes import CauseId  # isort: skip
from pytscope.model.findings import Confidence  # isort: skip

OPTIM, SCHEDULES = torch.optim, torch.optim.lr_scheduler


def parted(folder: Path, *changes: dict[str, Any]) -> Divergence:
    """How two trainings part, of which each has changes."""
    a, b = (trained(folder / str(i), **changed) for i, changed in enumerate(changes))
    divergence: Divergence = compared(a, b)[1]
    return divergence


def sure(divergence: Divergence) -> Cause:
    """The one cause that is sure."""
    (cause,) = (c for c in divergence.causes if c.confidence is Confidence.CONFIRMED)
    assert divergence.causes[0] is cause
    assert divergence.identical is False
    return cause


def where(divergence: Divergence) -> tuple[int, str]:
    """The first difference: its step and its series."""
    assert divergence.bitwise is not None
    return divergence.bitwise.step, divergence.bitwise.series


def materially(divergence: Divergence) -> int:
    assert divergence.material is not None
    return divergence.material.step


# --- nothing differs ----------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [{}, {"logs": False}, {"given": False}, {"half": True}, {"options": {}}, {"workers": 2}],
    ids=["plain", "without a loss", "found", "autocast", "without fingerprints", "workers"],
)
def test_a_repeated_training_is_identical(tmp_path: Path, changes: dict[str, Any]) -> None:
    a, b = (trained(tmp_path / name, **changes) for name in "ab")
    comparison, divergence = compared(a, b)
    assert (divergence.identical, divergence.bitwise) == (True, None)
    assert comparison.identical is True
    assert divergence.causes == ()


def test_a_longer_training_is_no_different_one(tmp_path: Path) -> None:
    divergence = compared(trained(tmp_path / "a", 9), trained(tmp_path / "b", 14))[1]
    assert divergence.identical is True
    assert (divergence.steps, divergence.only_first, divergence.only_second) == (9, 0, 5)


def test_a_resume_that_loses_nothing_is_identical(tmp_path: Path) -> None:
    divergence = compared(trained(tmp_path / "a"), resumed(tmp_path / "b"))[1]
    assert divergence.identical is True


def test_learning_rates_alone_do_not_make_trainings_identical(tmp_path: Path) -> None:
    bare: dict[str, Any] = {"logs": False, "options": {}}
    divergence = parted(tmp_path, bare, {**bare, "weights": scaled})
    assert (divergence.identical, divergence.bitwise) == (None, None)
    comparison = pytscope.diff(tmp_path / "0", tmp_path / "1")
    assert comparison.identical is None
    assert "cannot be told apart" in comparison.headline
    assert "torch.initial_weights.hash" in comparison.headline


# --- the data -----------------------------------------------------------------


def test_the_order_of_the_data(tmp_path: Path) -> None:
    divergence = parted(tmp_path, {"order": 5}, {"order": 6})
    assert where(divergence) == (0, "batch_fingerprint")
    cause = sure(divergence)
    assert cause.kind is CauseKind.BATCH
    assert cause.id is CauseId.DATA_ORDER
    assert any("generator_seed" in key for key in cause.keys)


def test_another_order_from_the_second_epoch_on(tmp_path: Path) -> None:
    divergence = parted(tmp_path, {}, {"reorder": 77})
    assert where(divergence) == (AN_EPOCH, "batch_fingerprint")
    assert materially(divergence) == AN_EPOCH
    cause = sure(divergence)
    assert (cause.kind, cause.id) == (CauseKind.BATCH, CauseId.DATA_ORDER)


@pytest.mark.parametrize("labels", [True, False], ids=["classes", "numbers"])
def test_augmentation_without_a_seed(tmp_path: Path, *, labels: bool) -> None:
    noisy = {"augmented": True, "labels": labels}
    divergence = parted(tmp_path, noisy, noisy)
    assert where(divergence) == (0, "batch_fingerprint")
    cause = sure(divergence)
    assert cause.kind is CauseKind.BATCH
    assert cause.id is CauseId.AUGMENTATION
    assert "torch.initial_random_states.numpy" in cause.keys
    assert "numpy" in cause.fix


def test_augmentation_with_a_seed_is_identical(tmp_path: Path) -> None:
    noisy = {"augmented": True, "numpy_seed": 1}
    assert parted(tmp_path, noisy, noisy).identical is True


# --- what training starts from ------------------------------------------------


@pytest.mark.parametrize("order", [5, None], ids=["order fixed", "order from the seed"])
def test_the_seed(tmp_path: Path, order: int | None) -> None:
    divergence = parted(tmp_path, {"order": order}, {"order": order, "seed": 1})
    assert where(divergence) == (0, "loss" if order else "batch_fingerprint")
    cause = sure(divergence)
    assert cause.id is CauseId.SEED
    assert "torch.initial_seed" in cause.keys


def scaled(model: Any) -> None:
    """Begin with weights that are a little larger."""
    model[0].weight.mul_(1.01)


def test_initial_weights(tmp_path: Path) -> None:
    divergence = parted(tmp_path, {}, {"weights": scaled})
    assert where(divergence) == (0, "loss")
    cause = sure(divergence)
    assert cause.kind is CauseKind.INITIAL
    assert cause.id is CauseId.INITIAL_WEIGHTS
    assert cause.keys == ("torch.initial_weights.hash",)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"half": True}, "torch.autocast"),
        ({"dtype": torch.float64}, "torch.model.dtypes"),
        ({"dtype": torch.bfloat16}, "torch.model.dtypes"),
    ],
    ids=["autocast", "double", "bfloat16"],
)
def test_the_element_type(tmp_path: Path, changes: dict[str, Any], key: str) -> None:
    divergence = parted(tmp_path, {}, changes)
    assert where(divergence) == (0, "loss")
    cause = sure(divergence)
    assert cause.kind is CauseKind.INITIAL
    assert cause.id is CauseId.PRECISION
    assert any(name.startswith(key) for name in cause.keys)


# --- how it is trained --------------------------------------------------------


def test_the_schedule_of_the_learning_rate(tmp_path: Path) -> None:
    def halved(optimizer: Any) -> Any:
        return SCHEDULES.StepLR(optimizer, 5, 0.5)

    def constant(optimizer: Any) -> Any:
        return SCHEDULES.StepLR(optimizer, 500, 0.5)

    divergence = parted(tmp_path, {"schedule": constant}, {"schedule": halved})
    assert where(divergence) == (5, "lr")
    losses = next(series for series in divergence.series if series.name == "loss")
    assert losses.bitwise is not None
    assert losses.bitwise.step == 6
    cause = sure(divergence)
    assert cause.kind is CauseKind.SCHEDULE
    assert cause.id is CauseId.SCHEDULE


def test_the_optimizers_settings(tmp_path: Path) -> None:
    divergence = parted(
        tmp_path, {}, {"optimizer": lambda p: OPTIM.AdamW(p, lr=0.02, betas=(0.8, 0.999))}
    )
    assert where(divergence)[1] == "loss"
    assert where(divergence)[0] in (1, 2)  # the first update of Adam does not depend on beta
    assert divergence.causes[0].id is CauseId.OPTIMIZER
    assert any("betas" in key for key in divergence.causes[0].keys)


@pytest.mark.parametrize("lost", ["optimizer", "place", "random", "model"])
def test_a_resume_that_loses_something(tmp_path: Path, lost: str) -> None:
    divergence = compared(trained(tmp_path / "a"), resumed(tmp_path / "b", lost))[1]
    cause = sure(divergence)
    assert cause.kind is CauseKind.RESUME
    step, series = where(divergence)
    expected = {
        "optimizer": (6, "loss", CauseId.RESUME_OPTIMIZER_STATE),
        "place": (5, "batch_fingerprint", CauseId.RESUME_LOADER),
        "random": (5, "loss", CauseId.RESUME_WEIGHTS_OR_RANDOM_STATE),
        "model": (5, "loss", CauseId.RESUME_WEIGHTS),
    }
    assert (step, series, cause.id) == expected[lost]
    assert "B was resumed at step 5" in cause.detail


def test_a_resume_with_momentum_alone_to_lose(tmp_path: Path) -> None:
    recipe = {"optimizer": lambda p: OPTIM.SGD(p, lr=0.1, momentum=0.9)}
    a = trained(tmp_path / "a", **recipe)
    divergence = compared(a, resumed(tmp_path / "b", "optimizer", **recipe))[1]
    assert where(divergence) == (6, "loss")
    cause = sure(divergence)
    assert (cause.kind, cause.id) == (CauseKind.RESUME, CauseId.RESUME_OPTIMIZER_STATE)


# --- what depends on timing ---------------------------------------------------


@pytest.fixture
def racing() -> dict[str, Any]:
    """What it takes to train with a gradient that two threads add up as they come."""
    torch.set_num_threads(2)
    made = Lookup()
    found = set()
    for _ in range(200):
        made.zero_grad()
        made(torch.ones(8, 6)).sum().backward()
        found.add(made.table.grad.numpy().tobytes())
        if len(found) > 1:
            return {"model": Lookup, "optimizer": lambda p: OPTIM.SGD(p, lr=3.0, momentum=0.9)}
    pytest.skip("threads add up in one order on this machine")


def test_an_operation_that_depends_on_timing(tmp_path: Path, racing: dict[str, Any]) -> None:
    a = trained(tmp_path / "a", 40, **racing)
    others = (trained(tmp_path / str(i), 40, **racing) for i in range(8))
    divergence = next(found for b in others if not (found := compared(a, b)[1]).identical)
    step, series = where(divergence)
    assert series == "loss"
    assert step >= 1  # the forward pass of the first step is the same
    cause = sure(divergence)
    assert cause.kind is CauseKind.BACKWARD
    assert cause.id is CauseId.NONDETERMINISM
    assert "use_deterministic_algorithms" in cause.fix
    assert "cudnn" not in cause.fix.lower()


def test_the_same_operation_made_deterministic(tmp_path: Path, racing: dict[str, Any]) -> None:
    torch.use_deterministic_algorithms(True)
    assert parted(tmp_path, racing, racing).identical is True


# --- a folder's own comparison ------------------------------------------------


def test_a_run_is_identical_to_itself(tmp_path: Path) -> None:
    trained(tmp_path / "run", logs=False, options={})
    comparison = pytscope.diff(tmp_path / "run", tmp_path / "run")
    assert comparison.identical is True
    assert comparison.divergences[0].causes == ()
