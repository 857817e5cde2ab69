"""When an attempt begins and how it ends: resumed, begun anew, interrupted, or not at all."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pytscope
from pytscope.model.records import Flag
from tests.hf.made import VERSION, Case, PytscopeCallback, Samples, Sleepy, arguments_of, torch
from tests.hf.made import transformers as hf
from tests.torch.auto.made import check_count, check_times

pytestmark = pytest.mark.filterwarnings(
    "ignore:Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD:UserWarning"  # see conftest
)
SAVING = {"save_strategy": "steps", "save_steps": 5, "max_steps": 8}


def touched() -> dict[str, Any]:
    """What a recording puts something into."""
    from accelerate.optimizer import AcceleratedOptimizer
    from torch.utils.data import dataloader

    owners = [
        *(cls for cls in Case.__init__.__kwdefaults__["kind"].__mro__ if cls is not object),
        hf.trainer_callback.CallbackHandler,
        AcceleratedOptimizer,
        dataloader._BaseDataLoaderIter,
        dataloader._SingleProcessDataLoaderIter,
        torch.optim.Optimizer,
    ]
    return {f"{owner.__name__}.{k}": v for owner in owners for k, v in vars(owner).items()}


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    gc.collect()  # a Trainer that has gone takes with it what is over its methods
    before = touched()
    yield
    gc.collect()
    after = touched()
    assert [name for name in after if after[name] is not before.get(name)] == []
    assert before.keys() == after.keys()


def test_a_resume_continues_the_run(tmp_path: Path) -> None:
    first = Case(tmp_path, 16, **SAVING).train()
    second = Case(tmp_path, 16, **{**SAVING, "max_steps": 12})
    second.train(resume_from_checkpoint=str(tmp_path / "out" / "checkpoint-5"))
    assert first.trainer.state.global_step == 8
    timeline = second.timeline()
    assert timeline.step.tolist() == [*range(8), *range(5, 12)]
    assert [attempt.ended_well for attempt in timeline.attempts] == [True, True]
    redone = [record.step for record in second.records() if record.flags & Flag.REDONE]
    assert redone == [5, 6, 7]


def test_a_resume_with_nothing_left_to_train_is_no_attempt(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    saving = {**SAVING, "max_steps": 5}
    Case(tmp_path, 5, pace=0, **saving).train()
    again = Case(tmp_path, 5, pace=0, **saving)
    again.train(resume_from_checkpoint=True)
    assert again.timeline().step.tolist() == [*range(5)]
    assert len(again.timeline().attempts) == 1
    assert [record.message for record in caplog.records if record.name == "pytscope"] == [
        "pytscope: there was nothing left to train: the Trainer is at step 5; none was recorded"
    ]


def test_resumed_training_is_the_same_training(tmp_path: Path) -> None:
    states = []
    for on in (False, True):
        folder = tmp_path / str(on)
        Case(folder, 16, pace=0, profiled=on, **SAVING).train()
        again = Case(folder, 16, pace=0, profiled=on, **{**SAVING, "max_steps": 12})
        again.train(resume_from_checkpoint=True)
        states.append(again.state())
    assert states[0] == states[1]


def test_phases_of_a_resumed_attempt_are_its_own(tmp_path: Path) -> None:
    Case(tmp_path, 16, **SAVING).train()
    case = Case(tmp_path, 16, **{**SAVING, "max_steps": 12})
    case.folder = tmp_path / "resumed"
    case.callback.run_dir = case.folder
    case.train(resume_from_checkpoint=True)
    assert case.timeline().step.tolist() == [*range(8, 12)]
    check_count(case)
    check_times(case, skip=1)  # the first step skips what has been trained on


def test_trained_twice_is_recorded_twice(tmp_path: Path) -> None:
    case = Case(tmp_path, 6, pace=0)
    case.train().train()
    run = case.run()
    assert len(run.rank(0)) == 6
    assert run.rank(0).attempts[-1].ended_well
    assert (tmp_path / "run" / "rank00000.pts").read_bytes().count(b'"b":"end"') == 2


FAILURES: dict[str, Callable[[Case, BaseException], None]] = {}


def failure(place: Callable[[Case, BaseException], None]) -> Callable[[Case, BaseException], None]:
    FAILURES[place.__name__] = place
    return place


def after(calls: int, error: BaseException) -> Callable[..., None]:
    left = [calls]

    def fail(*_args: Any, **_around: Any) -> None:
        left[0] -= 1
        if not left[0]:
            raise error

    return fail


@failure
def in_the_forward_pass(case: Case, error: BaseException) -> None:
    case.net.failing = after(5, error)


@failure
def in_a_sample(case: Case, error: BaseException) -> None:
    case.samples.failing = after(6, error)  # the loader is one ahead


@failure
def in_a_callback(case: Case, error: BaseException) -> None:
    case.sleepy.failing = after(4, error)


@failure
def in_the_metrics(case: Case, error: BaseException) -> None:
    fail = after(2, error)

    def metrics(_predicted: Any) -> dict[str, float]:
        fail()
        return {}

    case.trainer.compute_metrics = metrics


@failure
def in_the_optimizer(case: Case, error: BaseException) -> None:
    case.optimizer.failing = after(5, error)


@pytest.mark.parametrize(
    ("place", "kind"),
    [("in_the_forward_pass", ValueError), *((place, KeyboardInterrupt) for place in FAILURES)],
)
def test_an_exception_ends_the_attempt_and_is_named(
    tmp_path: Path, place: str, kind: type[BaseException]
) -> None:
    case = Case(tmp_path, 12, pace=0, eval_strategy="steps", eval_steps=2)
    FAILURES[place](case, kind("no more of this"))
    with pytest.raises(kind):
        case.train()
    assert case.callback.profiler is None
    (attempt,) = case.timeline().attempts
    assert len(case.timeline()) == 4
    assert attempt.finished
    assert not attempt.ended_well
    assert kind.__name__ in str(attempt.events)
    assert "no more of this" in str(attempt.events)


def test_after_an_exception_training_goes_on_in_a_new_attempt(tmp_path: Path) -> None:
    case = Case(tmp_path, 12, pace=0, **{**SAVING, "save_steps": 2})
    in_the_forward_pass(case, ValueError("once"))
    with pytest.raises(ValueError, match="once"):
        case.train()
    case.train(resume_from_checkpoint=True)
    first, second = case.timeline().attempts
    assert (first.ended_well, second.ended_well) == (False, True)
    assert case.timeline().step.tolist()[-4:] == [4, 5, 6, 7]


def test_an_end_that_nobody_told_of_is_found_when_the_trainer_is_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an interrupt between two statements of the loop, where nothing is around it."""
    monkeypatch.setattr("pytscope_hf.seams.called_by_loop", lambda _: False)
    case = Case(tmp_path, 12, pace=0)
    in_the_forward_pass(case, KeyboardInterrupt("unseen"))
    with pytest.raises(KeyboardInterrupt):
        case.train()
    assert case.callback.profiler is not None
    case.trainer.evaluate()
    assert case.callback.profiler is None
    (attempt,) = case.timeline().attempts
    assert not attempt.ended_well
    assert "the training loop was left" in str(attempt.events)


def test_it_is_found_while_another_trainer_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as blind:
        blind.setattr("pytscope_hf.seams.called_by_loop", lambda _: False)
        case = Case(tmp_path, 12, pace=0)
        in_the_forward_pass(case, KeyboardInterrupt("unseen"))
        with pytest.raises(KeyboardInterrupt):
            case.train()
    Case(tmp_path / "b", 6, pace=0, profiled=False, eval_strategy="steps", eval_steps=2).train()
    assert case.callback.profiler is None
    assert "the training loop was left" in case.events()


def test_an_exception_in_an_event_between_epochs_ends_the_attempt(tmp_path: Path) -> None:
    case = Case(tmp_path, 4, pace=0, num_train_epochs=3)
    case.sleepy.on_epoch_begin = after(2, ValueError("no more of this"))
    with pytest.raises(ValueError, match="no more"):
        case.train()
    assert case.callback.profiler is None
    assert len(case.timeline()) == 4
    assert "no more of this" in case.events()


def test_what_ends_another_training_is_nothing_to_this_one(tmp_path: Path) -> None:
    """Of the same class, in another thread."""
    case = Case(tmp_path, 6, pace=0)
    other = Case(tmp_path / "b", 6, pace=0, profiled=False)
    in_the_forward_pass(other, ValueError("theirs"))
    failed: list[Any] = []

    def train_the_other() -> None:
        with pytest.raises(ValueError, match="theirs") as caught:
            other.train()
        failed.append(caught)

    def at_step(_event: str, state: Any) -> None:
        if state.global_step == 3:
            thread = threading.Thread(target=train_the_other)
            thread.start()
            thread.join()

    case.sleepy.failing = at_step
    case.train()
    assert failed
    assert case.timeline().step.tolist() == list(range(6))
    assert [attempt.ended_well for attempt in case.timeline().attempts] == [True]


def out_of_memory(case: Case, when: Callable[[int], bool]) -> None:
    """Memory for batches of one sample, at most; later ones are the first to be too large."""
    seen = [0]

    def failing(x: Any) -> None:
        seen[0] += 1
        if len(x) > 1 and when(seen[0]):
            raise RuntimeError("CUDA out of memory.")

    case.net.failing = failing


def greedy(folder: Path, **more: Any) -> Case:
    size = {"per_device_train_batch_size": 2, "auto_find_batch_size": True}
    return Case(folder, 6, **size, **more)


def attempts_of(timeline: Any) -> list[bool]:
    return [attempt.ended_well for attempt in timeline.attempts]


def test_a_first_step_that_is_tried_again_is_one_attempt(tmp_path: Path) -> None:
    case = greedy(tmp_path)
    out_of_memory(case, lambda _: True)
    case.train()
    timeline = case.timeline()
    assert attempts_of(timeline) == [True]
    assert timeline.step.tolist() == list(range(6))
    assert [bool(ns) for ns in timeline.phase_ns("failed")] == [True] + [False] * 5
    assert "out of memory" in case.events()
    assert case.callback.profiler is None


def test_steps_that_are_begun_anew_are_another_attempt(tmp_path: Path) -> None:
    case = greedy(tmp_path, pace=0)
    out_of_memory(case, lambda seen: seen > 2)
    case.train()
    timeline = case.timeline()
    assert timeline.step.tolist() == list(range(6))
    assert attempts_of(timeline) == [True]
    written = (tmp_path / "run" / "rank00000.pts").read_bytes()
    assert b"memory ran out after some steps" in written
    assert case.run().other_attempts == (0,)


def test_what_an_exception_cuts_short_gets_no_advice(tmp_path: Path) -> None:
    case = Case(tmp_path, 6, pace=0, eval_strategy="steps", eval_on_start=True)
    case.net.failing = after(1, ValueError("at once"))
    with pytest.raises(ValueError, match="at once"):
        case.train()
    (attempt,) = case.timeline().attempts
    assert [event for event in attempt.events if event["kind"] == "warning"] == []


def test_prediction_in_training_is_evaluation(tmp_path: Path) -> None:
    case = Case(tmp_path, 8)
    case.sleepy.failing = lambda _, state: (
        case.trainer.predict(Samples(case.truth, 3, "eval")) if state.global_step == 4 else None
    )
    case.train()
    check_count(case)
    check_times(case, skip=0)
    assert (case.timeline().phase_ns("eval") > 0).tolist() == [i == 4 for i in range(8)]


def test_training_goes_on_when_nothing_can_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").write_text("a file where the folder should be")
    case = Case(tmp_path, 6, pace=0).train()
    assert case.trainer.state.global_step == 6

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("another transformers")

    monkeypatch.setattr("pytscope_hf.seams.look_outs", broken)
    case = Case(tmp_path / "b", 6, pace=0).train()
    assert case.trainer.state.global_step == 6


def test_an_optimizer_that_is_none_of_torchs_makes_steps(tmp_path: Path) -> None:
    class Own(torch.optim.Optimizer):
        """Steps where no hook sees it, as engines with a loop of their own do."""

        def __init__(self, parameters: Any) -> None:
            super().__init__(parameters, {"lr": 0.1})

        def _patch_step_function(self) -> None:
            self._zero_grad_profile_name = "Own"

        def step(self, *_: Any) -> None:
            """Steps."""

    case = Case(tmp_path, 6, pace=0, optimizer=False)
    case.trainer.optimizer = Own(case.net.parameters())
    case.train()
    assert case.timeline().step.tolist() == list(range(6))


@pytest.mark.filterwarnings("ignore::UserWarning")  # Dynamo's, of what it traces
def test_every_step_is_there_when_the_model_is_compiled(tmp_path: Path) -> None:
    torch.compiler.reset()
    config = hf.GPT2Config(vocab_size=32, n_positions=8, n_embd=8, n_layer=1, n_head=2)
    rows = [{"input_ids": [1, 2, 3], "labels": [1, 2, 3]} for _ in range(6)]
    compiled = {"torch_compile": True, "torch_compile_backend": "eager"}
    hf.Trainer(
        hf.GPT2LMHeadModel(config),
        arguments_of(tmp_path / "out", **compiled),
        train_dataset=rows,
        callbacks=[PytscopeCallback(tmp_path / "run")],
    ).train()
    timeline = pytscope.open(tmp_path / "run").rank(0)
    assert timeline.step.tolist() == list(range(6))
    assert {"data", "forward", "backward", "optimizer"} <= set(timeline.phases)
    torch.compiler.reset()


@pytest.mark.skipif(VERSION < (4, 46), reason="its tokenizer argument has another name")
def test_generation_is_evaluation(tmp_path: Path) -> None:
    config = hf.T5Config(
        vocab_size=32,
        d_model=8,
        d_kv=4,
        d_ff=8,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
    )
    model = hf.T5ForConditionalGeneration(config)
    rows = [{"input_ids": [i + 3, 4, 5], "labels": [5, 4, 1]} for i in range(8)]
    arguments = arguments_of(
        tmp_path / "out",
        kind=hf.Seq2SeqTrainingArguments,
        max_steps=6,
        predict_with_generate=True,
        generation_max_length=6,
        eval_strategy="steps",
        eval_steps=3,
    )
    trainer = hf.Seq2SeqTrainer(
        model,
        arguments,
        train_dataset=rows,
        eval_dataset=rows[:2],
        callbacks=[PytscopeCallback(tmp_path / "run")],
    )
    trainer.train()
    timeline = pytscope.open(tmp_path / "run").rank(0)
    assert timeline.step.tolist() == list(range(6))
    assert (timeline.phase_ns("eval") > 0).tolist() == [i == 3 for i in range(6)]
    assert "no_grad" not in timeline.phases


def test_somebody_elses_failing_callback_is_not_ours(tmp_path: Path) -> None:
    case = Case(tmp_path, 6, pace=0)
    assert isinstance(case.sleepy, Sleepy)
    case.sleepy.failing = after(3, RuntimeError("theirs"))
    with pytest.raises(RuntimeError, match="theirs"):
        case.train()
