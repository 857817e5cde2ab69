"""DDP and FSDP2 at world size 1."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.torch.auto.made import MS, torch

if not torch.distributed.is_available():
    pytest.skip("torch was built without distributed", allow_module_level=True)

from tests.torch.auto import parallel_cases  # needs what is skipped above

NAMES = [case.__name__ for case in parallel_cases.CASES]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("parallel")
    root = Path(__file__).parents[3]
    words = [sys.executable, "-W", "error", "-m", parallel_cases.__name__, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", NAMES)
def test_recording_changes_nothing(outcomes: Any, name: str) -> None:
    bare, recorded = outcomes["cases"][name]
    for name_of in ("weights", "losses", "modes", "random"):
        assert recorded[name_of] == bare[name_of], name_of


def test_collectives_and_saves_are_the_originals_again(outcomes: Any) -> None:
    assert outcomes["changed"] == []


@pytest.mark.parametrize("name", NAMES)
def test_phases_have_their_places(outcomes: Any, name: str) -> None:
    """Not less than what slept in them; the rest is what parallel training costs."""
    recorded = outcomes["cases"][name][1]
    assert recorded["steps"] == recorded["wanted"] == parallel_cases.STEPS
    assert recorded["exact"] == [0] * parallel_cases.STEPS
    strays = set(recorded["phases"]) - set(recorded["times"])
    assert strays <= {"other", "gc", "comm", "compile", "loss"}
    for phase, (seen, real) in recorded["times"].items():
        assert seen >= real, (phase, seen / MS, real / MS)


def test_a_hook_that_ddp_is_given_later_works(outcomes: Any) -> None:
    bare, recorded = outcomes["cases"]["ddp_hook_registered_later"]
    assert recorded["called"] == bare["called"] >= parallel_cases.STEPS


@pytest.mark.parametrize("name", ["ddp", "fsdp", "fsdp_after_the_start"])
def test_the_kind_of_parallelism_is_told(outcomes: Any, name: str) -> None:
    told = outcomes["cases"][name][1]["told"]
    sharded = name.startswith("fsdp")
    assert (told["world"], told["backend"]) == (1, "gloo")
    assert told["wrappers"] == ["FSDPModule" if sharded else "DistributedDataParallel"]
    assert bool(told["meshes"]) == sharded


def test_collectives_that_the_loop_waits_for_are_communication(outcomes: Any) -> None:
    assert "comm" in outcomes["cases"]["own_collectives_and_checkpoint"][1]["phases"]
