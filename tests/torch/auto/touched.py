"""Everything in PyTorch and Python that a recording may touch, to be compared before and after."""

from __future__ import annotations

import gc
import os
import sys
import threading
import types
from typing import Any

from tests.torch.auto.made import torch

from torch.optim import optimizer as optimizers  # isort: skip  # after the import that may skip
from torch.utils.data import dataloader  # isort: skip

OWNERS = {
    "torch": torch,
    "autograd": torch.autograd,
    "distributed": torch.distributed,
    "Tensor": torch.Tensor,
    "Module": torch.nn.Module,
    "Optimizer": torch.optim.Optimizer,
    "SGD": torch.optim.SGD,
    "GradScaler": torch.amp.GradScaler,
    "clip_grad": torch.nn.utils.clip_grad,
    "nn.utils": torch.nn.utils,
    "DataLoader": dataloader.DataLoader,
    "iterator": dataloader._BaseDataLoaderIter,
    "dataloader": dataloader,
    "os": os,
}


def touched(*modules: Any) -> dict[str, Any]:
    """Attributes by name, and the contents of registries; submodules come by themselves."""
    found: dict[str, Any] = {
        f"{place}.{name}": value
        for place, owner in OWNERS.items()
        for name, value in vars(owner).items()
        if not issubclass(type(value), types.ModuleType) and name != "__annotations__"
    }
    hooks = {
        "before a step": optimizers._global_optimizer_pre_hooks,
        "after a step": optimizers._global_optimizer_post_hooks,
        "forward": torch.nn.modules.module._global_forward_hooks,
        "before forward": torch.nn.modules.module._global_forward_pre_hooks,
        "backward": torch.nn.modules.module._global_backward_hooks,
        "before backward": torch.nn.modules.module._global_backward_pre_hooks,
    }
    for name, registry in hooks.items():
        found[name] = list(registry.values())
    found["collections"] = list(gc.callbacks)
    found["excepthooks"] = [sys.excepthook, threading.excepthook, sys.unraisablehook]
    compiler = sys.modules.get("torch._dynamo.callback")
    if compiler is not None:
        handler = compiler.callback_handler
        found["compilations"] = [list(handler.start_callbacks), list(handler.end_callbacks)]
    checkpoints = sys.modules.get("torch.distributed.checkpoint")
    if checkpoints is not None:
        found["saves"] = [checkpoints.save, checkpoints.async_save]
    for place, module in enumerate(modules):
        for path, part in module.named_modules():
            found[f"module {place} {path}"] = sorted(part.__dict__)
    return found


def differing(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Names of what is not the very same any more, or is new."""
    changed = [name for name, value in before.items() if not _same(value, after.get(name))]
    return changed + [name for name in after if name not in before and "." in name]


def _same(one: Any, other: Any) -> bool:
    if type(one) is list and type(other) is list:  # some objects of torch warn at isinstance()
        return one == other
    return one is other
