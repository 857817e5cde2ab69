"""Words for sentences: lists, likely names, and one printable line of what others wrote."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from pytscope.model.escaping import visible

LIMIT = 300
"""Characters kept of one message."""


def one_line(text: str, limit: int = LIMIT) -> str:
    """The first line that says something, printable and of bounded length."""
    lines = [line.strip() for line in str.splitlines(text) if line.strip()]
    if not lines:
        return ""
    line = visible(lines[0][: limit + 1])
    return line if len(line) <= limit else line[: limit - 1] + "…"


def listed(names: Iterable[str], most: int | None = None) -> str:
    """Names with commas, in the order given; `none` when there are none.

    Args:
        names: The names.
        most: Write this many, and how many more there are; None for all.

    Returns:
        `a, b, c`, or with `most=2`: `a, b and 1 more`.
    """
    known = list(names)
    rest = 0 if most is None else len(known) - most
    return (", ".join(known[:most]) or "none") + (f" and {rest:,} more" if rest > 0 else "")


def closest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names most like one, whatever their case, the likeliest first.

    Args:
        name: What was asked for.
        known: What there is; its order is of no account.
        most: How many names to return at most.
    """
    by_folded: dict[str, list[str]] = {}
    for each in sorted(set(known)):
        by_folded.setdefault(each.casefold(), []).append(each)
    close = difflib.get_close_matches(name.casefold(), sorted(by_folded), n=most)
    return [each for folded in close for each in by_folded[folded]][:most]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A trailing clause that names the closest known name, or nothing.

    Args:
        name: What was asked for.
        known: What there is.

    Returns:
        `; did you mean 'timing'?` or an empty string.
    """
    close = closest(name, known)
    return f"; did you mean {close[0]!r}?" if close else ""
