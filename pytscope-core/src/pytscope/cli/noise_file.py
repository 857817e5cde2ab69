"""The file of `--noise-store`: read before a comparison, written after it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytscope.cli.output import say, write_file
from pytscope.diffing.noise import NoiseStore
from pytscope.model.errors import RunUnreadable, UsageError
from pytscope.runs.run import Run

try:
    import fcntl
except ImportError:  # a system without it
    fcntl = None  # type: ignore[assignment]  # then two that write at once may lose a run


def read_noise(path: Path | None) -> NoiseStore:
    """The store in a file; an empty one where there is no file.

    Raises:
        RunUnreadable: The file is no noise store; it is left as it is.
    """
    if path is None or not path.exists():
        return NoiseStore()
    try:
        return NoiseStore.read(path.read_text(encoding="utf-8"))
    except (UsageError, UnicodeDecodeError, OSError) as error:
        msg = f"{path}: {_reason(error)}"
        raise RunUnreadable(msg, hint="Name another file, or move this one away.") from error


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)


def add_noise(path: Path, runs: Iterable[Run]) -> None:
    """Add compared runs to the store in a file, unless that changes nothing.

    It is read once more, for another comparison may have added to it since.

    Raises:
        OutputFailed: It cannot be written.
        RunUnreadable: It is no noise store any more.
    """
    with _alone(path):
        before = read_noise(path)
        after, added = before, 0
        for run in runs:
            more = after.add(run)
            added += more is not after
            after = more
        if not added and path.exists():
            say(f"{path}: every run is there already, or holds no result to keep")
            return
        write_file(path, after.text())
    say(f"wrote {path} (noise store, {added} run{'' if added == 1 else 's'} more)")


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other comparisons from writing, by a lock on the folder, where there can be one.

    The file itself is replaced when it is written, and a lock on it with it.
    """
    with contextlib.ExitStack() as held:
        if fcntl is not None:
            with contextlib.suppress(OSError):
                folder = os.open(path.resolve().parent, os.O_RDONLY)
                held.callback(os.close, folder)
                fcntl.flock(folder, fcntl.LOCK_EX)
        yield
