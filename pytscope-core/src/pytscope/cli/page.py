"""Pages of plain text on standard output, other than reports."""

from __future__ import annotations

import os
import sys

from pytscope.cli.output import write_stdout
from pytscope.cli.presentation import Presentation
from pytscope.cli.terminal import Terminal
from pytscope.model.escaping import ascii_only, visible


def print_page(text: str) -> None:
    """Print text of several lines; ASCII where asked for or where nothing else can be shown.

    Raises:
        ReaderGone: The other end of the pipe is closed.
        OutputFailed: It cannot be written for another reason.
    """
    shown = visible(text, keep="\n")
    terminal = Terminal.of(sys.stdout, os.environ)
    plain = Presentation.current().ascii or not terminal.unicode
    write_stdout((ascii_only(shown) if plain else shown) + "\n")
