"""What instrumentation looks for."""

from __future__ import annotations

from typing import Any

from pytscope_torch.accelerators import accelerator

WATCHED = ("data", "forward", "backward", "optimizer", "checkpoint", "compile", "gc")
"""Phases that are found without being named, wherever it records."""


def watched(*, comm: bool, sync: bool) -> dict[str, Any]:
    """What is looked for, so that what is absent did not happen, as an event's values.

    Args:
        comm: Whether waits for other ranks are stamped.
        sync: Whether stamps wait for the accelerator.
    """
    device = accelerator()
    seams = [*WATCHED, *(["comm"] if comm else []), *(["h2d"] if device else [])]
    return {"seams": seams, "accelerator": device, "sync": sync}
