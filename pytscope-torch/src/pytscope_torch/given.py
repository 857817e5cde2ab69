"""What `AutoProfiler` is given as model and optimizer, also where that is something else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import getattr_static
from typing import Any

from torch import nn
from torch.optim import Optimizer

from pytscope.recording.harmless import tried

Say = Callable[[str], object]
DEEPEST = 16
"""Wrappers in each other that are looked into."""
MOST_PARTS = 8
"""Parts of a container whose calls are each a forward pass."""


def models_of(given: Any, say: Say) -> tuple[nn.Module, ...]:
    """The modules of the argument `model`: one, or an iterable of them.

    Args:
        given: The argument.
        say: Takes a sentence on what is no module.
    """
    found: list[nn.Module] = []
    for part in parts(given):
        if isinstance(part, nn.Module):
            found += called(part)
        elif wrapped(part):
            say(f"model= was given an optimizer ({_kind(part)}), which belongs to optimizer=")
        else:
            kind = _kind(part)
            say(f"model= was given a value of type {kind}, no torch.nn.Module; it is left out")
    return tuple(found)


def called(module: nn.Module) -> list[nn.Module]:
    """A module, or where it has no forward pass itself, as a `ModuleDict`, its few parts."""
    own = getattr_static(module, "forward", None)  # looked up, a script module's raises
    if own is not vars(nn.Module)["forward"]:
        return [module]
    found = [part for child in module.children() for part in called(child)]
    return found if 0 < len(found) <= MOST_PARTS else [module]


def optimizer_of(given: Any, say: Say) -> Any:
    """The first optimizer of the argument `optimizer`, or None.

    Args:
        given: The argument: an optimizer, a wrapper around one, or an iterable of them.
        say: Takes a sentence on what neither is one nor holds one.
    """
    found = []
    for part in parts(given):
        if wrapped(part):
            found.append(part)
        elif isinstance(part, nn.Module):
            say(f"optimizer= was given a module ({_kind(part)}), which belongs to model=")
        else:
            kind = _kind(part)
            say(f"optimizer= was given a value of type {kind}, no torch optimizer; it is left out")
    return next(iter(found), None)


def sorted_out(model: Any, optimizer: Any, say: Say) -> tuple[tuple[nn.Module, ...], Any]:
    """The modules and the optimizer of both arguments, where need be each from the other's place.

    Args:
        model: The argument `model`.
        optimizer: The argument `optimizer`.
        say: Takes a sentence on what cannot be used where it was given.
    """
    first, second = parts(model), parts(optimizer)
    models, owner = models_of(first, say), optimizer_of(second, say)
    if not models:
        models = tuple(part for part in second if isinstance(part, nn.Module) and part is not owner)
    if owner is None:
        strays = (part for part in first if not isinstance(part, nn.Module) and wrapped(part))
        owner = next(strays, None)
    return models, owner


def parts(given: Any) -> list[Any]:
    """One value or the values of an iterable, up to the first that is of no use; None is none.

    No further, for what was given may be a loader, or endless.
    """
    if given is None:
        return []
    if isinstance(given, (nn.Module, str, bytes)) or wrapped(given):
        return [given]
    if isinstance(given, Mapping):
        given = given.values()
    if not isinstance(given, Iterable):
        return [given]
    found: list[Any] = []

    def take() -> None:
        for part in given:
            found.append(part)
            if not isinstance(part, nn.Module) and not wrapped(part):
                return

    tried(take, lambda _: found.append(given))
    return found


def wrapped(optimizer: Any) -> list[Optimizer]:
    """An optimizer and those inside of it, which wrappers keep as `optimizer`, outside first."""
    found: list[Optimizer] = []
    seen: list[Any] = []
    while optimizer is not None and len(seen) < DEEPEST and not any(o is optimizer for o in seen):
        seen.append(optimizer)
        if isinstance(optimizer, Optimizer):
            found.append(optimizer)
        optimizer = tried(_inner(optimizer), lambda _: None)
    return found


def _inner(optimizer: Any) -> Callable[[], Any]:
    return lambda: getattr(optimizer, "optimizer", None)


def _kind(part: object) -> str:
    return type(part).__name__
