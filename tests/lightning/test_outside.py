"""What a Trainer evaluates outside of a fit: a part of the run, beside the training."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lightning.pytorch", reason="lightning is not installed")

from lightning.pytorch.callbacks import ModelCheckpoint

import pytscope
from tests.lightning.made import Case, Model, SleepyLogger, state_of, torch
from tests.lightning.situations import Players


class Judged(Model):
    """A module that can be tested, and used."""

    def test_step(self, batch: Any, batch_idx: int) -> None:
        x, y = batch
        self.truth.sleep("eval", 0.003)
        self.log("test_loss", ((self.linear(x) - y) ** 2).mean())

    def predict_step(self, batch: Any, batch_idx: int) -> Any:
        self.truth.sleep("eval", 0.003)
        return self.linear(batch[0])


def evaluations(case: Case) -> list[tuple[str, int, int]]:
    """What was called, the attempt it belongs to, and steps of the model."""
    run = pytscope.open(case.folder)
    return [(one.kind, one.attempt, one.step) for one in run.evaluations]


def series(case: Case, name: str) -> dict[int, float]:
    steps, values = pytscope.open(case.folder).series(name)
    return dict(zip(steps.tolist(), values.tolist(), strict=True))


@pytest.mark.parametrize("logged", [True, False])
def test_a_test_after_the_fit(tmp_path: Path, logged: bool) -> None:
    case: Any = Case(tmp_path)
    trainer = case.fitted(Judged, max_epochs=1, logger=SleepyLogger(case) if logged else False)
    before = case.truth.steps[-1].copy()
    (found,) = trainer.test(case.modules[0], case.data("eval", count=3), verbose=False)
    assert evaluations(case) == [("test", 0, 8)]
    assert series(case, "test_loss") == pytest.approx({7: found["test_loss"]})
    (one,) = pytscope.open(case.folder).evaluations
    wall = dict.fromkeys(("eval", "log", "other"), 0)
    for name, ns in one.segments:
        wall[name] += ns
    slept = {name: ns - before.get(name, 0) for name, ns in case.truth.steps[-1].items()}
    assert wall["eval"] >= slept["eval"] > 0
    assert wall["log"] >= slept.get("log", 0)
    assert (slept.get("log", 0) > 0) == logged


def test_the_training_is_what_it_was(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0)
    trainer = case.fitted(Judged, max_epochs=1)
    before = pytscope.analyze(case.folder, warmup=0)
    trainer.test(case.modules[0], case.data("eval", count=3), verbose=False)
    after = pytscope.analyze(case.folder, warmup=0)
    assert [p for p in after.panels if p.id != "evaluations"] == list(before.panels)
    assert after.findings == before.findings


def test_each_kind_and_a_fit_that_goes_on(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0)
    case.owned = True
    model, data = Judged(case), case.data("eval", count=3)
    trainer = case.made(max_epochs=1, validate=True)
    trainer.validate(model, data, verbose=False)
    trainer.fit(model, case.data(), data)
    trainer.test(model, data, verbose=False)
    trainer.predict(model, data)
    trainer.fit_loop.max_epochs = 2
    trainer.fit(model, case.data(), data)
    trainer.validate(model, data, verbose=False)
    kinds = [("validate", 0, 0), ("test", 0, 8), ("predict", 0, 8), ("validate", 1, 16)]
    assert evaluations(case) == kinds
    run = pytscope.open(case.folder)
    assert [(a.number, a.first_step) for a in run.shown.attempts] == [(0, 0), (1, 8)]
    assert run.shown.step.tolist() == list(range(16))
    assert (run.other_attempts, run.notes) == ((), ())


@pytest.mark.parametrize("only", [True, False])
@pytest.mark.parametrize("kind", [Model, Players])
def test_a_checkpoints_values_are_of_its_step(
    tmp_path: Path, kind: type[Model], only: bool
) -> None:
    case: Any = Case(tmp_path, pace=0)
    each = 3 if kind is Model else 6
    saver = ModelCheckpoint(
        tmp_path / "saved", every_n_train_steps=each, save_top_k=1, save_weights_only=only
    )
    trainer = case.fitted(kind, max_epochs=1, callbacks=[saver], enable_checkpointing=True)
    (path,) = (tmp_path / "saved").glob("*.ckpt")
    data = case.data("eval", count=3)
    trainer.validate(case.modules[0], data, ckpt_path=path, verbose=False)
    assert evaluations(case) == [("validate", 0, 6)]
    trainer.fit_loop.max_epochs = 2
    trainer.fit(case.modules[0], case.data())  # not from the checkpoint that was validated
    attempts = pytscope.open(case.folder).shown.attempts
    assert [attempt.first_step for attempt in attempts] == [0, 8]


def test_another_trainer_of_the_same_run(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0)
    trainer = case.fitted(Judged, max_epochs=1)
    trainer.save_checkpoint(tmp_path / "saved.ckpt")
    case.callback = None
    model, data = Judged(case), case.data("eval", count=3)
    case.made().test(model, data, ckpt_path=tmp_path / "saved.ckpt", verbose=False)
    assert evaluations(case) == [("test", 0, 8)]
    assert list(series(case, "test_loss")) == [7]
    assert len(case.timeline()) == 8


def test_results_are_the_same_and_nothing_is_left(tmp_path: Path) -> None:
    states = []
    for on in (False, True):
        case: Any = Case(tmp_path / str(on), pace=0, recorded=on)
        trainer = case.fitted(Judged, max_epochs=1)
        data = case.data("eval", count=3)
        found = trainer.test(case.modules[0], data, verbose=False)
        predicted = torch.stack(trainer.predict(case.modules[0], data)).tolist()
        states.append((state_of(case), found, predicted))
        own = [trainer.test_loop, trainer.predict_loop, trainer._checkpoint_connector, trainer]
        assert [name for one in own for name in ("run", "restore_model") if name in vars(one)] == []
        assert "log_metrics" not in vars(trainer._logger_connector)
    assert states[0] == states[1]


@pytest.mark.parametrize("error", [ValueError("this one"), KeyboardInterrupt()])
def test_what_ends_it_is_named(tmp_path: Path, error: BaseException) -> None:
    class Failing(Judged):
        def test_step(self, batch: Any, batch_idx: int) -> None:
            raise error

    case: Any = Case(tmp_path, pace=0)
    trainer = case.fitted(Failing, max_epochs=1)
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises((ValueError, SystemExit, KeyboardInterrupt)):
            trainer.test(case.modules[0], case.data("eval", count=3), verbose=False)
    finally:
        signal.signal(signal.SIGINT, before)
    (one,) = pytscope.open(case.folder).evaluations
    assert one.finished
    raised = [event["type"] for event in one.events if event["kind"] == "exception"]
    assert raised == [type(error).__name__]
    assert "run" not in vars(trainer.test_loop)
    assert case.timeline().attempts[-1].ended_well
    assert len(case.timeline()) == 8


def test_without_a_fit_a_test_is_all_there_is(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0)
    case.made().test(Judged(case), case.data("eval", count=3), verbose=False)
    run = pytscope.open(case.folder)
    assert (len(run.shown), [one.kind for one in run.evaluations]) == (0, ["test"])
    assert [note.kind for note in run.notes] == ["evaluations_alone"]


def test_it_is_recorded_without_code_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTSCOPE_RUN_DIR", str(tmp_path / "run"))
    case: Any = Case(tmp_path, pace=0, recorded=False)
    trainer = case.fitted(Judged, max_epochs=1)
    trainer.test(case.modules[0], case.data("eval", count=3), verbose=False)
    assert evaluations(case) == [("test", 0, 8)]
    assert len(case.timeline()) == 8


def test_where_nothing_can_be_recorded_it_tests_all_the_same(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0)
    case.folder.write_text("a file where the folder should be")
    found = case.made().test(Judged(case), case.data("eval", count=3), verbose=False)
    assert "test_loss" in found[0]
