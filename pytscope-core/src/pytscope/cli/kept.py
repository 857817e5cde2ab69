"""Output that would be written over what a command reads is refused."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytscope.model.errors import UsageError

_RECORDED = ("steps.jsonl", "run.json")
"""Files of a run of 0.2.x; those of others end in `.pts`."""


def must_be_elsewhere(outputs: Iterable[Path | None], run: Path, hint: str) -> None:
    """Keep the files of a run from being written over.

    Args:
        outputs: Files to write; None is standard output.
        run: The run that is read.
        hint: What to do instead.

    Raises:
        UsageError: One of them is a file of the run.
    """
    source = run.resolve()
    for output in filter(None, outputs):
        target = output.resolve()
        recorded = target.suffix == ".pts" or target.name in _RECORDED
        if target == source or (recorded and source in target.parents):
            msg = f"{output} is part of the run itself"
            raise UsageError(msg, hint=hint)


def must_not_replace(outputs: Iterable[Path | None], kept: Path | None, what: str) -> None:
    """Keep a file that another part of the command reads or writes.

    Args:
        outputs: Files to write; None is standard output.
        kept: The file, or None when there is none.
        what: What it is, such as `the baseline`.

    Raises:
        UsageError: One of them is that file.
    """
    if kept is None:
        return
    for output in filter(None, outputs):
        if output.resolve() == kept.resolve():
            msg = f"{output} is {what}, which would be written over"
            raise UsageError(msg, hint="Give what is written a file of its own.")
