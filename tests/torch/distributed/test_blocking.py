"""Whatever blocks a rank until others come is `comm`, once; what only starts something is not."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

import pytest

pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")

import torch  # after what may skip

if not torch.distributed.is_available():
    pytest.skip("torch was built without distributed", allow_module_level=True)

from pytscope_torch.seams.waits import COLLECTIVES, GROUPS


def waited(rank: Any, name: str) -> list[int]:
    return [ns for phase, ns in rank["steps"][name] if phase == "comm"]


def able(rank: Any) -> list[str]:
    """What this version of gloo can do."""
    return [name for name, took in rank["took"].items() if not isinstance(took, str)]


def test_what_blocks_is_a_wait_once(blocked: Any) -> None:
    assert [name for r in blocked for name in able(r) if len(waited(r, name)) != 1] == []


def test_a_wait_is_as_long_as_it_was(blocked: Any) -> None:
    first = blocked[0]  # the one that is not late, unless the machine has other things to do
    waits = [name for name in able(first) if first["took"][name] >= first["late"] / 2]
    assert len(waits) > len(able(first)) / 2
    for name in waits:
        (ns,), took = waited(first, name), first["took"][name]
        assert took / 2 < ns <= took, name


def test_a_start_is_no_wait(blocked: Any) -> None:
    for rank in blocked:
        for name in (n for n in able(rank) if rank["starts"][n]):
            phases = [phase for phase, _ in rank["steps"][name]]
            assert "comm" not in phases[: phases.index("between")], name


def test_most_was_tried(blocked: Any) -> None:
    seen = {name.partition(" ")[0] for name in able(blocked[0])}
    assert {"all_reduce", "all_gather", "broadcast", "barrier", "reduce", "scatter"} <= seen
    there = {name for name in (*COLLECTIVES, *GROUPS) if hasattr(torch.distributed, name)}
    own = {"init_process_group", "split_group", "recv", "recv_object_list"}
    tried = {name.partition(" ")[0] for name in blocked[0]["took"]}
    assert there - own <= tried


def test_whatever_can_be_only_started_is_known() -> None:
    there = vars(torch.distributed).items()
    public = {name: value for name, value in there if type(value) is FunctionType}
    asynchronous = {
        name
        for name, function in public.items()
        if not name.startswith("_") and "async_op" in inspect.signature(function).parameters
    }
    assert asynchronous <= set(COLLECTIVES)
