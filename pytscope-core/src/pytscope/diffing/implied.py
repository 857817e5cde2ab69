"""Facts that follow from others, which say the same better."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pytscope.diffing.facts import INITIAL_WEIGHTS
from pytscope.model.comparison import Difference

GENERATORS = ("python", "numpy", "torch", "cuda")
START, AFTER = "torch.initial_random_states", "torch.random_states"
_OF_TORCH = ("torch", "cuda")
_SEED = "torch.initial_seed"
_MODEL, _TYPES = "torch.model.parameters", "torch.model.dtypes"
_TRAINED = "torch.model.trained"
_FROM = {
    "torch.git": ("torch.version",),
    "packages.torch": ("torch.version",),
    "git.reason": ("git.sha",),
    "seeds.torch": (_SEED, INITIAL_WEIGHTS),
}
"""Facts that differ wherever one of others does."""
_OPTIMIZERS = ("torch.optimizer.class", "torch.optimizer.groups")
_OF_OPTIMIZERS = ("model.optimizer_bytes", "torch.optimizer.steps_after_first")


def implied(name: str, found: Sequence[Difference]) -> bool:
    """Whether another difference says the same.

    Args:
        name: Name of a difference.
        found: All differences.
    """
    keys = {one.key for one in found}
    if name in _FROM:
        return not keys.isdisjoint(_FROM[name])
    if name.startswith("torch.weights."):
        return not keys.isdisjoint((_SEED, INITIAL_WEIGHTS))
    if name in _OF_OPTIMIZERS:
        return bool({_MODEL, _TRAINED} & keys) or any(k.startswith(_OPTIMIZERS) for k in keys)
    if name.startswith("torch.optimizer") and name.endswith(".tensors"):
        return _MODEL in keys
    if name.startswith("model."):
        return not keys.isdisjoint((_TYPES, _MODEL, _TRAINED))
    if ".order.generator_seed" in name:
        return name.replace(".order.", ".") in keys
    return any(_of_generator(name, generator, keys) for generator in GENERATORS)


def _of_generator(name: str, generator: str, keys: Collection[str]) -> bool:
    """Whether a generator's state is told by another of its states, or by a seed."""
    seed, start, after = (f"{top}.{generator}" for top in ("seeds", START, AFTER))
    if name == seed:
        return start in keys
    if name == after and (start in keys or seed in keys):
        return True
    if generator in _OF_TORCH and name in (start, after):
        return _SEED in keys or _MODEL in keys
    return False
