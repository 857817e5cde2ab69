"""Which accelerator this machine has."""

from __future__ import annotations

import torch


def accelerator() -> str:
    """Kind of the accelerator of this machine, or an empty string.

    Counting devices initialises none: the program may yet choose those it sees.
    """
    if torch.cuda.device_count():
        return "cuda"
    if torch.backends.mps.is_available():
        return "mps"
    return "xpu" if torch.xpu.device_count() else ""
