"""Bookkeeping of waits on a device's clock; the host's stands in for it, no device is needed."""

from __future__ import annotations

import time
from typing import Any

import pytest

pytest.importorskip("torch", reason="tests pytscope-torch")
pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")

from pytscope_torch.device_waits import UNKNOWN, WAITS, DeviceWaits, cuda_event


class HostEvent:
    """An event on the host's clock, taken at once."""

    def __init__(self) -> None:
        self.ns = 0

    def record(self) -> None:
        self.ns = time.perf_counter_ns()

    def synchronize(self) -> None:
        assert self.ns

    def elapsed_time(self, end_event: Any, /) -> float:
        return (end_event.ns - self.ns) / 1e6


def step(waits: DeviceWaits, *blocked_s: float) -> list[Any]:
    for seconds in blocked_s:
        waits.open()
        time.sleep(seconds)
        waits.close()
    values: list[Any] = []
    waits(values)
    return values


def test_a_steps_waits_are_measured_from_its_begin() -> None:
    waits = DeviceWaits(HostEvent)
    began = time.perf_counter_ns()
    assert step(waits, 0.001) == []  # where the first step began is not known
    key, value = step(waits, 0.002, 0.001, 0.003)
    whole = time.perf_counter_ns() - began
    ready, release, blocked = value
    assert key is WAITS
    assert 3_000_000 <= blocked <= ready < release <= whole
    assert release - ready >= 3_000_000
    assert tuple(value) == (ready, release, blocked)  # read as often as one likes


def test_a_step_without_a_wait_has_no_sample() -> None:
    waits = DeviceWaits(HostEvent)
    step(waits)
    assert step(waits) == []
    assert step(waits, 0.001)[0] is WAITS


def test_without_a_device_nothing_is_stamped() -> None:
    waits = DeviceWaits(lambda: None)
    step(waits, 0.0)
    assert step(waits, 0.0) == []


class BrokenEvent(HostEvent):
    """An event of another device, or of a captured graph."""

    def elapsed_time(self, end_event: Any, /) -> float:
        raise RuntimeError


def test_events_that_tell_nothing_are_unknown() -> None:
    waits = DeviceWaits(BrokenEvent)
    step(waits)
    assert tuple(step(waits, 0.0)[1]) == UNKNOWN


def test_an_event_that_cannot_be_recorded_harms_nobody() -> None:
    def broken() -> Any:
        raise RuntimeError

    waits = DeviceWaits(broken)
    step(waits, 0.0)
    assert step(waits, 0.0) == []


def test_cuda_is_not_initialised_for_it() -> None:
    import torch

    if torch.cuda.is_initialized():
        pytest.skip("the program uses CUDA")
    assert cuda_event() is None
