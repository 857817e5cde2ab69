"""Evaluations outside of training: each is an attempt of its own in the run, without a step.

What a framework does in `trainer.test()` is one phase, `eval`, but for what is told to
be another in it, such as `log`. Nothing is put into PyTorch for that.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytscope.recording import lifecycle
from pytscope.recording.harmless import warn_once
from pytscope.recording.header import group_adapter
from pytscope.recording.keys import Open
from pytscope.recording.profiler import Profiler
from pytscope.recording.rank import detect_rank
from pytscope.runs.locks import is_held
from pytscope_torch.framework import EVAL

MOST = 256
"""Evaluations outside of training that one process records, at a few kilobytes each."""
TOO_MANY = f"more than {MOST} evaluations outside of training: further ones are not recorded"
LEFT_OUT = frozenset(("run_dir", "config", "collect_memory", "collectors", "warmup", "flush_every"))
TAKEN = frozenset(inspect.signature(Profiler).parameters) - LEFT_OUT
"""Options of a callback that an evaluation is recorded with, too."""


class Evaluator(Profiler):
    """Records one evaluation.

    Args:
        run_dir: Folder of the run.
        kind: What it was called by, such as `test`.
        options: Those that the training is recorded with.
    """

    __slots__ = ()

    def __init__(
        self, run_dir: str | os.PathLike[str], kind: str, options: Mapping[str, Any]
    ) -> None:
        super().__init__(run_dir, **{k: v for k, v in options.items() if k in TAKEN})
        self._fields["evaluates"] = kind

    def is_last(self) -> None:
        """Note that this process records no further one."""
        self._writer.note("limit", {"what": "evaluations of one process", "limit": MOST})


def recorded_now(folder: Path) -> bool:
    """Whether this process or another one is recording this rank's file in a folder."""
    rank = detect_rank(os.environ, group_adapter()).rank
    return lifecycle.is_recorded(folder, rank) or is_held(folder / f"rank{rank:05d}.pts")


class Evaluating:
    """One evaluation outside of training that is being recorded, or is not.

    It stands where `Told` does for a training: `enter` and `leave` open and close
    what is another phase in it.

    Args:
        run_dir: Folder of the run.
        kind: What it was called by, such as `test`.
        options: Those that the training is recorded with.
    """

    __slots__ = ("_blocks", "_profiler")

    inside = True
    """As of `Told`: all of it is one phase as a whole."""
    made = 0
    """Evaluations that this process has recorded."""

    def __init__(
        self, run_dir: str | os.PathLike[str], kind: str, options: Mapping[str, Any]
    ) -> None:
        self._profiler = Evaluator(run_dir, kind, options)
        self._blocks: list[Any] = []

    def start(self, step: int) -> bool:
        """Start, unless this or another process is recording into the same file.

        Args:
            step: Steps that the model has made.

        Returns:
            Whether it is recorded.
        """
        if recorded_now(self._profiler.folder):
            return False
        if Evaluating.made >= MOST:
            warn_once(TOO_MANY)
            return False
        self._profiler.start(step)
        if not self._profiler.recording:
            return False
        Evaluating.made += 1
        if Evaluating.made == MOST:
            self._profiler.is_last()
        self.enter(EVAL)
        return True

    def enter(self, key: Open) -> None:
        """Open a block of a phase."""
        block = self._profiler.phase(key.name)
        block.__enter__()
        self._blocks.append(block)

    def leave(self, _key: Open, _error: BaseException | None = None) -> None:
        """Close the innermost block."""
        if self._blocks:
            self._blocks.pop().__exit__(None, None, None)

    def found(self, values: Mapping[str, Any]) -> None:
        """Record values that were found."""
        self._profiler.log(**values)

    def finish(self, error: BaseException | None = None) -> None:
        """It is over.

        Args:
            error: The exception that ended it.
        """
        while self._blocks:
            self.leave(EVAL)
        trace = None if error is None else error.__traceback__
        self._profiler.__exit__(None if error is None else type(error), error, trace)
