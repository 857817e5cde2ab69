"""Make text from runs, traces and plugins safe to show."""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories that move the cursor, hide, reorder, or cannot be encoded."""

_COMMAND = re.compile(r"(?<!\S)::(?=\S)|##(?=\w*\[)")
"""What a line of a log may begin with, or hold, so that CI services take it for a command."""

_ASCII = str.maketrans(
    {
        "●": "*",
        "○": "o",
        "◌": ".",
        "█": "#",
        "░": "-",
        "→": "->",
        "←": "<-",
        "·": "-",
        "\u2014": "--",
        "\u2013": "-",
        "…": "...",
        "\u00d7": "x",
        "±": "+/-",
        "≤": "<=",
        "≥": ">=",
        "≈": "~",
        "\u00b5": "u",
        "\u03bc": "u",
        "\u03c3": "sigma",
        "Σ": "sum",
        "Δ": "delta",
        "\u2212": "-",
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u00a0": " ",
        "\u2009": " ",
        "\u202f": " ",
    }
)


def visible(text: str, keep: str = "") -> str:
    r"""Show what could move a cursor, hide, reorder, fail to be encoded, or command a CI service.

    Args:
        text: Anything, lone surrogates included.
        keep: Characters to leave alone all the same, such as a newline.

    Returns:
        The text with control, format, private and unassigned characters in
        their Python form, such as ``\x1b``, and so the first character of what
        begins a command in logs (``::error::``, ``##vso[``). It can be encoded as UTF-8.
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(
            c if c in keep or unicodedata.category(c) not in _HIDDEN else ascii(c)[1:-1]
            for c in text
        )
    return _COMMAND.sub(lambda found: f"\\x{ord(found[0][0]):x}{found[0][1]}", text)


def ascii_only(text: str) -> str:
    r"""Replace signs that have a likeness in ASCII by it, other characters by ``\xe9``."""
    if text.isascii():
        return text
    return encodable(text.translate(_ASCII), "ascii")


def encodable(text: str, encoding: str = "utf-8") -> str:
    r"""Replace what an encoding lacks, lone surrogates included, by ``\udc80`` and the like."""
    return text.encode(encoding, "backslashreplace").decode(encoding)
