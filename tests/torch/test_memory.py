"""The device memory collector: its row, its resets, and machines without a device."""

from __future__ import annotations

import logging
import tomllib
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pytscope
from pytscope import Profiler
from pytscope.recording import harmless

torch = pytest.importorskip("torch", reason="tests what pytscope knows about torch")
memory = pytest.importorskip("pytscope_torch.memory", reason="pytscope-torch is not installed")

from pytscope_torch.host import HostMemory  # noqa: E402  # needs what is skipped above

ROOT = Path(__file__).parents[2]
has_device = torch.cuda.is_available() or torch.backends.mps.is_available()
needs_none = pytest.mark.skipif(has_device, reason="needs a machine without an accelerator")


class Allocator:
    """The functions of `torch.cuda` that are read, over numbers that a test sets."""

    def __init__(self) -> None:
        self.now = self.peak = self.reads = 0
        self.initialized = False

    def allocate(self, size: int) -> None:
        self.initialized = True
        self.now += size
        self.peak = max(self.peak, self.now)

    def memory_stats_as_nested_dict(self) -> dict[str, Any]:
        if not self.initialized:
            return {}
        allocated = {"current": self.now, "peak": self.peak}
        self.reads += 1
        return {
            "allocated_bytes": {"all": allocated},
            "reserved_bytes": {"all": {"current": 2 * self.now, "peak": 2 * self.peak}},
            "active_bytes": {"all": {"current": self.now + 8}},
            "inactive_split_bytes": {"all": {"current": 16}},
            "num_alloc_retries": 3,
            "num_ooms": 1,
        }

    def current_device(self) -> int:
        return 0

    def get_device_properties(self, _index: int) -> Any:
        return SimpleNamespace(name="stand-in", total_memory=1 << 30)

    def reset_peak_memory_stats(self) -> None:
        self.peak = self.now


def test_the_peak_stands_unless_asked_to_reset_it() -> None:
    device = Allocator()
    read = memory.allocator(device, reset=False)
    device.allocate(100)
    device.allocate(-60)
    assert read()[:3] == read()[:3] == (40, 80, 100)
    assert device.peak == 100


def test_reset_makes_the_peak_the_steps_own() -> None:
    device = Allocator()
    read = memory.allocator(device, reset=True)
    device.allocate(100)
    device.allocate(-60)
    assert read()[:3] == (40, 80, 100)
    assert read()[:3] == (40, 80, 40)


def test_one_read_of_the_statistics_gives_the_whole_row() -> None:
    device = Allocator()
    device.allocate(100)
    assert memory.allocator(device, reset=False)() == (100, 200, 100, 108, 16, 3, 1)
    assert device.reads == 1


def test_statistics_that_a_device_does_not_count_are_absent() -> None:
    device = SimpleNamespace(
        memory_stats_as_nested_dict=lambda: {
            "allocated_bytes": {"all": {"current": 1, "peak": 3}},
            "reserved_bytes": {"all": {"current": 2}},
        }
    )
    assert memory.allocator(device, reset=False)() == (1, 2, 3, None, None, None, None)


def test_the_capacity_is_noted_once_the_device_is_in_use() -> None:
    device, noted = Allocator(), []
    read = memory.allocator(device, reset=False, note=lambda *event: noted.append(event))
    read()
    assert noted == []
    device.allocate(1)
    read()
    read()
    about = {"where": "device", "name": "stand-in", "total_bytes": 1 << 30}
    assert noted == [("capacity", about)]


def test_a_device_nobody_used_yet_is_not_measured() -> None:
    device = Allocator()
    read = memory.allocator(device, reset=True)
    assert read() == memory.NOTHING
    assert not device.initialized


def test_the_entry_points_name_the_collectors() -> None:
    project = tomllib.loads((ROOT / "pytscope-torch" / "pyproject.toml").read_text())["project"]
    advertised = project["entry-points"]["pytscope.collectors"]
    for collector in (memory.DeviceMemory, HostMemory):
        module, _, name = advertised.pop(collector.name).partition(":")
        assert getattr(import_module(module), name) is collector
    assert not advertised


@needs_none
def test_without_an_accelerator_start_says_so() -> None:
    with pytest.raises(RuntimeError, match="no accelerator"):
        memory.DeviceMemory().start({"memory": False})


@needs_none
def test_asked_for_memory_in_general_its_absence_is_an_event_not_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Profiler(tmp_path, collect_memory=True, inline=True) as prof:
        for _ in range(3):
            with prof.step():
                pass
    assert [r.message for r in caplog.records] == []
    timeline = pytscope.open(tmp_path).shown
    (told,) = (e for e in timeline.attempts[0].events if e.get("where") == "device")
    assert told["missing"] == memory.NO_DEVICE
    assert "rss" in timeline.memory
    assert "allocated" not in timeline.memory


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


@pytest.mark.gpu
def test_real_memory_is_recorded_in_bytes(tmp_path: Path) -> None:
    kept = []
    with Profiler(tmp_path, collect_memory=True, inline=True) as prof:
        for _ in range(4):
            with prof.step():
                kept.append(torch.zeros(1 << 20, dtype=torch.uint8, device="cuda"))
    _, allocated = pytscope.open(tmp_path).series("allocated")
    assert np.diff(allocated).tolist() == [1 << 20] * 3


@pytest.mark.gpu
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
