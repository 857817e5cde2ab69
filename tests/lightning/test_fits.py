"""Fits one after the other, cut short or continued, and the values that are recorded with them."""

from __future__ import annotations

import copy
import pickle
import signal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lightning.pytorch", reason="lightning is not installed")

from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.plugins import MixedPrecision

import pytscope
from pytscope.model.records import Flag
from tests.lightning.made import Case, Model, PytscopeCallback, pl, torch
from tests.lightning.situations import SITUATIONS, Players


def played(folder: Path, name: str) -> Any:
    case: Any = Case(folder, pace=0)
    SITUATIONS[name](case)
    return case


def attempts(case: Any) -> list[tuple[int, int]]:
    """First step and number of steps of each attempt."""
    timeline = case.timeline()
    made = [record.attempt for record in timeline.records()]
    return [(a.first_step, made.count(a.number)) for a in timeline.attempts]


def test_a_fit_with_nothing_left_to_train_is_no_attempt(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    case: Any = Case(tmp_path, pace=0, count=4)
    case.fitted(max_epochs=1).save_checkpoint(tmp_path / "saved.ckpt")
    case.fitted(max_epochs=1, ckpt_path=tmp_path / "saved.ckpt")
    assert attempts(case) == [(0, 4)]
    assert [record.message for record in caplog.records if record.name == "pytscope"] == [
        "pytscope: there was nothing left to train: the Trainer is at step 4; none was recorded"
    ]


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("automatic", [1]),
        ("manual", [1]),
        ("manual_accumulation", [2]),
        ("two_optimizers", [1]),
        ("accumulation", [3, 3, 2]),
        ("validation_inside_an_accumulated_step", [3, 3, 2]),
        ("scheduled_accumulation", [1] * 8 + [2] * 4),
        ("scaled", [1]),
        ("hooks_of_the_users_own", [1]),
        ("batches_fetched_in_the_training_step", [1]),
        ("line_search", [1]),
    ],
)
def test_micro_batches(tmp_path: Path, name: str, pattern: list[int]) -> None:
    micro = [record.micro_batches for record in played(tmp_path, name).timeline().records()]
    assert micro == (pattern * len(micro))[: len(micro)]


def test_the_sanity_check_is_evaluation_before_the_first_step(tmp_path: Path) -> None:
    (attempt,) = played(tmp_path, "validation_inside_an_epoch").timeline().attempts
    startup = dict(attempt.startup)
    assert startup["eval"] > 0
    assert {"forward", "data", "h2d"}.isdisjoint(startup)


def test_steps_that_the_scaler_passes_over_are_flagged(tmp_path: Path) -> None:
    class Overflowing(Model):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            loss = super().training_step(batch, batch_idx)
            return loss * float("inf") if batch_idx % 4 == 3 else loss

    case: Any = Case(tmp_path, pace=0)
    scaler = torch.amp.GradScaler("cpu", init_scale=1.0)
    case.fitted(Overflowing, plugins=[MixedPrecision("16-mixed", "cpu", scaler=scaler)])
    skipped = [bool(r.flags & Flag.SKIPPED) for r in case.timeline().records()]
    assert skipped == [i % 4 == 3 for i in range(16)]
    assert case.trainer.global_step == 16


# --- one after the other ----------------------------------------------------------------------


def test_a_trainer_that_fits_again_continues_the_run(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0)
    trainer = case.fitted(max_epochs=1)
    trainer.fit_loop.max_epochs = 2
    trainer.fit(case.modules[0], case.data())
    assert attempts(case) == [(0, 8), (8, 8)]


def test_another_trainer_with_the_same_callback_starts_afresh(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0)
    case.fitted(max_epochs=1)
    case.fitted(max_epochs=1)
    assert attempts(case) == [(0, 8)]
    assert pytscope.open(case.folder).other_attempts == (0,)


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("kind", [Model, Players])
def test_a_checkpoint_continues_the_run_at_its_step(
    tmp_path: Path, kind: type[Model], same: bool
) -> None:
    case: Any = Case(tmp_path, pace=0)
    saver = ModelCheckpoint(tmp_path / "saved", every_n_train_steps=6 if kind is Model else 12)
    case.fitted(kind, max_epochs=1, callbacks=[saver], enable_checkpointing=True)
    (path,) = (tmp_path / "saved").glob("*.ckpt")
    if not same:
        case.callback = None
    case.fitted(kind, max_epochs=2, ckpt_path=path)
    last = case.trainer.global_step // len(case.trainer.optimizers)  # 16, or 17 by Lightning 2.4
    assert attempts(case) == [(0, 8), (6, last - 6)]
    redone = [record.step for record in case.timeline().records() if record.flags & Flag.REDONE]
    assert redone == [6, 7]


def test_a_checkpoint_of_an_unrecorded_fit_is_reckoned_by_its_optimizers(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0, recorded=False)
    case.fitted(Players, max_epochs=1)
    case.trainer.save_checkpoint(tmp_path / "saved.ckpt")
    assert case.trainer.global_step == 16
    case.recorded = True
    case.fitted(Players, max_epochs=2, ckpt_path=tmp_path / "saved.ckpt")
    assert attempts(case) == [(8, 8)]


class LateStrategy(pl.strategies.SingleDeviceStrategy):
    """Restores checkpoints after its setup, as FSDP and DeepSpeed do."""

    @property
    def restore_checkpoint_after_setup(self) -> bool:
        return True


def test_a_strategy_that_restores_late_continues_at_the_right_step(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0)
    for epochs, path in ((1, None), (2, tmp_path / "saved.ckpt")):
        strategy = LateStrategy("cpu")
        case.fitted(max_epochs=epochs, strategy=strategy, accelerator="auto", ckpt_path=path)
        case.trainer.save_checkpoint(tmp_path / "saved.ckpt")
    assert attempts(case) == [(0, 8), (8, 8)]


# --- cut short ----------------------------------------------------------------------------------


class Failing(Model):
    """A module that raises what it is given, in one hook."""

    error: BaseException
    where: str

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        self.fail("training_step", batch_idx)
        return super().training_step(batch, batch_idx)

    def backward(self, loss: Any) -> None:
        self.fail("backward", self.trainer.fit_loop.batch_idx)
        super().backward(loss)

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        if not self.trainer.sanity_checking:
            self.fail("validation_step", 5)

    def on_save_checkpoint(self, checkpoint: Any) -> None:
        self.fail("on_save_checkpoint", 5)

    def fail(self, where: str, batch_idx: int) -> None:
        if where == self.where and batch_idx == 5:
            raise self.error


@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize(
    ("where", "phase", "steps"),
    [
        ("training_step", "failed", 5),
        ("backward", "failed", 5),
        ("validation_step", "eval", 8),
        ("on_save_checkpoint", "checkpoint", 8),
    ],
)
def test_an_exception_ends_the_attempt_and_is_named(
    tmp_path: Path, where: str, phase: str, steps: int, within: bool
) -> None:
    case: Any = Case(tmp_path, pace=0)

    def fit() -> None:
        kind = type("Failing", (Failing,), {"error": ValueError("this one"), "where": where})
        case.fitted(kind, validate=True, enable_checkpointing=True)

    with pytest.raises(ValueError, match="this one"):
        if within:  # another exception is being handled all the time
            try:
                {}["nothing"]
            except KeyError:
                fit()
        else:
            fit()
    (attempt,) = case.timeline().attempts
    assert attempt.finished
    assert not attempt.ended_well
    assert "this one" in str(attempt.events)
    assert len(case.timeline()) == steps
    assert phase in {name for name, _ in attempt.shutdown}
    assert case.callback.profiler is None


def test_what_an_exception_cuts_short_gets_no_advice(tmp_path: Path) -> None:
    class Failing(Model):
        def on_train_start(self) -> None:
            raise ValueError

    case: Any = Case(tmp_path, pace=0)
    with pytest.raises(ValueError):
        case.fitted(Failing, validate=True)
    assert len(case.timeline()) == 0
    assert case.said() == []


def test_an_interrupt_ends_the_attempt_and_is_named(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0)
    kind = type("Failing", (Failing,), {"error": KeyboardInterrupt(), "where": "training_step"})
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises((SystemExit, KeyboardInterrupt)):
            case.fitted(kind)
    finally:
        signal.signal(signal.SIGINT, before)
    (attempt,) = case.timeline().attempts
    assert attempt.finished
    assert len(case.timeline()) == 5
    assert "KeyboardInterrupt" in str(attempt.events)


def test_a_fit_that_has_nothing_to_do_is_said_to_have_no_step(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0)
    case.fitted(max_epochs=0)
    (attempt,) = case.timeline().attempts
    assert (attempt.finished, len(case.timeline())) == (True, 0)


def test_finding_a_learning_rate_is_no_part_of_the_run(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0)
    case.owned = True
    model = Model(case)
    trainer = case.made(max_epochs=1)
    model.learning_rate = 0.01
    pl.tuner.Tuner(trainer).lr_find(model, case.data(), num_training=4, update_attr=False)
    assert case.callback.profiler is None
    trainer.fit(model, case.data())
    assert attempts(case) == [(0, 8)]


# --- the class ------------------------------------------------------------------------------------


def test_copies_are_idle_callbacks_of_the_same_settings(tmp_path: Path) -> None:
    found: list[Any] = []

    class Copying(Callback):
        def on_train_start(self, *_: Any) -> None:
            found.extend((copy.deepcopy(case.callback), pickle.loads(pickle.dumps(case.callback))))

    case: Any = Case(tmp_path, pace=0, warmup=3)
    case.fitted(callbacks=[Copying()], max_epochs=1)
    for copied in found:
        assert type(copied) is type(case.callback)
        assert isinstance(copied, Callback)
        assert (copied.run_dir, copied.options) == (case.folder, {"warmup": 3})
        assert copied.profiler is None
    assert len(case.timeline()) == 8


def test_both_names_of_the_framework(tmp_path: Path) -> None:
    other = pytest.importorskip("pytorch_lightning", reason="pytorch_lightning is not installed")
    callback = PytscopeCallback(tmp_path / "run")
    assert isinstance(callback, (Callback, other.Callback))
    assert isinstance(callback, other.Callback)
    assert isinstance(callback, PytscopeCallback)
    assert isinstance(pickle.loads(pickle.dumps(callback)), other.Callback)

    class Plain(other.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 1)

        def training_step(self, batch: Any) -> Any:
            return self.linear(batch).sum()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    trainer = other.Trainer(
        callbacks=callback,  # not in a list: it must be known for a callback
        accelerator="cpu",
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    trainer.fit(Plain(), torch.utils.data.DataLoader(torch.ones(6, 4)))
    timeline = pytscope.open(tmp_path / "run").rank(0)
    assert len(timeline) == 6
    assert {"data", "forward", "backward", "optimizer"} <= set(timeline.phases)


def test_a_class_of_the_users_own(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0)
    case.callback = Mine(case.folder)
    case.fitted(max_epochs=1)
    assert isinstance(case.callback, Mine)
    assert type(pickle.loads(pickle.dumps(case.callback))) is type(case.callback)
    assert list(case.timeline().records())[-1].scalars["epoch_ends"] == 1


class Mine(PytscopeCallback):
    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self.profiler.log(epoch_ends=1)
