"""The first line of an attempt: what the run is."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pytscope.recording.columns import record
from pytscope.recording.plain import plain

if TYPE_CHECKING:
    from pytscope.recording.rank import RankInfo

MAX_CONFIG_BYTES = 1 << 20


def torch_adapter() -> ModuleType | None:
    """The module of pytscope-torch that knows torch, or None when it is not installed."""
    try:
        return importlib.import_module("pytscope_torch.adapter")
    except ImportError:
        return None


def group_adapter() -> ModuleType | None:
    """The adapter, if this process already uses `torch.distributed`."""
    return torch_adapter() if "torch.distributed" in sys.modules else None


def run_record(
    rank: RankInfo,
    attempt: int,
    step: int,
    start_ns: int,
    config: object,
    fields: Mapping[str, Any],
) -> bytes:
    """The `run` record.

    Args:
        rank: Who is recording.
        attempt: Ordinal of the attempt in its file.
        step: Number of the first step.
        start_ns: The attempt's first stamp.
        config: The user's configuration.
        fields: Everything else, in order.
    """
    line = {
        "b": "run",
        "format": "pytscope.steps",
        "v": 1,
        "rank": rank.rank,
        "world": rank.world,
        "attempt": attempt,
        "step": step,
        **plain(dict(fields)),
        "config": plain({} if config is None else config),
        "local_rank": rank.local_rank,
        "job": rank.job,
        "restart": rank.restart,
        "epoch_ns": time.time_ns(),
        "mono_ns": start_ns,
    }
    data = record(line)
    if len(data) > MAX_CONFIG_BYTES:
        line["config"] = {"…": f"left out: {len(data)} bytes"}
        data = record(line)
    return data
