"""The door through which pytscope-core reaches PyTorch: waiting, memory, the process group.

Core imports this module lazily, when `sync=True` or `collect_memory` is asked
for or when the process already uses `torch.distributed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.distributed

if TYPE_CHECKING:
    from pytscope_torch.host import HostMemory
    from pytscope_torch.memory import DeviceMemory


def synchronize() -> None:
    """Wait for the work queued on the accelerator in use, if one is.

    A device that this process never touched is not initialised for it, and
    nothing is waited for while a CUDA graph is being captured. An error that
    the device has pending stays pending: the next operation of the training
    itself raises it, where its author can see it.
    """
    try:
        if torch.cuda.is_initialized():
            if not torch.cuda.is_current_stream_capturing():
                torch.cuda.synchronize()
        elif torch.backends.mps.is_available():
            torch.mps.synchronize()
        elif torch.xpu.is_initialized():
            torch.xpu.synchronize()
    except RuntimeError:
        return


def memory_collectors() -> tuple[DeviceMemory, HostMemory]:
    """What samples memory; device memory has no columns where there is no device.

    Loaded by need: psutil takes longer to import than a recording to start.
    """
    from pytscope_torch.host import HostMemory
    from pytscope_torch.memory import DeviceMemory

    return DeviceMemory(), HostMemory()


def process_group() -> tuple[int, int] | None:
    """Rank and world size of the default process group, or None without one."""
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return None
    return torch.distributed.get_rank(), torch.distributed.get_world_size()
