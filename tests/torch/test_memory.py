"""The device memory collector: its row, its resets, and machines without a device."""

from __future__ import annotations

import logging
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pytscope
from pytscope import Profiler
from pytscope.recording import harmless

torch = pytest.importorskip("torch", reason="tests what pytscope knows about torch")
memory = pytest.importorskip("pytscope_torch.memory", reason="pytscope-torch is not installed")

ROOT = Path(__file__).parents[2]
has_device = torch.cuda.is_available() or torch.backends.mps.is_available()
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
needs_none = pytest.mark.skipif(has_device, reason="needs a machine without an accelerator")


class Allocator:
    """The functions of `torch.cuda` that are read, over numbers that a test sets."""

    def __init__(self) -> None:
        self.now = self.peak = 0
        self.initialized = False

    def allocate(self, size: int) -> None:
        self.initialized = True
        self.now += size
        self.peak = max(self.peak, self.now)

    def memory_stats_as_nested_dict(self) -> dict[str, Any]:
        if not self.initialized:
            return {}
        allocated = {"current": self.now, "peak": self.peak}
        return {
            "allocated_bytes": {"all": allocated},
            "reserved_bytes": {"all": {"current": 2 * self.now, "peak": 2 * self.peak}},
        }

    def reset_peak_memory_stats(self) -> None:
        self.peak = self.now


def test_the_peak_stands_unless_asked_to_reset_it() -> None:
    device = Allocator()
    read = memory.allocator(device, reset=False)
    device.allocate(100)
    device.allocate(-60)
    assert read() == read() == (40, 80, 100)
    assert device.peak == 100


def test_reset_makes_the_peak_the_steps_own() -> None:
    device = Allocator()
    read = memory.allocator(device, reset=True)
    device.allocate(100)
    device.allocate(-60)
    assert read() == (40, 80, 100)
    assert read() == (40, 80, 40)


def test_a_device_nobody_used_yet_is_not_measured() -> None:
    device = Allocator()
    read = memory.allocator(device, reset=True)
    assert read() == (None, None, None)
    assert not device.initialized


def test_the_entry_point_names_the_collector() -> None:
    project = tomllib.loads((ROOT / "pytscope-torch" / "pyproject.toml").read_text())["project"]
    advertised = project["entry-points"]["pytscope.collectors"]
    assert list(advertised) == [memory.DeviceMemory.name]
    module, _, name = advertised["device_memory"].partition(":")
    assert getattr(import_module(module), name) is memory.DeviceMemory


@needs_none
def test_without_an_accelerator_start_says_so() -> None:
    with pytest.raises(RuntimeError, match="no accelerator"):
        memory.DeviceMemory().start({"memory": True})


@needs_none
def test_a_recording_goes_on_without_an_accelerator(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    harmless._said.clear()
    with (
        caplog.at_level(logging.WARNING, "pytscope"),
        Profiler(tmp_path, collectors=[memory.DeviceMemory()]) as prof,
        prof.step(),
    ):
        pass
    assert [r.message for r in caplog.records if "no accelerator" in r.message]
    run = pytscope.open(tmp_path)
    assert len(run.shown) == 1
    assert run.shown.memory == ()


@needs_cuda
def test_real_memory_is_recorded_in_bytes(tmp_path: Path) -> None:
    kept = []
    with Profiler(tmp_path, collect_memory=True, inline=True) as prof:
        for _ in range(4):
            with prof.step():
                kept.append(torch.zeros(1 << 20, dtype=torch.uint8, device="cuda"))
    _, allocated = pytscope.open(tmp_path).series("allocated")
    assert np.diff(allocated).tolist() == [1 << 20] * 3


@needs_cuda
@pytest.mark.parametrize(("mode", "same"), [(True, True), ("reset", False)])
def test_other_readers_keep_their_peak_unless_asked(
    tmp_path: Path, mode: bool | str, same: bool
) -> None:
    torch.cuda.reset_peak_memory_stats()
    torch.zeros(1 << 22, dtype=torch.uint8, device="cuda")
    peak = torch.cuda.max_memory_allocated()
    with Profiler(tmp_path, collect_memory=mode, inline=True) as prof, prof.step():
        pass
    assert (torch.cuda.max_memory_allocated() == peak) is same
