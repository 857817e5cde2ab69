"""The example in which one update blows up, run for real."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pytscope

from .running import run_example

RULE = "CROSS.CORRELATED_INSTABILITY"


def document(folder: Path, *options: str) -> Any:
    run_example("cross_signal.py", folder, *options)
    return json.loads(pytscope.analyze(folder / "runs" / "cross").to_json())


@pytest.fixture(scope="module")
def blown_up(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The run; another one where a busy machine made all step times uneven."""
    for _ in range(3):
        found = document(tmp_path_factory.mktemp("cross_signal"))
        axes = {axis["name"]: axis["number"] for axis in found["analyses"]["spikes"]["axes"]}
        if axes["step_time"] == 1:
            break
    return found


def test_the_moment_is_the_first_finding(blown_up: Any) -> None:
    first = blown_up["findings"][0]
    assert (first["rule"], first["severity"]) == (RULE, "high")
    assert first["title"] == "Correlated instability at steps 70\N{EN DASH}72"
    assert first["steps"] == [[70, 72]]


def test_all_three_axes_are_named_with_their_values(blown_up: Any) -> None:
    detail = blown_up["findings"][0]["detail"]
    for axis in ("loss 3.", "grad norm 4", "step time"):
        assert axis in detail
    assert "chance brings this in 0." in detail


def test_the_axes_are_set_beside_chance(blown_up: Any) -> None:
    (one,) = blown_up["analyses"]["instability"]["sets"]
    assert one["axes"] == ["loss", "grad_norm", "step_time"]
    assert one["corrected"] <= 0.01


def test_without_the_moment_there_is_no_such_finding(tmp_path: Path) -> None:
    found = document(tmp_path, "--healthy")
    assert RULE not in {finding["rule"] for finding in found["findings"]}
    loss = found["analyses"]["spikes"]["axes"][0]
    assert (loss["name"], loss["number"]) == ("loss", 0)
