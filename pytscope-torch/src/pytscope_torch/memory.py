"""The `device_memory` collector: what the accelerator's allocator holds after each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

Bytes = int | None
Read = Callable[[], tuple[Bytes, ...]]


class DeviceMemory:
    """Samples the memory of this process on its current device.

    Columns, in bytes: `allocated`, `reserved` and `peak` on CUDA and XPU;
    `allocated` and `resident` on MPS. `peak` is the largest `allocated` since
    the peak was last reset: by whoever resets it, or with `memory="reset"` by
    this collector after every sample, which makes it the step's own.
    """

    name = "device_memory"

    def __init__(self) -> None:
        self._read: Read = _nothing

    def start(self, info: Mapping[str, Any]) -> Mapping[str, str]:
        """Choose the device.

        Args:
            info: What the recorder knows; `memory` is `True` or `"reset"`.

        Returns:
            The columns of a sample, all of kind `b`.

        Raises:
            RuntimeError: This machine has no accelerator that torch can use.
        """
        reset = info.get("memory") == "reset"
        if torch.cuda.is_initialized() or torch.cuda.is_available():
            self._read = allocator(torch.cuda, reset=reset)
        elif torch.backends.mps.is_available():
            self._read = _mps
            return {"allocated": "b", "resident": "b"}
        elif torch.xpu.is_available():
            self._read = allocator(torch.xpu, reset=reset)
        else:
            msg = "no accelerator that torch can use, so there is no device memory to sample"
            raise RuntimeError(msg)
        return {"allocated": "b", "reserved": "b", "peak": "b"}

    def sample(self) -> tuple[Bytes, ...]:
        """One value per column; None before the process first uses the device."""
        return self._read()

    def stop(self) -> None:
        """Nothing was changed, so there is nothing to undo."""
        self._read = _nothing


def allocator(device: Any, *, reset: bool) -> Read:
    """A reading of a caching allocator: `allocated`, `reserved`, `peak` bytes.

    Args:
        device: `torch.cuda`, or a module with the same functions.
        reset: Whether to reset the peak after each reading.
    """

    def read() -> tuple[Bytes, ...]:
        # The nested form: the flat one sorts and rebuilds some hundred entries a call.
        stats = device.memory_stats_as_nested_dict()
        if not stats:  # the device is not initialised, and reading must not do it
            return (None, None, None)
        allocated = stats["allocated_bytes"]["all"]
        row = (allocated["current"], stats["reserved_bytes"]["all"]["current"], allocated["peak"])
        if reset:
            device.reset_peak_memory_stats()
        return row

    return read


def _mps() -> tuple[Bytes, ...]:
    return (torch.mps.current_allocated_memory(), torch.mps.driver_allocated_memory())


def _nothing() -> tuple[Bytes, ...]:
    return ()
