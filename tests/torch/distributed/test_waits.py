"""What a rank waits for is `comm`, and nothing else is, under training that was not changed."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")

NAMES = (
    "plain",
    "without_buffers",
    "parameters_that_stay_unused",
    "static_graph",
    "hook_of_the_user",
    "accumulation",
    "collectives_inside_the_model",
    "sharded",
    "sharded_the_first_way",
    "by_hand",
)


@pytest.mark.parametrize("name", NAMES)
def test_recording_changes_nothing(outcomes: Any, name: str) -> None:
    for rank in outcomes:
        bare, recorded = rank["cases"][name]
        assert recorded["losses"] == bare["losses"]
        assert recorded["weights"] == bare["weights"]


def test_everything_is_the_original_again(outcomes: Any) -> None:
    assert [rank["changed"] for rank in outcomes] == [[]] * len(outcomes)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_slept_is_in_its_phase_and_not_waiting(outcomes: Any, name: str) -> None:
    for rank in outcomes:
        recorded = rank["cases"][name][1]
        phases = {name: np.array(ns) for name, ns in recorded["phases"].items()}
        assert np.array_equal(sum(phases.values()), recorded["wall"])
        assert len(recorded["wall"]) == len(recorded["slept"])
        for at, slept in enumerate(recorded["slept"]):
            taken = phases.get("gc", np.zeros(len(recorded["wall"]), int))[at]
            for phase, ns in slept.items():
                assert phases[phase][at] + taken >= ns, (phase, at)


@pytest.mark.parametrize("name", NAMES)
def test_the_others_wait_for_the_slowest(outcomes: Any, name: str) -> None:
    phases = [rank["cases"][name][1]["phases"] for rank in outcomes]
    *others, slowest = [np.array(of["comm"]) for of in phases]
    *theirs, longest = [np.array(of["backward"]) for of in phases]
    for waited, backward in zip(others, theirs, strict=True):
        assert np.median(waited - slowest) > 0
        assert np.median(longest - backward) > 0


def names_of(rank: Any, case: str) -> list[str]:
    return [name for name, _ in rank["cases"][case][1]["steps"][-1]]


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("plain", "optimizer data forward comm forward loss backward comm backward optimizer"),
        ("without_buffers", "optimizer data forward loss backward comm backward optimizer"),
        ("hook_of_the_user", "optimizer data forward loss backward comm backward optimizer"),
        (
            "accumulation",
            "optimizer " + 3 * "data forward loss backward " + "comm backward optimizer",
        ),
    ],
)
def test_waits_have_their_places(outcomes: Any, name: str, pattern: str) -> None:
    for rank in outcomes:
        seen = [name for name in names_of(rank, name) if name not in ("other", "gc")]
        whole = [name for name, _ in groupby(seen)]  # a collection in a phase cuts it in two
        assert whole == pattern.split()
