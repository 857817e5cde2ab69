"""Fingerprints of what a run's numbers come from: random states, weights, the optimizer.

Nothing here advances a random number generator or waits for a device; what is
taken in the training thread is hashed in another one.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from pytscope.recording.harmless import tried

HASH_BYTES = 8
EACH = 16
"""Elements of a parameter that go into the hash of the weights, evenly spaced in memory."""
MOST_PARAMETERS = 1024
"""Parameters of which elements are taken; of more, evenly spaced ones."""
WRAPPED = frozenset(("module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"))
"""Parts of a parameter's name that come from what wraps the model, not from the model."""


def probed(read: Callable[[], Any]) -> Any:
    """What a probe finds; None when it fails, for each stands alone."""
    return tried(read, lambda _: None)


def hashed(*parts: Any) -> str:
    """A 64-bit hash of bytes, or of what prints as itself, as hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=HASH_BYTES)
    for part in parts:
        digest.update(part if isinstance(part, bytes) else repr(part).encode())
    return digest.hexdigest()


def random_states() -> dict[str, Any]:
    """The states of the random number generators in use, none advanced."""
    found: dict[str, Any] = {"python": random.getstate()}
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        found["numpy"] = probed(lambda: _numpy_state(numpy_random))
    found["torch"] = probed(lambda: raw(torch.get_rng_state()))
    if torch.cuda.is_initialized():
        found["cuda"] = probed(lambda: raw(torch.cuda.get_rng_state()))
    return found


def _numpy_state(numpy_random: Any) -> tuple[Any, ...]:
    kind, keys, *rest = numpy_random.get_state()
    return (kind, keys.tobytes(), *rest)


def raw(tensor: torch.Tensor) -> bytes:
    """The bytes of a plain tensor in host memory."""
    return bytes(tensor.contiguous().view(torch.uint8).tolist())


class Weights:
    """Elements of parameters, taken now without waiting and hashed when asked for.

    At most 16 elements of a parameter, evenly spaced in memory, of at most
    1,024 parameters; of a sharded one, of the shard that is here.

    Args:
        parameters: The parameters and their names.
        after_step: Steps that had ended.
    """

    def __init__(self, parameters: list[tuple[str, torch.Tensor]], after_step: int = 1) -> None:
        self._after_step = after_step
        taken = parameters[:: -(-len(parameters) // MOST_PARAMETERS) or 1]
        self._names: list[Any] = []
        parts: dict[tuple[Any, Any], list[torch.Tensor]] = {}
        for name, parameter in taken:
            part = probed(partial(sampled, parameter, EACH))
            if part is not None:
                self._names.append((own_name(name), tuple(parameter.shape), str(parameter.dtype)))
                parts.setdefault((part.device, part.dtype), []).append(part)
        self._parts = [torch.cat(some) for some in parts.values()]
        self._ready = torch.cuda.Event() if torch.cuda.is_initialized() else None
        if self._ready is not None:
            self._ready.record()

    def told(self) -> dict[str, Any] | None:
        """The hash and what it is of; None without a parameter that can be read."""
        if not self._names:
            return None
        data = [raw(part) for part in self._read()]
        return {
            "hash": hashed(self._names, *data),
            "elements_each": EACH,
            "parameters": len(self._names),
            "after_step": self._after_step,
        }

    def _read(self) -> list[torch.Tensor]:
        if self._ready is None:
            return [part.cpu() for part in self._parts]
        self._ready.synchronize()  # this thread waits, not the training
        with torch.cuda.stream(torch.cuda.Stream()):
            return [part.cpu() for part in self._parts]


def own_name(name: str) -> str:
    """A parameter's name in the model, without what wraps the model."""
    return ".".join(part for part in name.split(".") if part not in WRAPPED)


def sampled(tensor: torch.Tensor, elements: int) -> torch.Tensor | None:
    """Evenly spaced elements of a tensor, in the order of memory: a view.

    Returns:
        None for a tensor that has none here, and for one whose operators run in
        Python, such as a fake one: those of two threads would get in each other's way.
    """
    own = getattr(tensor, "_local_tensor", tensor)
    if type(own).__torch_dispatch__ != torch.Tensor.__torch_dispatch__:
        return None
    own = own.detach()
    if own.layout is not torch.strided or own.device.type == "meta" or not own.numel():
        return None
    step = max(1, own.numel() // elements)
    return own.as_strided((min(elements, own.numel()),), (step,))
