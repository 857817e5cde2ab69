"""Whether a recorder holds a file at the moment."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

HAS_LOCKS = False
with contextlib.suppress(ImportError):  # a platform without flock: no file is known to be live
    from fcntl import LOCK_NB, LOCK_SH, flock

    HAS_LOCKS = True


def is_held(path: str | Path) -> bool:
    """Tell whether another process holds a file's lock.

    The lock is tried shared and given back at once, so that a recorder about
    to start meets it for some microseconds only.

    Args:
        path: The file.

    Returns:
        False also when the platform or the file system has no locks.
    """
    if not HAS_LOCKS:
        return False
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        flock(fd, LOCK_SH | LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)  # gives the lock back
    return False
