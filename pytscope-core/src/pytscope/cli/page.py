"""Pages of plain text on standard output, other than reports."""

from __future__ import annotations

import os
from collections.abc import Iterator

from pytscope.cli.output import report_stream, write_stdout
from pytscope.cli.presentation import Presentation
from pytscope.cli.terminal import Terminal
from pytscope.model.escaping import ascii_only, visible


def print_page(text: str) -> None:
    """Print text of several lines.

    In ASCII where asked for or where nothing else can be shown; wrapped only
    where a width is asked for, because others take the lines apart.

    Raises:
        ReaderGone: The other end of the pipe is closed.
        OutputFailed: It cannot be written for another reason.
    """
    asked = Presentation.current()
    shown = visible(text, keep="\n")
    if asked.ascii or not Terminal.of(report_stream(), os.environ).unicode:
        shown = ascii_only(shown)
    if asked.width is not None:
        width = asked.width
        shown = "\n".join(part for line in shown.split("\n") for part in wrapped(line, width))
    write_stdout(shown + "\n")


def wrapped(line: str, width: int) -> Iterator[str]:
    """A line as lines of at most a width, but for words that are longer.

    Args:
        line: Printable text.
        width: Terminal cells.
    """
    from rich.cells import cell_len

    body = line.lstrip(" ")
    indent = min(len(line) - len(body), width // 2)
    current = " " * indent + body if cell_len(line) <= width else ""
    for word in body.split(" ") if not current else ():
        if current and cell_len(current) + 1 + cell_len(word) > width:
            yield current
            current = " " * indent + word
        else:
            current = f"{current} {word}" if current else " " * indent + word
    yield current
