"""What tells a module from its shallow copies while the wrapper in its call slot is called.

A copy of a module's attributes holds the wrapper too, and an object that shares
the attributes holds those. As long as nobody does, there is one reference to
each less, and nobody has to look at frames to know whose call it is, which
takes longer than all the rest of stamping a forward pass. Any reference that is
held for another reason has frames looked at, which is never wrong.
"""

from __future__ import annotations

import sys
from sys import getrefcount
from typing import Any, NamedTuple

from torch import nn

SLOT_NAME = "_compiled_call_impl"


class Held(NamedTuple):
    """References, as counted in the call.

    Attributes:
        wrapper: To the wrapper, in a call with arguments by name; in another there is one less.
        slots: To the attributes of its module.
    """

    wrapper: int
    slots: int


NEVER = Held(0, 0)
"""Counts that are never found, so that frames are looked at."""
EXPECTED = Held(wrapper=5, slots=4)
"""The slot, the caller, the arguments, `self`, the counting; and the module, the wrapper, the
call's variable, the counting."""


class _Counted:
    """Held and called as a wrapper is, it counts."""

    __slots__ = ("slots",)

    def __init__(self, module: nn.Module) -> None:
        self.slots = module.__dict__
        self.slots[SLOT_NAME] = self

    def __call__(self, /, *_args: Any, **kwargs: Any) -> Held:
        """Count."""
        slots = self.slots
        return Held(getrefcount(self) + (not kwargs), getrefcount(slots))


def held_alone() -> Held:
    """References while there are no copies, but that of the registry of wrappers.

    Returns:
        `NEVER` where an interpreter may do with fewer in one call than in another,
        so that they tell nothing of copies.
    """
    counts = sys.implementation.name == "cpython" and sys.version_info < (3, 14)
    if not counts or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return NEVER
    module = nn.Module()
    _Counted(module)
    return EXPECTED if module() == module(0, named=0) == EXPECTED else NEVER


ALONE = held_alone()
