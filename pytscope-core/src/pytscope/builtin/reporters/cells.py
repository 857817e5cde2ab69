"""How much room text takes in a terminal, and cutting it to fit."""

from __future__ import annotations

from rich.cells import get_character_cell_size

_EMOJI_VARIANT = "\ufe0f"


def cells(text: str) -> int:
    """Terminal cells that a text without control characters takes, at most."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def _cell(character: str) -> int:
    # The variation selector may widen the character before it by one cell.
    return 1 if character == _EMOJI_VARIANT else get_character_cell_size(character)


def cut(text: str, room: int) -> int:
    """Number of leading characters that fit in `room` cells."""
    if text.isascii():
        return min(room, len(text))
    used = 0
    for place, character in enumerate(text):
        used += _cell(character)
        if used > room:
            return place
    return len(text)


def shorten(text: str, room: int, mark: str = "…") -> str:
    """The text, ended early by `mark` when it takes more than `room` cells."""
    if cells(text) <= room:
        return text
    return text[: cut(text, room - cells(mark))] + mark


def pad(text: str, room: int, *, right: bool = False) -> str:
    """The text with spaces up to `room` cells, after it or (`right`) before it."""
    blank = " " * (room - cells(text))
    return blank + text if right else text + blank
