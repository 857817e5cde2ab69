"""Trainers whose phases are known: each has its true length, each step is one of the Trainer's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.hf.made import EVAL, VERSION, Case, check_startup
from tests.torch.auto.made import check_count, check_times

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*torch.cpu.amp.autocast:FutureWarning"  # of the oldest accelerate
)
EVERYTHING = {
    "eval_strategy": "steps",
    "eval_steps": 3,
    "save_strategy": "steps",
    "save_steps": 4,
    "logging_strategy": "steps",
    "logging_steps": 2,
}
BY_EPOCH = dict.fromkeys(("eval_strategy", "save_strategy", "logging_strategy"), "epoch")
SITUATIONS: dict[str, tuple[int, dict[str, Any]]] = {
    "plain": (12, {}),
    "accumulation": (12, {"gradient_accumulation_steps": 3}),
    "accumulation_with_a_rest": (8, {"gradient_accumulation_steps": 3, "num_train_epochs": 3}),
    "several_epochs": (4, {"num_train_epochs": 3}),
    "everything": (12, EVERYTHING),
    "everything_accumulated": (24, {**EVERYTHING, "gradient_accumulation_steps": 2}),
    "everything_by_epoch": (4, {**BY_EPOCH, "num_train_epochs": 3}),
    "best_model_at_end": (8, {**BY_EPOCH, "num_train_epochs": 2, "load_best_model_at_end": True}),
    "evaluation_at_the_start": (8, {**EVERYTHING, "eval_on_start": True}),
    "clipping": (8, {"max_grad_norm": 0.1}),
    "no_clipping": (8, {"max_grad_norm": 0.0}),
    "batches_of_two": (16, {"per_device_train_batch_size": 2, "dataloader_drop_last": True}),
    "stream": (12, {"stream": True, "max_steps": 10}),
    "stream_accumulated": (
        12,
        {"stream": True, "max_steps": 5, "gradient_accumulation_steps": 2},
    ),
    "tokens": (8, {**EVERYTHING, "include_num_input_tokens_seen": True}),
    "metrics_by_batch": (8, {**EVERYTHING, "batch_eval_metrics": True}),
    "half_precision": (8, {**EVERYTHING, "bf16": True}),
}
MICRO = {
    "accumulation": [3],
    "accumulation_with_a_rest": [3, 3, 2] if VERSION >= (4, 46) else [3],
    "everything_accumulated": [2],
    "stream_accumulated": [2],
}
"""Micro-batches of the steps, where there is more than one each."""
ALIKE = ("several_epochs", "clipping", "no_clipping", "batches_of_two", "stream")
"""Situations in which nothing is recorded in another way than in one of the others."""


def situation(folder: Path, name: str, **more: Any) -> Case:
    samples, arguments = SITUATIONS[name]
    return Case(folder, samples, **arguments, **more)


@pytest.mark.parametrize("name", SITUATIONS)
def test_phases_are_the_trainers_own(tmp_path: Path, name: str) -> None:
    case = situation(tmp_path, name).train()
    check_count(case)
    check_times(case, skip=1 if "start" in name else 0)  # what startup holds, truth has in step 0
    timeline = case.timeline()
    assert timeline.step.tolist() == list(range(case.trainer.state.global_step))
    (attempt,) = timeline.attempts
    assert attempt.ended_well
    micro = [record.micro_batches for record in case.records()]
    assert micro == (MICRO.get(name, [1]) * len(micro))[: len(micro)]


@pytest.mark.parametrize("name", [name for name in SITUATIONS if name not in ALIKE])
def test_a_recorded_training_is_the_same_training(tmp_path: Path, name: str) -> None:
    states = [
        situation(tmp_path / str(on), name, pace=0, profiled=on).train().state()
        for on in (False, True)
    ]
    assert states[0] == states[1]


def test_neither_validation_nor_checkpoints_are_data(tmp_path: Path) -> None:
    """`data` is all that the training's fetches took, and no more than they can have taken."""
    case = situation(tmp_path, "everything").train()
    timeline = case.timeline()
    outside = [timeline.phase_ns(name) > 0 for name in ("eval", "checkpoint")]
    assert np.flatnonzero(outside[0]).tolist() == [3, 6, 9]
    assert np.flatnonzero(outside[1]).tolist() == [4, 8]
    beside = sum(timeline.phase_ns(name) for name in ("eval", "checkpoint", "log"))
    for step, slept in enumerate(case.truth.steps[:-1]):
        rest = sum(slept.get(name, 0) for name in ("eval", "checkpoint", "log"))
        assert beside[step] >= rest
        assert timeline.phase_ns("data")[step] <= timeline.wall_ns[step] - rest


def test_an_evaluation_before_training_is_part_of_startup(tmp_path: Path) -> None:
    case = situation(tmp_path, "evaluation_at_the_start").train()
    check_startup(case, eval=3 * EVAL)


def test_what_follows_the_last_step_is_shutdown(tmp_path: Path) -> None:
    case = situation(tmp_path, "best_model_at_end").train()
    (attempt,) = case.timeline().attempts
    shutdown = {name for name, _ in attempt.shutdown}
    assert {"eval", "checkpoint", "log"} <= shutdown
    assert not shutdown - {"eval", "checkpoint", "log", "other", "data", "gc"}
    slept = case.truth.steps[-1]
    for name in ("eval", "checkpoint", "log"):
        assert sum(ns for phase, ns in attempt.shutdown if phase == name) >= slept[name]
