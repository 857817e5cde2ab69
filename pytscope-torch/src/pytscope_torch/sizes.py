"""How large a model is in memory: its parameters, their gradients, the optimizer's state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import is_fake
from torch.nn.parameter import is_lazy

from pytscope_torch.quietly import quietly

DEEPEST = 8
"""Levels of containers that are looked into for the tensors of an optimizer's state."""


def model_bytes(models: nn.Module | Iterable[nn.Module], optimizer: Any) -> dict[str, int]:
    """Sizes of what training keeps from step to step, in this process.

    Only shapes and addresses are read: nothing is computed, copied or waited
    for, and no mode that is switched on sees it. Memory that several tensors
    share is counted once, and of a sharded tensor the part that is here.

    Args:
        models: A module or several; without any, the parameters that the
            optimizers hold.
        optimizer: A torch optimizer, several, or None.

    Returns:
        `parameters`, their number, of a DTensor in the whole model, of FSDP1's
        flat parameters in this shard; `parameter_bytes`; `gradient_bytes`,
        those held at the moment, so none after `zero_grad()`;
        `optimizer_bytes`, the state of the optimizers.
    """
    with quietly():
        return _model_bytes(models, optimizer)


def _model_bytes(models: nn.Module | Iterable[nn.Module], optimizer: Any) -> dict[str, int]:
    modules = [models] if isinstance(models, nn.Module) else list(models)
    optimizers = _optimizers(optimizer)
    held = [p for module in modules for p in module.parameters()]
    if not modules:
        held = [p for one in optimizers for group in one.param_groups for p in group["params"]]
    parameters = {id(p): p for p in held if isinstance(p, torch.Tensor) and not is_lazy(p)}
    seen: set[tuple[Any, ...]] = set()
    count = sum(p.numel() for p in parameters.values() if _new(p, seen))
    gradients = [g for p in parameters.values() if (g := p.grad) is not None]
    states = [tensor for one in optimizers for tensor in _tensors(one.state, DEEPEST)]
    return {
        "parameters": count,
        "parameter_bytes": _bytes(parameters.values(), set()),
        "gradient_bytes": _bytes(gradients, set()),
        "optimizer_bytes": _bytes(states, set()),
    }


def _optimizers(given: Any) -> list[Any]:
    if given is None:
        return []
    several = given if isinstance(given, (list, tuple)) else [given]
    return [one for one in several if hasattr(one, "state") and hasattr(one, "param_groups")]


def _tensors(value: Any, depth: int) -> Iterator[torch.Tensor]:
    """The tensors in a state, which optimizers keep as dicts, lists and tuples."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and isinstance(value, Mapping):
        for part in value.values():
            yield from _tensors(part, depth - 1)
    elif depth and isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part, depth - 1)


def _bytes(tensors: Iterable[torch.Tensor], seen: set[tuple[Any, ...]]) -> int:
    """What tensors hold here, what they share once."""
    return sum(
        part.numel() * part.element_size()
        for tensor in tensors
        for part in _parts(tensor, DEEPEST)
        if part.device.type != "meta" and _new(part, seen)
    )


def _parts(tensor: torch.Tensor, depth: int) -> Iterator[torch.Tensor]:
    """The plain strided tensors that a tensor is made of: shards, indices and values."""
    flatten = getattr(tensor, "__tensor_flatten__", None)
    if depth and flatten is not None:  # DTensor and other wrappers
        inner = (getattr(tensor, name) for name in flatten()[0])
        for part in inner:
            if isinstance(part, torch.Tensor):  # a DTensor names its mesh too
                yield from _parts(part, depth - 1)
    elif tensor.layout is torch.sparse_coo:
        yield from (tensor._indices(), tensor._values())  # noqa: SLF001  # the public ones want it coalesced
    elif tensor.layout is torch.strided:
        yield tensor


def _new(tensor: torch.Tensor, seen: set[tuple[Any, ...]]) -> bool:
    """Whether memory of this place and extent was not met before; notes it."""
    parts = list(_parts(tensor, DEEPEST))
    if len(parts) != 1 or parts[0].device.type == "meta":
        return True
    (part,) = parts
    if not part.numel() or is_fake(part):  # an empty shard has no place, a fake one no memory
        return True
    try:
        place = (part.device, part.data_ptr(), part.numel(), part.dtype)
    except RuntimeError:  # another tensor without memory
        return True
    if place in seen:
        return False
    seen.add(place)
    return True
