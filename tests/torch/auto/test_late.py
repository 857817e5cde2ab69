"""Seams in modules that a program loads only while it is recorded."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.core.recording.truth import child
from tests.torch.auto.made import torch  # skips without pytscope-torch

import pytscope  # isort: skip
from pytscope_torch.seams import Undo, put  # isort: skip
from pytscope_torch.seams.late import Late  # isort: skip

NAME = "a_module_that_comes_late"


def replaced(module: Any) -> Undo:
    return put(module, "value", 2)


def test_a_module_is_met_when_it_has_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    undo: list[Undo] = []
    late = Late(undo)
    late.want(NAME, ("value",), replaced)
    late.look()
    assert NAME in late.wanted
    module: Any = ModuleType(NAME)
    monkeypatch.setitem(sys.modules, NAME, module)
    late.look()  # it is still loading
    assert NAME in late.wanted
    module.value = 1
    late.look()
    assert (module.value, late.wanted) == (2, {})
    undo.pop()()
    assert module.value == 1


def test_a_fault_of_ours_is_not_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    late = Late([])
    monkeypatch.setitem(sys.modules, NAME, ModuleType(NAME))

    def failing(module: Any) -> Undo:
        raise RuntimeError(module)

    late.want(NAME, (), failing)
    late.look()
    assert late.wanted == {}


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch has no distributed")
def test_distributed_checkpoints_loaded_after_the_start(tmp_path: Path) -> None:
    code = """
import sys, warnings
import torch
from pytscope.auto import AutoProfiler

folder = sys.argv[1]
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
profiler = AutoProfiler(folder, model, optimizer).start()
assert "torch.distributed.checkpoint" not in sys.modules
for step in range(20):
    if step == 3:
        import torch.distributed.checkpoint as saver
        original = saver.save
    model(torch.ones(1, 2)).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
assert saver.save is not original
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    saver.save({"model": model.state_dict()}, checkpoint_id=f"{folder}.saved")
optimizer.step()
profiler.finish()
assert saver.save is original
"""
    child(code, tmp_path / "run")
    assert "checkpoint" in pytscope.open(tmp_path / "run").rank(0).phases
