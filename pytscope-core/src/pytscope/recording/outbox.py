"""Records on their way to the file, kept while the disk refuses them."""

from __future__ import annotations

from collections.abc import Callable

from pytscope.recording.files import RunFile
from pytscope.recording.harmless import warn_once

MAX_KEPT = 8 << 20
"""Bytes kept for a disk that refuses; beyond, blocks of steps are given up, oldest first."""
_STEPS = b'{"b":"steps"'


class Outbox:
    """Writes records in order; what the disk refuses is tried again with what follows.

    A full disk that is cleared, a file that is deleted and a mount that comes
    back cost nothing then, and what happened is in the record.

    Args:
        file: Where records go.
        event: Makes the record of an event of a kind, with a message.
    """

    def __init__(self, file: RunFile, event: Callable[[str, str], bytes]) -> None:
        self._file = file
        self._event = event
        self._kept: list[bytes] = []
        self._refused = 0
        self._given_up = 0
        self._why = ""
        self._vanished = False

    def send(self, records: list[bytes], *, last: bool = False) -> None:
        """Write records, after those that are kept.

        Args:
            records: The records; they may be none.
            last: Whether it is the last time: what is refused now is written
                as far as the disk has room for it, the short ones first of all.
        """
        self._kept += records
        if not self._kept and not last:
            return
        self._look_after(last=last)
        news = [self._recovered()] if self._refused else []
        kept, self._kept = self._kept, []  # rather lost than written twice
        try:
            self._file.write(b"".join(kept + news))
        except BaseException as error:
            self._kept = self._unwritten(kept)
            if not isinstance(error, OSError):
                raise
            self._refuse(error)
            if last:
                self._squeeze_in()
            return
        self._refused = self._given_up = 0

    def _unwritten(self, records: list[bytes]) -> list[bytes]:
        """The records without those that got into the file before it refused."""
        stuck = self._file.stuck
        for i, line in enumerate(records):
            if stuck < len(line):
                return records[i:]
            stuck -= len(line)
        return []

    def _refuse(self, error: OSError) -> None:
        self._why = error.strerror or type(error).__name__
        if not self._refused:
            warn_once(f"cannot write {self._file.path} ({self._why}); it is tried again")
            self._fits(self._event("write_failed", f"the disk refused records ({self._why})"))
        self._refused += 1
        size = sum(map(len, self._kept))
        for i, line in enumerate(self._kept):
            if size <= MAX_KEPT:
                break
            if line.startswith(_STEPS):
                size -= len(line)
                self._kept[i] = b""
                self._given_up += 1
        self._kept = [line for line in self._kept if line]

    def _recovered(self) -> bytes:
        times = "once" if self._refused == 1 else f"{self._refused:,} times"
        lost = f"{self._given_up:,} blocks of steps were given up" if self._given_up else ""
        return self._event(
            "write_failed",
            f"the disk refused records {times} ({self._why}); {lost or 'they were written later'}",
        )

    def _squeeze_in(self) -> None:
        """Write what there is room for, the short records even after a long one was refused."""
        short = True
        for line in self._kept:
            if short or not line.startswith(_STEPS):
                short = self._fits(line) and short

    def _fits(self, line: bytes) -> bool:
        try:
            self._file.write(line)
        except OSError:
            return False
        return True

    def _look_after(self, *, last: bool) -> None:
        """Put a deleted file back, if its folder is there and nobody is clearing it just now."""
        if not self._file.vanished:
            self._vanished = False
            return
        before, self._vanished = self._vanished, True
        if not before and not last:
            warn_once(f"{self._file.path} was deleted while recording")
            return
        try:
            self._file.put_back()
        except OSError as error:
            why = error.strerror or type(error).__name__
            if last:
                warn_once(f"{self._file.path} was deleted and is not to be had back ({why})")
            return
        self._vanished = False
        text = f"the run file was deleted while recording and written again as {self._file.path}"
        self._kept.append(self._event("warning", text))
