"""What a `DataLoader` was made with: what decides which samples come, and in which order."""

from __future__ import annotations

from typing import Any

import torch

from pytscope_torch.states import probed

PLAIN = ("batch_size", "num_workers", "pin_memory", "prefetch_factor", "persistent_workers")
PARTS = ("sampler", "batch_sampler", "dataset")
ORDER = ("shuffle", "seed", "num_replicas", "replacement")
"""What samplers keep of how they choose."""
DEEPEST = 4


def loader_settings(loader: Any) -> dict[str, Any]:
    """What a DataLoader was made with.

    A generator tells the seed it was given, which it keeps beside its state.
    """
    return {
        **{name: getattr(loader, name, None) for name in (*PLAIN, "drop_last", "in_order")},
        **{name: type(getattr(loader, name, None)).__name__ for name in PARTS},
        "samples": probed(lambda: len(loader.dataset)),
        "generator_seed": _seed(loader),
        "order": probed(lambda: order(loader)),
    }


def order(loader: Any) -> dict[str, Any]:
    """How the samples are chosen, as far as the samplers tell."""
    found: dict[str, Any] = {}
    for name in PARTS[:2]:
        sampler = getattr(loader, name, None)
        for _ in range(DEEPEST):  # one inside the other
            if sampler is None:
                break
            values = {key: getattr(sampler, key, None) for key in ORDER}
            found |= {key: value for key, value in values.items() if type(value) in (bool, int)}
            if (seed := _seed(sampler)) is not None:
                found["generator_seed"] = seed
            sampler = getattr(sampler, "sampler", None)
    return found


def _seed(owner: Any) -> int | None:
    generator = getattr(owner, "generator", None)
    return generator.initial_seed() if isinstance(generator, torch.Generator) else None
