"""What to say of a phase that no step has: the recorded name that may have been meant for it."""

from __future__ import annotations

from collections.abc import Iterable

from pytscope.model.records import PHASES
from pytscope.model.wording import closest


def meant(wanted: Iterable[str], recorded: Iterable[str]) -> str:
    """A trailing clause on recorded names that are close to a missing one, or nothing.

    Args:
        wanted: Known phases that are missing.
        recorded: Names of the phases there are.
    """
    missing = tuple(wanted)
    own = [name for name in recorded if name not in PHASES]
    pairs = [(name, close[0]) for name in own if (close := closest(name, missing))]
    return "".join(f"; `{name}` was recorded: did you mean `{close}`?" for name, close in pairs)
