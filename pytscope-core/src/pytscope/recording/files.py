"""The run file: opened for append, locked by one process, written in whole records."""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

try:
    import fcntl
except ImportError:  # no flock on this platform: a second process is not noticed
    fcntl = None  # type: ignore[assignment]

MAX_SECOND_FILES = 1000
_LENGTH = re.compile(rb'"len":(\d+)')
_MAX_LINE = 1 << 24
_PART = 1 << 20
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)


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
        path: Where it is, absolute.
        rank: Rank it belongs to.
        stuck: Bytes of a refused write that are in the file all the same.
    """

    def __init__(self, path: Path, rank: int, fd: int, *, torn: bool) -> None:
        self.path = path
        self.rank = rank
        self.stuck = 0
        self._fd = fd
        self._torn = torn

    def write(self, data: bytes) -> None:
        """Append bytes, all of them or none.

        Raises:
            OSError: The disk refused. Where it does not even let go of a
                part that it took, `stuck` says so, and the next write first
                ends the torn record.
        """
        self.stuck = 0
        before = os.fstat(self._fd).st_size
        left = memoryview(b"\n" + data if self._torn else data)
        try:
            while left:
                left = left[os.write(self._fd, left) :]
            self._torn = False
        except BaseException:  # Ctrl-C between two parts too
            self._take_back(before)
            raise

    def _take_back(self, size: int) -> None:
        try:
            os.ftruncate(self._fd, size)
        except OSError:
            with suppress(OSError):
                self.stuck = max(0, os.fstat(self._fd).st_size - size - self._torn)
            self._torn = self._torn or self.stuck > 0

    @property
    def vanished(self) -> bool:
        """Whether the file was unlinked under the recorder."""
        return os.fstat(self._fd).st_nlink == 0

    def put_back(self) -> None:
        """Give an unlinked file its place in the folder again, with all that it holds.

        When another file has taken its name, it is written behind that one's
        records, or beside it if a live process records there.

        Raises:
            OSError: The folder is gone too, or the disk refuses.
        """
        fd, path, _ = _first_free(self.path.parent, self.rank)
        size = os.fstat(fd).st_size
        try:
            if _torn(fd):
                os.write(fd, b"\n")
            _copy(self._fd, fd)
        except OSError:
            _dispose(fd, path, size)
            raise
        os.close(self._fd)
        self._fd, self.path = fd, path

    def close(self) -> None:
        """Close the file; the lock goes with it."""
        os.close(self._fd)


def open_run_file(folder: Path, rank: int) -> Opened:
    """Open a rank's file for the next attempt, making the folder if need be.

    When another live process holds it, the next free `rankNNNNN.K.pts` is taken.

    Raises:
        OSError: The folder or file cannot be made or opened, or is no plain file.
    """
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    fd, path, second = _first_free(folder, rank)
    try:
        return Opened(RunFile(path, rank, fd, torn=_torn(fd)), _attempts(path), second)
    except BaseException:
        os.close(fd)
        raise


def _first_free(folder: Path, rank: int) -> tuple[int, Path, bool]:
    """Descriptor and path of the first of a rank's files that no live process holds."""
    for k in range(MAX_SECOND_FILES):
        path = folder / (f"rank{rank:05d}.pts" if not k else f"rank{rank:05d}.{k}.pts")
        fd = os.open(path, _FLAGS, 0o644)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "not a plain file", str(path))  # noqa: TRY301  # closes it
            if _locked(fd):
                return fd, path, k > 0
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
    msg = f"{MAX_SECOND_FILES} processes already record rank {rank} in {folder}"
    raise OSError(msg)


def _torn(fd: int) -> bool:
    """Whether a file ends in a record that was cut short."""
    size = os.fstat(fd).st_size
    os.lseek(fd, max(0, size - 1), os.SEEK_SET)
    return bool(size) and os.read(fd, 1) != b"\n"


def _copy(source: int, target: int) -> None:
    os.lseek(source, 0, os.SEEK_SET)
    while part := os.read(source, _PART):
        left = memoryview(part)
        while left:
            left = left[os.write(target, left) :]


def _dispose(fd: int, path: Path, size: int) -> None:
    """Leave a file as it was found: of the size it had, or not there."""
    with suppress(OSError):
        if size:
            os.ftruncate(fd, size)
        else:
            path.unlink()
    os.close(fd)


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
