"""What a logged series tells of training, by its name."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence

from pytscope.diffing.batches import BATCH
from pytscope.diffing.words import words_of

INTEGERS = "batch_integers_fingerprint"
SAMPLES = "batch_samples_fingerprint"


class Role(enum.Enum):
    """What a series tells, in the order in which a step makes it."""

    BATCH = "batch"
    INTEGERS = "integers"
    SAMPLES = "samples"
    COUNT = "count"
    LOSS = "loss"
    GRADIENT = "gradient"
    RATE = "rate"
    OTHER = "other"
    CLOCK = "clock"


_PARTS = {INTEGERS: Role.INTEGERS, SAMPLES: Role.SAMPLES}
FINGERPRINTS = (Role.BATCH, Role.INTEGERS, Role.SAMPLES)
"""Roles of hashes: any two of them are as different as any others."""
ORDER = {role: place for place, role in enumerate(Role)}
NUMBERS = (Role.LOSS, Role.GRADIENT, Role.OTHER)
"""Roles of what training computes."""

_RATE = re.compile(r"(.*[/_.-])?(lr|learning_?rate)([/_.-].*|\d*)", re.IGNORECASE)
_COUNTS = frozenset(
    """tokens samples sequences examples epoch step steps num n seen train input total flos
    global""".split()  # noqa: SIM905  # reads better without quotes
)
_HELD_OUT = frozenset(("eval", "val", "valid", "validation", "test", "dev"))
_CLOCK = frozenset(
    """time timestamp seconds second secs runtime elapsed eta duration latency
    throughput speed mfu hfu flops tflops util utilization temperature power watts memory mem vram
    rss cpu ram""".split()  # noqa: SIM905  # reads better without quotes
)
_OF_TIME = re.compile(
    r".*[_/](s|sec|ms|ns|us)|(.*[_/])?per_?(s|sec|seconds?|min|minute|hour)([_/].*)?"
)


def role_of(name: str) -> Role:
    """What a series tells, by its name."""
    words = frozenset(words_of(name))
    if name in _PARTS:
        return _PARTS[name]
    if name == BATCH or words & {"fingerprint", "hash", "checksum"}:
        return Role.BATCH
    if _RATE.fullmatch(name):
        return Role.RATE
    if words & _CLOCK or _OF_TIME.fullmatch(name.lower()):
        return Role.CLOCK
    if words and words <= _COUNTS:
        return Role.COUNT
    if "loss" in words and not words & _HELD_OUT and "scale" not in words:
        return Role.LOSS
    if words & {"grad", "gradient", "gnorm"} and (words & {"norm", "gnorm"}):
        return Role.GRADIENT
    return Role.OTHER


def of_role(names: Sequence[str], *roles: Role) -> list[str]:
    """The names that have one of some roles."""
    return [name for name in names if role_of(name) in roles]
