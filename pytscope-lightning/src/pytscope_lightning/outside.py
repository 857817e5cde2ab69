"""Evaluations outside of a fit: `Trainer.validate`, `test` and `predict`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pytscope.recording.harmless import harmless
from pytscope_lightning.touching import around
from pytscope_lightning.values import named
from pytscope_lightning.wrappers import Wrapper
from pytscope_torch.evaluating import Evaluating
from pytscope_torch.framework import LOGGING
from pytscope_torch.seams import Undo, put, together

LOOPS = {"validate": "validate_loop", "test": "test_loop", "predict": "predict_loop"}
"""The loop of a Trainer that runs in each, by what the Trainer calls it."""


class Outside:
    """Follows a Trainer from the `setup` of an evaluation to its `teardown`.

    Args:
        trainer: The Trainer.
        kind: What it is called: a key of `LOOPS`.
        run_dir: Folder of the run.
        options: Options of the callback.
        loaded: Takes the checkpoint that the model comes from.
        step: Tells how many steps the model has made.
    """

    def __init__(
        self,
        trainer: Any,
        kind: str,
        run_dir: str | os.PathLike[str],
        options: Mapping[str, Any],
        loaded: Callable[[Mapping[str, Any]], None],
        step: Callable[[], int],
    ) -> None:
        self._trainer = trainer
        self._make = partial(Evaluating, run_dir, kind, options)
        self._step = step
        loop, connector = getattr(trainer, LOOPS[kind]), trainer._checkpoint_connector  # noqa: SLF001  # it has the checkpoint
        self.undo = together(
            [
                put(loop, "run", Run(loop.run, self)),
                put(connector, "restore_model", Restore(connector.restore_model, loaded)),
            ]
        )

    def run(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The loop's run, recorded as one evaluation."""
        put_in: list[Undo] = []
        evaluating = None
        with harmless("recording an evaluation", always=True):
            evaluating = self._begun(put_in)
        try:
            out = method(*args, **kwargs)
        except BaseException as error:
            self._end(evaluating, put_in, error)
            raise
        self._end(evaluating, put_in, None)
        return out

    def _begun(self, put_in: list[Undo]) -> Evaluating | None:
        evaluating = self._make()
        touch = partial(around, evaluating, put_in)
        for logger in self._trainer.loggers:
            touch(logger, "log_metrics", LOGGING)

        def logged(values: Mapping[str, Any], *_: Any, **__: Any) -> None:
            evaluating.found(named(values))

        touch(self._trainer._logger_connector, "log_metrics", LOGGING, logged)  # noqa: SLF001  # all loggers' door
        return evaluating if evaluating.start(self._step()) else None

    def _end(
        self, evaluating: Evaluating | None, put_in: list[Undo], error: BaseException | None
    ) -> None:
        with harmless("finishing the recording of an evaluation"):
            together(put_in)()
            if evaluating is not None:
                evaluating.finish(error)


class Run(Wrapper):
    """`run` of a loop that evaluates.

    Args:
        method: The method, bound.
        outside: What records it.
    """

    __slots__ = ("_outside",)

    def __init__(self, method: Callable[..., Any], outside: Outside) -> None:
        super().__init__(method)
        self._outside = outside

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The loop's run."""
        return self._outside.run(self._method, *args, **kwargs)


class Restore(Wrapper):
    """`restore_model` of what reads checkpoints, of whose step the model is then.

    Args:
        method: The method, bound.
        loaded: Takes the checkpoint.
    """

    __slots__ = ("_loaded",)

    def __init__(
        self, method: Callable[..., Any], loaded: Callable[[Mapping[str, Any]], None]
    ) -> None:
        super().__init__(method)
        self._loaded = loaded

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """The model is restored, if there is a checkpoint."""
        self._method(*args, **kwargs)
        with harmless("reading the step from a checkpoint"):
            checkpoint = self._method.__self__._loaded_checkpoint  # noqa: SLF001  # as above
            if checkpoint:
                self._loaded(checkpoint)
