"""Writing: the report to standard output or files, everything else to standard error."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path

from pytscope.model.errors import PytscopeError
from pytscope.model.escaping import encodable, visible


class OutputFailed(PytscopeError):
    """A report could not be written."""


class ReaderGone(Exception):
    """Nobody reads standard output any more; there is nothing to say about it."""


def say(text: str, keep: str = "") -> None:
    """Tell the user something that is no part of the report, with escapes made visible.

    Args:
        text: A line.
        keep: Characters to leave alone, such as a newline.
    """
    stream = sys.stderr
    if stream is not None:  # `2>&-` leaves none
        with contextlib.suppress(OSError, ValueError):
            stream.write(encodable(visible(text, keep) + "\n", stream.encoding or "ascii"))
            stream.flush()


def write_stdout(text: str) -> None:
    """Write a report to standard output.

    Raises:
        ReaderGone: The other end of the pipe is closed.
        OutputFailed: It cannot be written for another reason.
    """
    stream = sys.stdout
    if stream is None:  # `>&-` leaves none
        msg = "standard output is closed"
        raise OutputFailed(msg)
    try:
        stream.write(encodable(_ended(text), stream.encoding or "ascii"))
        stream.flush()
    except BrokenPipeError:
        abandon_stdout()
        raise ReaderGone from None
    except OSError as error:
        abandon_stdout()
        msg = f"cannot write to standard output: {error.strerror or error}"
        raise OutputFailed(msg) from error


def write_file(path: Path, text: str) -> None:
    """Write a report to a file, in UTF-8: all of it or, on failure, nothing.

    Raises:
        OutputFailed: It cannot be written.
    """
    content = encodable(_ended(text)).encode()
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # a device or a pipe cannot be replaced
        else:
            _replace(path.resolve(), content)
    except OSError as error:
        msg = f"cannot write {path}: {error.strerror or error}"
        raise OutputFailed(msg) from error


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(content)
        if path.exists():
            shutil.copymode(path, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def abandon_stdout() -> None:
    """Let what is left in the buffer of standard output go nowhere when Python exits."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        descriptor = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"
