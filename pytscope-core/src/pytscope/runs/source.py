"""`Source`: the declared object that opens something on disk as a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs

from pytscope.runs.run import Run


@attrs.frozen
class Source:
    """A source: opens something on disk as a run.

    Attributes:
        name: Value of `--source`.
        detects: Tells, cheaply, whether a path looks like the source's own.
        open: Opens the path, as `open(path, attempt=None)`; raises
            `RunUnreadable` when it cannot.
    """

    name: str
    detects: Callable[[Path], bool]
    open: Callable[..., Run]
