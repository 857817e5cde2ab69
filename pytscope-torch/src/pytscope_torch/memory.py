"""The `device_memory` collector: what the accelerator's allocator holds after each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

Values = tuple[int | None, ...]
Read = Callable[[], Values]
NO_DEVICE = "no accelerator that torch can use"
SIZES = ("allocated", "reserved", "peak", "active", "inactive_split")
COUNTS = ("num_alloc_retries", "num_ooms")
NOTHING = (None,) * (len(SIZES) + len(COUNTS))


class DeviceMemory:
    """Samples the memory of this process on its current device.

    Columns on CUDA and XPU, in bytes: `allocated`, what tensors hold;
    `reserved`, what the allocator holds for them; `peak`, the largest
    `allocated` since the peak was last reset, by whoever resets it, or with
    `memory="reset"` by this collector after every sample, which makes it the
    step's own; `active`, `allocated` with what is freed but still waited for on
    a stream; `inactive_split`, holes in segments, which cannot be given back.
    And as integers, since the process began: `num_alloc_retries`, how often the
    cache was flushed because an allocation failed; `num_ooms`, how often that
    did not help. On MPS: `allocated` and `resident`, in bytes.

    The event `capacity` tells the device's name and how many bytes it has.
    """

    name = "device_memory"

    def __init__(self) -> None:
        self._read: Read = _nothing

    def start(self, info: Mapping[str, Any]) -> Mapping[str, str]:
        """Choose the device.

        Args:
            info: What the recorder knows; `memory` is `True` or `"reset"`, or
                false when the collector was asked for by its name; `note` takes
                an event.

        Returns:
            The columns of a sample; none on a machine without a device that is
            recorded with `memory`, which is for whatever memory there is.

        Raises:
            RuntimeError: This machine has no accelerator that torch can use.
        """
        memory = info.get("memory")
        reset = memory == "reset"
        note = info.get("note") or _unnoted
        # Counted, not asked for: that asks the driver, after which a script that was only just
        # begun could neither choose its devices nor use them in a process that it forks.
        if torch.cuda.is_initialized() or torch.cuda.device_count():
            self._read = allocator(torch.cuda, reset=reset, note=note)
        elif torch.backends.mps.is_available():
            self._read = _mps
            note("capacity", _mps_capacity())
            return {"allocated": "b", "resident": "b"}
        elif torch.xpu.is_available():
            self._read = allocator(torch.xpu, reset=reset, note=note)
        elif memory:
            note("capacity", {"where": "device", "missing": NO_DEVICE})
            return {}
        else:
            msg = f"{NO_DEVICE}, so there is no device memory to sample"
            raise RuntimeError(msg)
        return {**dict.fromkeys(SIZES, "b"), **dict.fromkeys(COUNTS, "i")}

    def sample(self) -> Values:
        """One value per column; None before the process first uses the device."""
        return self._read()

    def stop(self) -> None:
        """Nothing was changed, so there is nothing to undo."""
        self._read = _nothing


def allocator(
    device: Any, *, reset: bool, note: Callable[[str, dict[str, Any]], object] | None = None
) -> Read:
    """A reading of a caching allocator: one value for each of `SIZES` and `COUNTS`.

    Args:
        device: `torch.cuda`, or a module with the same functions.
        reset: Whether to reset the peak after each reading.
        note: Takes the event `capacity`, at the first reading that finds the
            device in use.
    """
    noted = note is None

    def read() -> Values:
        nonlocal noted
        # The nested form: the flat one sorts and rebuilds some hundred entries a call.
        stats = device.memory_stats_as_nested_dict()
        if not stats:  # the device is not initialised, and reading must not do it
            return NOTHING
        if not noted and note is not None:
            noted = True
            note("capacity", _capacity(device))
        row = _row(stats)
        if reset:
            device.reset_peak_memory_stats()
        return row

    return read


def _row(stats: Mapping[str, Any]) -> Values:
    allocated = stats["allocated_bytes"]["all"]
    return (
        allocated["current"],
        stats["reserved_bytes"]["all"]["current"],
        allocated["peak"],
        _now(stats, "active_bytes"),
        _now(stats, "inactive_split_bytes"),
        stats.get("num_alloc_retries"),
        stats.get("num_ooms"),
    )


def _now(stats: Mapping[str, Any], name: str) -> int | None:
    """A current size, or None where this device's allocator does not count it."""
    found: int | None = stats.get(name, {}).get("all", {}).get("current")
    return found


def _capacity(device: Any) -> dict[str, Any]:
    """The current device; it is in use already, so that asking initialises nothing."""
    about = device.get_device_properties(device.current_device())
    return {"where": "device", "name": about.name, "total_bytes": about.total_memory}


def _mps_capacity() -> dict[str, Any]:
    told: dict[str, Any] = {"where": "device", "name": "mps"}
    most = getattr(torch.mps, "recommended_max_memory", None)
    return told if most is None else {**told, "total_bytes": int(most())}


def _mps() -> Values:
    return (torch.mps.current_allocated_memory(), torch.mps.driver_allocated_memory())


def _nothing() -> Values:
    return ()


def _unnoted(_kind: str, _values: dict[str, Any]) -> None:
    """Nobody takes events."""
