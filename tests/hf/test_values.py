"""What the Trainer logs is in the record, when it logs it and for the step it is of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.hf.made import VERSION, Case, torch
from tests.hf.test_phases import EVERYTHING

LOGGED = {**EVERYTHING, "logging_steps": 3, "include_num_input_tokens_seen": True}


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    case = Case(tmp_path_factory.mktemp("values"), 12, pace=0, **LOGGED)
    type(case.net).main_input_name = "x"
    try:
        return case.train()
    finally:
        del type(case.net).main_input_name


def series(case: Case, name: str) -> dict[int, float]:
    steps, values = case.run().series(name)
    return dict(zip(steps.tolist(), values.tolist(), strict=True))


def history(case: Case, name: str) -> dict[int, float]:
    """Of the step numbered `s` by the record, which is the one that makes the count `s + 1`."""
    return {e["step"] - 1: e[name] for e in case.trainer.state.log_history if name in e}


@pytest.mark.parametrize(
    ("name", "logged"),
    [("loss", "loss"), ("grad_norm", "grad_norm")],
)
def test_training_logs_have_their_own_cadence(case: Case, name: str, logged: str) -> None:
    assert series(case, name) == pytest.approx(history(case, logged))
    assert list(series(case, name)) == [2, 5, 8, 11]


def test_learning_rates_are_those_of_every_step(case: Case) -> None:
    """Not those that old versions of the Trainer log, of the step that follows."""
    expected = {step: 0.01 * (12 - step) / 12 for step in range(12)}
    assert series(case, "lr") == pytest.approx(expected)


def test_batches_of_a_resumed_training_are_those_of_the_whole_one(tmp_path: Path) -> None:
    marked = {"options": {"fingerprint_batches": True}, "save_steps": 2, "save_strategy": "steps"}
    whole = Case(tmp_path / "whole", 8, pace=0, optimizer=False, **marked).train()
    again = Case(tmp_path / "again", 8, pace=0, optimizer=False, **marked)
    again.train(resume_from_checkpoint=str(tmp_path / "whole" / "out" / "checkpoint-4"))
    name = "batch_samples_fingerprint"
    first, second = series(whole, name), series(again, name)
    assert list(first) == list(range(8))
    assert list(second) == [4, 5, 6, 7]
    assert {step: first[step] for step in second} == second


def test_metrics_of_evaluations_are_of_the_step_before(case: Case) -> None:
    for name in ("eval_loss", "eval_of_three"):
        assert series(case, name) == pytest.approx(history(case, name))
        assert list(series(case, name)) == [2, 5, 8, 11]


def test_tokens_are_those_of_each_step(case: Case) -> None:
    assert series(case, "tokens") == dict.fromkeys(range(12), 4)


def test_flops_so_far_come_with_the_loss(case: Case) -> None:
    assert list(series(case, "total_flos")) == [2, 5, 8, 11]


def test_what_a_user_logs_takes_no_name_that_means_something_else(tmp_path: Path) -> None:
    case = Case(tmp_path, 4, pace=0)

    def logging(_event: str, state: Any) -> None:
        values = {"tokens": 7.0, "mine": torch.tensor(2.0), "text": "no number", "yes": True}
        case.trainer.log({**values, "at": state.global_step})

    case.sleepy.failing = logging
    case.train()
    assert series(case, "logged/tokens") == dict.fromkeys(range(4), 7.0)
    assert series(case, "mine") == dict.fromkeys(range(4), 2.0)
    assert series(case, "at") == {0: 1, 1: 2, 2: 3, 3: 4}
    assert not {"tokens", "text", "yes"} & set(case.timeline().scalars)


def test_nothing_is_read_from_a_tensor_between_the_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many reads with the callback as without: the Trainer's own."""
    reads: list[int] = [0]
    item = torch.Tensor.item

    def counting(self: Any) -> Any:
        reads[0] += 1
        return item(self)

    monkeypatch.setattr(torch.Tensor, "item", counting)
    counts = []
    for on in (False, True):
        before = reads[0]
        Case(tmp_path / str(on), 12, pace=0, profiled=on, **EVERYTHING).train()
        counts.append(reads[0] - before)
    assert counts[0] == counts[1]
    assert counts[0] > 0 or VERSION < (4, 46)
