"""What a Trainer evaluates outside of training: a part of the run, beside the training."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import weakref
from pathlib import Path
from typing import Any

import pytest

import pytscope
from tests.hf.made import Case, Net, PytscopeCallback, Samples, Truth, arguments_of
from tests.hf.made import transformers as hf

from pytscope_hf.outside import watch  # isort: skip  # after what skips without the package

BEST = {
    "eval_strategy": "steps",
    "eval_steps": 2,
    "save_strategy": "steps",
    "save_steps": 2,
    "load_best_model_at_end": True,
    "metric_for_best_model": "eval_of_three",
}


def evaluations(case: Case) -> list[tuple[str, int, int]]:
    """What was called, the attempt it belongs to, and steps of the model."""
    return [(one.kind, one.attempt, one.step) for one in case.run().evaluations]


def series(case: Case, name: str) -> dict[int, float]:
    steps, values = case.run().series(name)
    return dict(zip(steps.tolist(), values.tolist(), strict=True))


def other(case: Case) -> Any:
    return Samples(case.truth, 3, "eval")


def test_an_evaluation_after_training(tmp_path: Path) -> None:
    case = Case(tmp_path, 6).train()
    before = case.truth.steps[-1].copy()
    found = case.trainer.evaluate()
    assert evaluations(case) == [("evaluate", 0, 6)]
    assert series(case, "eval_loss") == pytest.approx({5: found["eval_loss"]})
    (one,) = case.run().evaluations
    wall = dict.fromkeys(("eval", "log", "other"), 0)
    for name, ns in one.segments:
        wall[name] += ns
    slept = {name: ns - before.get(name, 0) for name, ns in case.truth.steps[-1].items()}
    assert wall["eval"] >= slept["eval"] > 0
    assert wall["log"] >= slept["log"] > 0


def test_the_training_is_what_it_was(tmp_path: Path) -> None:
    case = Case(tmp_path, 6, pace=0).train()
    before = pytscope.analyze(case.folder, warmup=0)
    case.trainer.evaluate()
    case.trainer.predict(other(case))
    after = pytscope.analyze(case.folder, warmup=0)
    assert [p for p in after.panels if p.id != "evaluations"] == list(before.panels)
    assert after.findings == before.findings


def test_each_kind_and_a_training_that_goes_on(tmp_path: Path) -> None:
    case = Case(tmp_path, 6, pace=0, save_strategy="steps", save_steps=4)
    case.trainer.evaluate()
    case.train()
    case.trainer.predict(other(case))
    case.train(resume_from_checkpoint=str(tmp_path / "out" / "checkpoint-4"))
    case.trainer.evaluate({"a": other(case), "b": other(case)})
    kinds = [("evaluate", 0, 0), ("predict", 0, 6), ("evaluate", 1, 6)]
    assert evaluations(case) == kinds
    assert list(series(case, "test_of_three")) == []  # its step was done again
    assert list(series(case, "eval_a_loss")) == list(series(case, "eval_b_loss")) == [5]
    assert case.timeline().step.tolist() == [*range(6), 4, 5]
    assert (case.run().other_attempts, case.run().notes) == ((), ())


def test_of_the_best_model_the_values_are_those_of_its_step(tmp_path: Path) -> None:
    case = Case(tmp_path, 8, pace=0, **BEST)
    case.metrics = lambda *_, **__: {"of_three": 1.0}  # type: ignore[method-assign]  # never better
    case.trainer.compute_metrics = case.metrics
    case.train().trainer.evaluate(other(case), metric_key_prefix="held_out")
    assert evaluations(case) == [("evaluate", 0, 2)]
    assert list(series(case, "held_out_loss")) == [1]


def test_without_training_an_evaluation_is_all_there_is(tmp_path: Path) -> None:
    case = Case(tmp_path, 6, pace=0)
    case.trainer.evaluate()
    case.trainer.predict(other(case))
    run = case.run()
    assert (len(run.shown), [one.kind for one in run.evaluations]) == (0, ["evaluate", "predict"])
    assert [note.kind for note in run.notes] == ["evaluations_alone"]


def test_saving_afterwards_is_not_recorded(tmp_path: Path) -> None:
    case = Case(tmp_path, 6, pace=0).train()
    before = (case.folder / "rank00000.pts").read_bytes()
    case.trainer.save_model()
    assert (case.folder / "rank00000.pts").read_bytes() == before


def test_results_are_the_same(tmp_path: Path) -> None:
    states = []
    for on in (False, True):
        case = Case(tmp_path / str(on), 6, pace=0, profiled=on)
        case.trainer.evaluate()
        case.train()
        found = case.trainer.predict(other(case)).predictions.tolist()
        states.append((case.state(), found))
    assert states[0] == states[1]


@pytest.mark.parametrize("error", [ValueError("this one"), KeyboardInterrupt("stop")])
def test_what_ends_it_is_named(tmp_path: Path, error: BaseException) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise error

    case = Case(tmp_path, 6, pace=0).train()
    measure, case.trainer.compute_metrics = case.trainer.compute_metrics, failing
    with pytest.raises(type(error)):
        case.trainer.evaluate()
    case.trainer.compute_metrics = measure
    case.trainer.evaluate()
    first, second = case.run().evaluations
    raised = [event["type"] for event in first.events if event["kind"] == "exception"]
    assert raised == [type(error).__name__]
    assert (first.finished, second.finished) == (True, True)
    assert "eval_loss" in second.values
    assert case.timeline().attempts[-1].ended_well


def test_a_callback_that_is_added_later_sees_what_follows_training(tmp_path: Path) -> None:
    truth = Truth(0)
    arguments = arguments_of(tmp_path / "out", max_steps=4)
    samples = Samples(truth, 8)
    trainer = hf.Trainer(Net(truth), arguments, train_dataset=samples, eval_dataset=samples)
    trainer.add_callback(PytscopeCallback(tmp_path / "run"))
    trainer.train()
    trainer.evaluate()
    trainer.remove_callback(PytscopeCallback)
    trainer.evaluate()
    assert [one.step for one in pytscope.open(tmp_path / "run").evaluations] == [4]


def test_another_trainer_evaluates_while_one_trains(tmp_path: Path) -> None:
    inner = Case(tmp_path / "inner", 6, pace=0)
    case = Case(tmp_path, 6, pace=0)
    case.sleepy.failing = lambda _, state: (
        inner.trainer.evaluate() if state.global_step == 3 else None
    )
    case.train()
    assert evaluations(inner) == [("evaluate", 0, 0)]
    assert (case.run().evaluations, len(case.timeline())) == ((), 6)


def described(kind: type[Any]) -> list[Any]:
    methods = (kind.evaluate, kind.predict)  # type: ignore[attr-defined]  # of a Trainer
    return [(inspect.signature(m), m.__doc__, m.__module__, m.__qualname__) for m in methods]


def test_methods_are_described_as_they_were(tmp_path: Path) -> None:
    before = described(hf.Trainer)
    case = Case(tmp_path, 6, pace=0, kind=hf.Trainer)
    assert described(hf.Trainer) == before
    assert case.trainer.predict.__self__ is case.trainer


class Bare:
    """As a Trainer, of which every copy has its own methods."""

    def __init__(self) -> None:
        self.state = {"a": 1}
        self.callback_handler = None

    def evaluate(self) -> Any:
        return self

    def predict(self) -> Any:
        return self


def watched() -> tuple[Bare, list[tuple[Any, str]]]:
    """One that is watched, and what is told of it."""
    told: list[tuple[Any, str]] = []

    def record(trainer: Any, name: str, call: Any) -> Any:
        told.append((id(trainer), name))
        return call()

    bare = Bare()
    watch(bare, record)
    watch(bare, record)
    return bare, told


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))])
def test_copies_and_others_of_its_class_are_not_told_of(copied: Any) -> None:
    bare, told = watched()
    made = copied(bare)
    assert (made.evaluate(), made.predict(), bare.evaluate()) == (made, made, bare)
    assert told == [(id(bare), "evaluate")]


def test_a_method_that_is_all_that_is_left_of_it_is_told_of() -> None:
    bare, told = watched()
    predict = bare.predict
    del bare
    assert (id(predict()), "predict") == told[0]
    assert len(told) == 1


def test_it_keeps_no_trainer_alive_and_is_gone_with_it() -> None:
    before = dict(vars(Bare))
    bare, _ = watched()
    bare.evaluate()
    assert vars(Bare) != before
    gc.disable()
    try:
        gone = weakref.ref(bare)
        del bare
        assert gone() is None
    finally:
        gc.enable()
    assert vars(Bare) == before
