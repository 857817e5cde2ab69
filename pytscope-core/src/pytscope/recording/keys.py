"""Keys of the recorder's flat event list, whose values are clock stamps or logged values.

A plain string is a `mark` of that phase; everything else is one of the objects
below, compared by identity.
"""

from __future__ import annotations

from collections.abc import Iterable


class Key:
    """A marker in the event list."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Open(Key):
    """Opens a block of the named phase."""

    __slots__ = ()


class Sample(Key):
    """A collector's sample; the value is a tuple as long as `columns`.

    Attributes:
        kind: Column kind: `b` bytes, `s` scalar, `i` integer, or `x` time beside the timeline.
        columns: Names of the values.
    """

    __slots__ = ("columns", "kind")

    def __init__(self, kind: str, columns: tuple[str, ...]) -> None:
        super().__init__("sample")
        self.kind = kind
        self.columns = columns


START = Key("start")
"""The attempt begins."""
BEGIN = Key("begin")
"""A step, or a micro-batch of it, begins."""
END = Key("end")
"""An optimizer step ends."""
MICRO = Key("micro")
"""A micro-batch ends, the step goes on."""
CLOSE = Key("close")
"""The innermost block ends."""
EXHAUSTED = Key("exhausted")
"""A data block ends whose fetch found nothing more."""
FAIL = Key("fail")
"""An exception left the step, which stays open."""
BROKEN = Key("broken")
"""A `CLOSED` that turned out to be a step end."""
CLOSED = Key("closed")
"""The iterator of `steps()` was closed in mid-step: a step end, unless `FAIL` follows."""
LOG = Key("log")
"""Logged values, as a tuple in the order of `LOG_NAMES`; None is absent."""
EXTRA = Key("extra")
"""Logged values under other names, as a dict."""
SKIPPED = Key("skipped")
"""The optimizer did not update: the gradients were not finite."""
PROFILED = Key("profiled")
"""The step is slowed down by a measurement: rates leave it out."""
FINISH = Key("finish")
"""The attempt ends."""
DROPPED = Key("dropped")
"""Events given up: (steps in them, their last stamp, blocks left, blocks entered)."""
FETCH = Open("data")
"""Opens the data block around one fetch, in which no step begins or ends."""

LOG_NAMES = ("loss", "grad_norm", "lr", "tokens", "samples")
COUNTS = frozenset(("tokens", "samples"))
"""Logged names whose values add up within a step; of any other the last one counts."""


def is_value(key: object) -> bool:
    """Whether the key's value is not a clock stamp."""
    return key is LOG or key is EXTRA or type(key) is Sample


def is_end(key: object) -> bool:
    """Whether the key ends an optimizer step."""
    return key is END or key is BROKEN


def is_close(key: object) -> bool:
    """Whether the key ends a block."""
    return key is CLOSE or key is EXHAUSTED


def only_marks(keys: Iterable[object]) -> bool:
    """Whether all keys are marks, found without looking at each from Python."""
    return {str}.issuperset(map(type, keys))
