"""A rank's place is what was told, what a mesh says, or not known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.torch.auto.made import torch  # skips without pytscope-torch

from pytscope_torch.topology import topology  # isort: skip

KNOWN = ("dp", "tp", "pp", "cp", "ep", "role", "source")


def place(outcomes: Any, name: str) -> list[dict[str, Any]]:
    return [{k: r["places"][name][k] for k in KNOWN if k in r["places"][name]} for r in outcomes]


def test_without_a_mesh_only_the_rank_is_known(outcomes: Any) -> None:
    ranks = range(len(outcomes))
    assert place(outcomes, "bare") == [{"source": "default"}] * len(outcomes)
    assert [rank["places"]["bare"]["rank"] for rank in outcomes] == list(ranks)
    assert {rank["places"]["bare"]["world"] for rank in outcomes} == {len(outcomes)}
    assert outcomes[0]["places"]["bare"]["backend"] == "gloo"


def test_a_mesh_gives_coordinates(outcomes: Any) -> None:
    assert place(outcomes, "mesh") == [
        {"dp": rank // 2, "tp": rank % 2, "source": "mesh"} for rank in range(len(outcomes))
    ]
    assert outcomes[0]["places"]["mesh"]["unseen"] == []
    assert any("tensor-parallel" in said for said in outcomes[0]["places"]["compiled"]["unseen"])


def test_replicas_of_shards_are_one_dimension(outcomes: Any) -> None:
    assert place(outcomes, "hybrid") == [
        {"dp": rank, "source": "mesh"} for rank in range(len(outcomes))
    ]
    assert outcomes[0]["places"]["hybrid"]["captured"] == ["fsdp2", "comm", "sync"]


def test_what_was_told_comes_first(outcomes: Any) -> None:
    (first, *_) = place(outcomes, "told")
    assert first == {"dp": 0, "tp": 0, "pp": 3, "role": "critic", "source": "user"}


def test_a_role_alone_tells_no_coordinates() -> None:
    assert topology([], {"role": "critic"})["source"] == "default"


def test_wrappers_are_named(outcomes: Any) -> None:
    assert outcomes[0]["places"]["ddp"]["captured"] == ["ddp", "comm", "sync"]


@pytest.mark.parametrize("told", [None, {}])
def test_one_rank_alone_has_no_place(told: Any) -> None:
    assert topology([torch.nn.Linear(1, 1)], told) == {}


def test_one_rank_alone_may_be_told_its_place() -> None:
    assert topology([], {"role": "actor"})["role"] == "actor"
