"""Where a recording touches a Trainer: attributes of its parts, put back when the fit is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pytscope.recording.harmless import warn_once
from pytscope.recording.keys import Open
from pytscope_lightning.edges import Edges, phases_of
from pytscope_lightning.fetching import fetchers
from pytscope_lightning.wrappers import Around, Profile, Start, Stop
from pytscope_torch.evaluating import Evaluating
from pytscope_torch.framework import CHECKPOINT, EVAL, LOGGING, Told
from pytscope_torch.seams import Undo, put

TOLD = ("data", "h2d", "forward", "eval", "checkpoint", "log")
"""Phases that are told of whenever they occur."""

IDLE = "PassThroughProfiler"
"""The profiler of a Trainer that was given none."""


def touch(
    trainer: Any,
    module: Any,
    told: Told,
    metrics: Callable[[Mapping[str, Any]], None],
    undo: list[Undo],
) -> None:
    """Have a Trainer tell what its time goes to.

    Args:
        trainer: The Trainer.
        module: Its LightningModule.
        told: Where to.
        metrics: Takes what is written to the loggers.
        undo: Takes what puts everything back.
    """
    edges = Edges(told, phases_of(trainer, module))
    profiler = trainer.profiler
    undo.append(put(profiler, "start", Start(profiler.start, edges)))
    undo.append(put(profiler, "stop", Stop(profiler.stop, edges)))
    if type(profiler).__name__ == IDLE:
        undo.append(put(profiler, "profile", Profile(profiler.profile, edges)))
    if told.fingerprints is not None:
        fetchers(trainer, told.fingerprints, undo)
    touched = partial(around, told, undo)
    touched(trainer.fit_loop.epoch_loop.val_loop, "run", EVAL)
    touched(trainer, "save_checkpoint", CHECKPOINT)
    touched(trainer.strategy, "remove_checkpoint", CHECKPOINT)
    for logger in trainer.loggers:
        touched(logger, "log_metrics", LOGGING)

    def logged(values: Mapping[str, Any], *_: Any, **__: Any) -> None:
        metrics(values)

    touched(trainer._logger_connector, "log_metrics", LOGGING, logged)  # noqa: SLF001  # all loggers' door


def around(
    told: Told | Evaluating,
    undo: list[Undo],
    owner: Any,
    name: str,
    key: Open,
    after: Callable[..., None] | None = None,
) -> None:
    """Make a method a block of a phase.

    Args:
        told: Where to.
        undo: Takes what puts it back.
        owner: Whose method it is.
        name: Its name.
        key: The phase.
        after: Called with the method's arguments when it is over, or None.
    """
    method = getattr(owner, name, None)
    if method is None:
        kind = type(owner).__name__
        warn_once(f"this version of Lightning has no {kind}.{name}: its time is not told apart")
        return
    undo.append(put(owner, name, Around(method, told, key, after)))
