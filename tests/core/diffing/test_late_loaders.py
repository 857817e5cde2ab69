"""Loaders that came later than the rest was told, beside those of another run."""

from __future__ import annotations

import copy
from typing import Any

import attrs

from pytscope.diffing.differences import differences
from pytscope.model.comparison import ABSENT, Difference, Likelihood
from pytscope.runs.run import Run
from tests.core.diffing.parting import ENVIRONMENT, made

LATE = {"kind": "loader", "t": 5, "after_steps": 8, "batch_size": 4, "generator_seed": 3}


def with_late(*events: dict[str, Any], run: Run | None = None, **more: Any) -> Run:
    run = made(**more) if run is None else run
    (timeline,) = run.timelines
    *before, last = timeline.attempts
    told = attrs.evolve(last, events=(*last.events, *events))
    return attrs.evolve(run, timelines=(timeline.select(timeline.step >= 0, (*before, told)),))


def found(*runs: Run) -> dict[str, Difference]:
    told = {one.key: one for one in differences(runs, (0, 1))}
    return {key: one for key, one in told.items() if key.startswith("torch.loaders")}


def test_what_they_were_made_with_is_compared() -> None:
    assert found(with_late(LATE), with_late(LATE)) == {}
    told = found(with_late(LATE), with_late(LATE | {"batch_size": 8}))
    assert set(told) == {"torch.loaders[1].batch_size"}
    assert told["torch.loaders[1].batch_size"].values == (4, 8)
    assert told["torch.loaders[1].batch_size"].likelihood is Likelihood.YES


def test_so_is_the_step_from_which_they_are_used() -> None:
    (one,) = found(with_late(LATE), with_late(LATE | {"after_steps": 9})).values()
    assert (one.key, one.values) == ("torch.loaders[1].after_steps", (8, 9))
    assert one.likelihood is Likelihood.PERHAPS


def test_of_one_that_a_run_does_not_have_what_is_new_is_told() -> None:
    told = found(with_late(LATE, LATE | {"after_steps": 9, "generator_seed": 4}), made())
    assert {key: one.values for key, one in told.items()} == {
        "torch.loaders[1].after_steps": (8, ABSENT),
        "torch.loaders[1].batch_size": (4, ABSENT),
        "torch.loaders[1].generator_seed": (3, ABSENT),
        "torch.loaders[2].after_steps": (9, ABSENT),
        "torch.loaders[2].generator_seed": (4, ABSENT),
    }


def test_those_of_steps_that_the_other_run_never_made_are_not() -> None:
    late = with_late(LATE | {"after_steps": 20})
    short = {"loss": [1.0] * 20, "batches": None, "rate": None, "attempts": [(0, 20)]}
    assert found(late, made(**short)) == {}
    assert found(late, made()) != {}


def test_nor_those_after_as_many_as_are_told() -> None:
    full = with_late(LATE, LATE | {"after_steps": 9, "batch_size": 2, "last": True})
    further = LATE | {"after_steps": 12, "batch_size": 1}
    more = with_late(LATE, LATE | {"after_steps": 9, "batch_size": 2}, further)
    assert found(full, more) == {}


def test_nor_of_runs_that_go_on_from_elsewhere() -> None:
    assert found(with_late(LATE), made(attempts=[(0, 12), (12, 12)])) == {}


def test_nor_of_runs_that_another_version_recorded() -> None:
    old = copy.deepcopy(ENVIRONMENT)
    old["packages"]["pytscope-torch"] = "0.2.0"
    assert found(with_late(LATE), made(provenance=old)) == {}


def test_odd_ones_do_not_matter() -> None:
    odd = [{"kind": "loader"}, {"kind": "loader", "after_steps": None}, LATE | {"x": {"y": [1]}}]
    assert set(found(with_late(*odd), with_late(LATE))) == {"torch.loaders[1].x.y"}
