"""The run file: opened for append, locked by one process, written in whole records."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

try:
    import fcntl
except ImportError:  # no flock on this platform: a second process is not noticed
    fcntl = None  # type: ignore[assignment]

MAX_SECOND_FILES = 1000
_LENGTH = re.compile(rb'"len":(\d+)')
_MAX_LINE = 1 << 24


class Opened(NamedTuple):
    """A file ready for an attempt's records.

    Attributes:
        file: The open file.
        attempt: Ordinal of the attempt in it.
        second: Whether another live process holds the rank's own file.
    """

    file: RunFile
    attempt: int
    second: bool


class RunFile:
    """An append-only file; every `write` is one system call unless the disk cuts it short.

    Attributes:
        path: Where it is.
    """

    def __init__(self, path: Path, fd: int, *, torn: bool) -> None:
        self.path = path
        self._fd = fd
        self._torn = torn

    def write(self, data: bytes) -> None:
        """Append bytes.

        Raises:
            OSError: The disk refused; what was written before is a torn
                record, which the next write first ends.
        """
        left = memoryview(b"\n" + data if self._torn else data)
        while left:
            written = os.write(self._fd, left)
            self._torn = self._torn or written > 0
            left = left[written:]
        self._torn = False

    @property
    def vanished(self) -> bool:
        """Whether the file was unlinked under the recorder."""
        return os.fstat(self._fd).st_nlink == 0

    def close(self) -> None:
        """Close the file; the lock goes with it."""
        os.close(self._fd)


def open_run_file(folder: Path, rank: int) -> Opened:
    """Open a rank's file for the next attempt, making the folder if need be.

    When another live process holds it, the next free `rankNNNNN.K.pts` is taken.

    Raises:
        OSError: The folder or file cannot be made or opened.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(MAX_SECOND_FILES):
        path = folder / (f"rank{rank:05d}.pts" if not k else f"rank{rank:05d}.{k}.pts")
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
        try:
            if _locked(fd):
                size = os.fstat(fd).st_size
                os.lseek(fd, max(0, size - 1), os.SEEK_SET)
                torn = bool(size) and os.read(fd, 1) != b"\n"
                return Opened(RunFile(path, fd, torn=torn), _attempts(path), second=k > 0)
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
    msg = f"{MAX_SECOND_FILES} processes already record rank {rank} in {folder}"
    raise OSError(msg)


def _locked(fd: int) -> bool:
    if fcntl is None:
        return True  # type: ignore[unreachable]  # reached where the import failed
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _attempts(path: Path) -> int:
    """Attempts the file already holds, hopping from header to header."""
    count = 0
    with path.open("rb") as lines:
        while line := lines.readline(_MAX_LINE):
            if line.startswith(b'{"b":"run"'):
                count += 1
            elif line.startswith(b'{"b":') and (found := _LENGTH.search(line, len(line) - 60)):
                lines.seek(int(found[1]) + 1, os.SEEK_CUR)
    return count
