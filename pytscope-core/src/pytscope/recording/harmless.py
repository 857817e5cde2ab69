"""The one place that keeps the recorder's own faults away from training."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

LOG = logging.getLogger("pytscope")
_said: set[str] = set()


def warn_once(message: str) -> bool:
    """Log a warning the first time it comes up in this process.

    A log record rather than a `warnings.warn`, which strict programs turn
    into an exception.
    """
    if message in _said:
        return False
    _said.add(message)
    LOG.warning("pytscope: %s", message)
    return True


@contextmanager
def harmless(doing: str) -> Iterator[None]:
    """Turn any exception of the recorder into a warning: training goes on."""
    try:
        yield
    except Exception as error:  # the promise: nothing leaves the recorder
        LOG.debug("pytscope: %s", doing, exc_info=True)
        warn_once(f"{doing} failed ({type(error).__name__}: {error}); training goes on")
