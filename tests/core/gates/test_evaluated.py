"""Budgets on values that evaluations outside of training found."""

from __future__ import annotations

from pathlib import Path

import pytest

import pytscope
from tests.core.gates.made import PLAIN, words
from tests.core.runs.reading import write
from tests.core.runs.test_evaluations import evaluation, trained


@pytest.mark.parametrize(("limit", "passed"), [(0.4, True), (0.6, False)])
@pytest.mark.parametrize("name", ["test_loss.last", "scalar.test_loss.last"])
def test_a_folder_with_a_test_alone_is_held_to_its_values(
    tmp_path: Path, name: str, limit: float, passed: bool
) -> None:
    run = write(tmp_path, evaluation(120))
    gate = pytscope.check(run, budgets=[f"{name} >= {limit}"])
    (one,) = gate.judged
    assert (one.value, gate.passed) == (0.5, passed)


@pytest.mark.parametrize("more", [{"fail_on": "high"}, {"also": "data.share <= 1%"}])
def test_what_needs_a_step_fails_there(tmp_path: Path, more: dict[str, str]) -> None:
    run = write(tmp_path, evaluation(120))
    budgets = ["test_loss.last >= 0.4", *filter(None, [more.get("also")])]
    gate = pytscope.check(run, budgets=budgets, fail_on=more.get("fail_on"))
    assert gate.judged[0].metric == "steps.rated"
    assert "all it holds are evaluations outside of a training" in gate.judged[0].reason


def test_an_evaluation_before_the_training_has_values_too(tmp_path: Path) -> None:
    run = write(tmp_path, [*evaluation(0), *trained(40, 50)])
    gate = pytscope.check(run, budgets=["test_loss.last >= 0.4"])
    assert [one.value for one in gate.judged] == [0.5]


def test_a_share_of_steps_says_where_that_of_the_wall_is() -> None:
    known = words(PLAIN)
    for name in ("eval", "checkpoint", "log", "compile"):
        assert known.metric(f"{name}.share").about.endswith(f"whole wall: budget.{name}.share")
        assert known.metric(f"budget.{name}.share") is not None
    assert "budget" not in known.metric("data.share").about
