"""Compiled training: the same graphs with and without a recording, and phases that are there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.torch.auto.made import AutoProfiler  # skips where torch is missing

from tests.torch.auto import compiled_cases  # isort: skip

assert AutoProfiler
pytestmark = pytest.mark.slow
UNSEEN = {"forward_and_loss", "whole_step"}
"""Forward passes inside of a larger compiled region, of which nothing is seen from outside."""
LATE = {"whole_to_be_found": {0}, "in_place_after_the_start": {0}, "in_place_in_mid_training": {4}}
"""Steps whose forward pass comes before the call of the module is found."""
BY_STEPS = {"optimizer_step", "whole_step"}
"""Regions with the optimizer's hooks inside, which Dynamo runs as they are."""
SAME = ("weights", "modes", "random")
SLEEPING = [
    f"{case.__name__} {backend}"
    for case, backend in compiled_cases.WANTED
    if case in compiled_cases.SLEEPING
]
NAMES = [f"{case.__name__} {backend}" for case, backend in compiled_cases.WANTED]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("compiled")
    words = [sys.executable, compiled_cases.__file__, str(folder)]
    place = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    done = subprocess.run(words, capture_output=True, text=True, env=place, check=False)
    assert done.returncode == 0, done.stderr
    assert "recompile_limit" not in done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", NAMES)
def test_dynamo_and_weights_are_the_same(outcomes: Any, name: str) -> None:
    bare, recorded = outcomes[name]
    assert "error" not in bare | recorded
    assert {name: recorded[name] for name in SAME} == {name: bare[name] for name in SAME}
    assert recorded["graphs"] == bare["graphs"] > 0
    if name.split(maxsplit=1)[0] in BY_STEPS:
        assert recorded["breaks"] <= bare["breaks"]
    else:
        assert recorded["breaks"] == bare["breaks"]
        assert recorded["frames"] == bare["frames"]


@pytest.mark.parametrize("name", NAMES)
def test_steps_and_phases_are_there(outcomes: Any, name: str) -> None:
    recorded = outcomes[name][1]
    case = name.split(maxsplit=1)[0]
    steps = compiled_cases.STEPS * (2 if case == "in_place_in_mid_training" else 1)
    assert recorded["steps"] == steps
    assert {"backward", "optimizer"} <= set(recorded["phases"])
    unseen = set(range(steps)) if case in UNSEEN else LATE.get(case, set())
    assert recorded["forward"] == [i not in unseen for i in range(steps)]


@pytest.mark.parametrize("name", SLEEPING)
def test_phases_hold_what_their_operators_slept(outcomes: Any, name: str) -> None:
    """Phases sum to the step, so that none of it can be in another phase."""
    recorded = outcomes[name][1]
    assert recorded["exact"] == [0] * compiled_cases.STEPS
    assert len(recorded["slept"]) == compiled_cases.STEPS
    for step in recorded["slept"]:
        assert sorted(step) == ["backward", "forward"]
        assert all(seen >= slept > 0 for seen, slept in step.values()), step


def test_compiling_is_a_phase_of_its_own(outcomes: Any) -> None:
    assert "compile" in outcomes["whole_given_compiled inductor"][1]["phases"]
    assert "compile" in outcomes["recompiled aot_eager"][1]["phases"]
