"""Writing: the report to standard output or files, everything else to standard error."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TextIO

from pytscope.model.errors import PytscopeError
from pytscope.model.escaping import encodable, visible


class OutputFailed(PytscopeError):
    """A report could not be written."""


class ReaderGone(Exception):
    """Nobody reads standard output any more; there is nothing to say about it."""


_CUT = b"\n\n(cut: this file may hold no more)\n"
"""Ends what is added to a file that would grow too large."""
_reserved: list[TextIO] = []
"""The stream that is the report's alone, once there is one: as global as standard output."""


def report_stream() -> TextIO | None:
    """Where reports and pages go; None when standard output is closed."""
    return _reserved[-1] if _reserved else sys.stdout


def reserve(stream: TextIO) -> None:
    """Send reports and pages to a stream from now on."""
    _reserved.append(stream)


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
    stream = report_stream()
    if stream is None:  # `>&-` leaves none
        msg = "standard output is closed"
        raise OutputFailed(msg)
    try:
        stream.write(encodable(ended(text), stream.encoding or "ascii"))
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
    with written(path) as file:
        file.write(encodable(ended(text)).encode())


def add_to_file(path: Path, text: str, what: str, most_bytes: int) -> None:
    """Add a report to the end of a file, in UTF-8, as far as the file may grow.

    Args:
        path: The file; made if it is not there.
        text: What to add.
        what: What the file is, for the message.
        most_bytes: Bytes that the file may hold in the end.

    Raises:
        OutputFailed: It cannot be written.
    """
    data = encodable(ended(text)).encode()
    try:
        with path.open("ab") as file:
            room = most_bytes - os.fstat(file.fileno()).st_size
            if len(data) > room:
                data = data[: max(0, room - len(_CUT))].decode("utf-8", "ignore").encode() + _CUT
            if len(data) <= room:
                file.write(data)
    except OSError as error:
        msg = f"cannot write {what} {path}: {error.strerror or error}"
        raise OutputFailed(msg) from error
    if len(data) > room:
        msg = f"cannot write {what} {path}: it holds all that it may, {most_bytes:,} bytes"
        raise OutputFailed(msg)


@contextlib.contextmanager
def written(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to that takes its place when all is written, and not before.

    A device or a pipe cannot be replaced and is written to at once.

    Raises:
        OutputFailed: It cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
        else:
            with _draft(path.resolve()) as file:
                yield file
    except OSError as error:
        msg = f"cannot write {path}: {error.strerror or error}"
        raise OutputFailed(msg) from error


@contextlib.contextmanager
def _draft(path: Path) -> Iterator[IO[bytes]]:
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with draft.open("wb") as file:
            yield file
        if path.exists():
            shutil.copymode(path, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def abandon_stdout() -> None:
    """Let what is left in the buffer of standard output go nowhere when Python exits."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        descriptor = report_stream().fileno()  # type: ignore[union-attr]  # None is suppressed
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def ended(text: str) -> str:
    """Text that ends with a newline, unless it is empty."""
    return text if text.endswith("\n") or not text else text + "\n"
