"""AutoProfiler on loops whose phases are known: each has its true length, each step is one step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytscope.model.records import Flag
from tests.torch.auto.loops import LOOPS, UNTIMED
from tests.torch.auto.made import Case, check_count, check_times


@pytest.mark.parametrize("name", [name for name in LOOPS if name not in UNTIMED])
def test_phases_are_the_scripts_own(tmp_path: Path, name: str) -> None:
    case = Case(tmp_path)
    LOOPS[name](case)
    check_count(case)
    check_times(case)


def played(folder: Path, name: str, count: int = 12) -> Any:
    case = Case(folder, pace=0, count=count)
    LOOPS[name](case)
    return case


def records(folder: Path, name: str) -> list[Any]:
    return list(played(folder, name).timeline().records())


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("accumulation", [3]),
        ("accumulation_of_a_changing_number", [2, 3]),
        ("accumulation_with_a_rest", [2, 1]),
        ("accumulation_over_parts_of_a_batch", [2]),
        ("exception_in_forward", [1]),
        ("closure_over_a_loader", [1]),
        ("sharpness_aware", [2]),
        ("steps_told_by_hand_as_well", [1]),
        ("two_loaders", [1]),
        ("closure", [1]),
        ("line_search", [1]),
        ("two_players", [1]),
        ("two_optimizers_given", [1]),
        ("several_losses", [1]),
        ("gradient_penalty", [1]),
        ("recurrence_by_hand", [1]),
        ("reentrant_activation_checkpointing", [1]),
        ("batch_fetched_ahead", [1]),
        ("validation_with_gradients_between_steps", [1]),
        ("rollouts_in_training_mode", [1]),
        ("steps_inside_the_backward_pass", [1]),
    ],
)
def test_micro_batches(tmp_path: Path, name: str, pattern: list[int]) -> None:
    micro = [record.micro_batches for record in records(tmp_path, name)]
    assert micro == (pattern * len(micro))[: len(micro)]


@pytest.mark.parametrize(
    "name", ["scaled_steps_of_which_some_are_skipped", "fused_steps_of_which_some_are_skipped"]
)
def test_skipped_updates_are_flagged(tmp_path: Path, name: str) -> None:
    skipped = [bool(record.flags & Flag.SKIPPED) for record in records(tmp_path, name)]
    assert skipped == [i % 4 == 3 for i in range(12)]


@pytest.mark.parametrize(
    "name",
    [
        "exception_in_forward",
        "out_of_memory_in_forward",
        "out_of_memory_in_backward",
        "exception_in_the_optimizer",
        "exception_in_the_optimizer_without_a_loader",
        "exception_in_a_closure",
    ],
)
def test_steps_with_a_failed_try_are_flagged(tmp_path: Path, name: str) -> None:
    failed = [bool(record.flags & Flag.FAILED) for record in records(tmp_path, name)]
    assert failed == [i % 4 == 0 and i > 0 for i in range(12)]


def test_validation_before_training_is_part_of_startup(tmp_path: Path) -> None:
    startup = dict(played(tmp_path, "validation_before_training").timeline().attempts[0].startup)
    assert startup["eval"] > 0
    assert {"forward", "data"}.isdisjoint(startup)


def test_a_step_that_finish_cuts_is_shutdown(tmp_path: Path) -> None:
    (attempt,) = played(tmp_path, "finished_in_a_step").timeline().attempts
    assert {"data", "forward"} <= {name for name, _ in attempt.shutdown}


def test_an_interrupt_ends_the_attempt_and_is_named(tmp_path: Path) -> None:
    (attempt,) = played(tmp_path, "interrupted").timeline().attempts
    assert attempt.finished
    assert not attempt.ended_well
    assert "KeyboardInterrupt" in str(attempt.events)


def test_fetches_of_another_thread_are_spans(tmp_path: Path) -> None:
    case = played(tmp_path, "prefetching_thread")
    spans = case.timeline().spans()
    assert {(span.thread, span.phase) for span in spans} == {("prefetch", "data")}
    assert len(spans) == case.count + 1
    assert "data" not in case.timeline().phases
