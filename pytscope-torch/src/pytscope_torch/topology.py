"""A rank's place in a parallel job, as its event `topology`.

What was told comes first, then the device mesh that a sharded parameter lies
on, then Megatron's groups; else only what the process group and the launcher's
environment say is written.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from pytscope.recording.harmless import tried
from pytscope_torch.seams.modules import is_compiled

DIMENSIONS = ("dp", "tp", "pp", "cp", "ep")
NAMES = {
    **dict.fromkeys(("dp", "data", "batch", "replicate", "shard", "fsdp", "hsdp"), "dp"),
    **dict.fromkeys(("dp_replicate", "dp_shard", "dp_shard_cp", "ddp"), "dp"),
    **dict.fromkeys(("tp", "model", "tensor"), "tp"),
    **dict.fromkeys(("pp", "pipe", "pipeline", "stage"), "pp"),
    **dict.fromkeys(("cp", "sp", "context", "sequence"), "cp"),
    **dict.fromkeys(("ep", "expert"), "ep"),
}
"""What people call the dimensions of a mesh."""
MEGATRON = {
    "dp": "get_data_parallel_rank",
    "tp": "get_tensor_model_parallel_rank",
    "pp": "get_pipeline_model_parallel_rank",
    "cp": "get_context_parallel_rank",
    "ep": "get_expert_model_parallel_rank",
}
UNSEEN_DEVICE = "what the accelerator waits for: stamps are the host's, which only starts it"
UNSEEN_FUNCTIONAL = "functional collectives in compiled code, which tensor-parallel layers use"


def topology(modules: Sequence[nn.Module], told: Mapping[str, Any] | None) -> dict[str, Any]:
    """Where this rank is in the job.

    Args:
        modules: The modules that are trained.
        told: Coordinates by dimension (`dp tp pp cp ep`), a `role` and a `host`, or None.

    Returns:
        What is known: coordinates and `role`, `host`, `world`, `rank`,
        `local_rank`, `backend`; `source`, where the coordinates come from;
        `captured`, the kinds of collectives that are stamped; `unseen`, those
        that are not; `clock`. Empty with one rank that was told nothing.
    """
    group = tried(_group, lambda _: {})
    if not told and group.get("world", 1) == 1:
        return {}
    parameters = [p for module in modules for p in module.parameters()]
    mesh = tried(lambda: _coordinates(_mesh(parameters)), lambda _: {})
    megatron = {} if mesh else tried(_megatron, lambda _: {})
    found = mesh or megatron
    by_hand = any(dimension in DIMENSIONS for dimension in told or ())
    source = "user" if by_hand else "mesh" if mesh else "environment" if megatron else "default"
    kinds = {p.device.type for p in parameters} - {"cpu", "meta"}
    blind = bool(kinds - {"cuda"})
    captured = ["comm", "sync"] if blind else [*_wrappers(modules), "comm", "sync"]
    return {
        "host": platform.node(),
        **group,
        **found,
        **dict(told or {}),
        "source": source,
        "captured": captured,
        "unseen": _unseen(found, modules, blind=blind),
        "clock": "device" if "cuda" in kinds else "host",
    }


def _group() -> dict[str, Any]:
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized():
        return {}
    local = os.environ.get("LOCAL_RANK", "")
    return {
        "world": distributed.get_world_size(),
        "rank": distributed.get_rank(),
        "backend": str(distributed.get_backend()),
        **({"local_rank": int(local)} if local.isdecimal() else {}),
    }


def _mesh(parameters: Iterable[Any]) -> Any:
    """The mesh of most dimensions that a parameter lies on, or the whole it was cut out of."""
    meshes = [mesh for p in parameters if (mesh := getattr(p, "device_mesh", None)) is not None]
    widest = max(meshes, key=lambda mesh: mesh.ndim, default=None)
    whole = getattr(widest, "_get_root_mesh", None)
    root = whole() if whole is not None else widest
    return root if root is not None and root.mesh_dim_names else widest


def _coordinates(mesh: Any) -> dict[str, int]:
    """This rank's coordinates by dimension; several that replicate or shard are one."""
    at = mesh.get_coordinate() if mesh is not None else None
    if at is None:
        return {}
    names = mesh.mesh_dim_names or (("dp",) if mesh.ndim == 1 else ())
    found: dict[str, int] = {}
    for name, place, size in zip(names, at, mesh.mesh.shape, strict=False):
        dimension = NAMES.get(name.lower())
        if dimension is not None:
            found[dimension] = found.get(dimension, 0) * size + place
    return found


def _megatron() -> dict[str, int]:
    state = sys.modules.get("megatron.core.parallel_state")
    if state is None or not state.model_parallel_is_initialized():
        return {}
    asked = ((d, getattr(state, name, None)) for d, name in MEGATRON.items())
    return {d: int(ask()) for d, ask in asked if ask is not None}


def _wrappers(modules: Iterable[nn.Module]) -> list[str]:
    """How the model is made parallel, as far as the collectives of it are stamped."""
    kinds = {
        kind.__name__
        for module in modules
        for part in module.modules()
        for kind in type(part).__mro__
    }
    known = {
        "DistributedDataParallel": "ddp",
        "FullyShardedDataParallel": "fsdp1",
        "FSDPModule": "fsdp2",
    }
    return [word for name, word in known.items() if name in kinds]


def _unseen(found: Mapping[str, int], modules: Iterable[nn.Module], *, blind: bool) -> list[str]:
    unseen = [UNSEEN_DEVICE] if blind else []
    layers = found.keys() & {"tp", "cp", "ep"} and any(map(is_compiled, modules))
    return [*unseen, UNSEEN_FUNCTIONAL] if layers else unseen
