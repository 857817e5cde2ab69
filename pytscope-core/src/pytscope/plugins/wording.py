"""One-line, printable sentences about things that others wrote."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from pytscope.model.escaping import visible

LIMIT = 300
"""Characters kept of one message."""


def one_line(text: str, limit: int = LIMIT) -> str:
    """The first line that says something, printable and of bounded length."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    line = visible(lines[0][: limit + 1])
    return line if len(line) <= limit else line[: limit - 1] + "…"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A trailing clause that names the closest known name, or nothing.

    Args:
        name: What was asked for.
        known: What there is.

    Returns:
        `; did you mean 'timing'?` or an empty string.
    """
    by_folded = {k.casefold(): k for k in sorted(set(known), reverse=True)}
    close = difflib.get_close_matches(name.casefold(), sorted(by_folded), n=1)
    return f"; did you mean {by_folded[close[0]]!r}?" if close else ""


def listed(names: Iterable[str]) -> str:
    """Names joined with commas and one `and`, in the order given."""
    *rest, last = [*names] or ["nothing"]
    return f"{', '.join(rest)} and {last}" if rest else last
