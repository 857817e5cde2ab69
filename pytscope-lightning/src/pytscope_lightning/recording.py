"""The recording of one `Trainer.fit`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from torch import nn

from pytscope.recording.harmless import warn_once
from pytscope_lightning.settings import settings
from pytscope_lightning.touching import TOLD, touch
from pytscope_lightning.values import Losses, learning_rates, named
from pytscope_torch.auto import AutoProfiler
from pytscope_torch.framework import Told
from pytscope_torch.seams import Undo, together

CONTAINERS = (nn.ModuleList, nn.ModuleDict)
"""Modules that are not called themselves."""
NOTHING_LEFT = "there was nothing left to train"


class Recording:
    """An `AutoProfiler` of a Trainer's model and optimizer, and what the Trainer tells it.

    Args:
        trainer: The Trainer, its strategy set up.
        module: Its LightningModule.
        run_dir: Folder of the run.
        options: Further arguments of `AutoProfiler`.
    """

    def __init__(
        self,
        trainer: Any,
        module: Any,
        run_dir: str | os.PathLike[str],
        options: Mapping[str, Any],
    ) -> None:
        self._trainer = trainer
        self._module = module
        optimizers = trainer.optimizers
        given = {"config": settings(trainer, module), **options}
        owner = optimizers[0] if optimizers else None
        self.profiler = AutoProfiler(run_dir, called(trainer, module), owner, **given)
        self._losses = Losses()
        self._first = 0
        self._steps = 0
        self._trained = False

    def start(self, step: int) -> bool:
        """Start; tell whether this process records.

        Args:
            step: Number of the first step.
        """
        self._first = step
        self.profiler.start(step)
        if not self.profiler.recording:
            return False
        self._told = Told(self.profiler, TOLD)
        undo: list[Undo] = []
        self._undo = together(undo)
        try:
            touch(self._trainer, self._module, self._told, self.metrics, undo)
        except Exception:
            self.finish(None)
            raise
        return True

    def finish(self, error: BaseException | None) -> None:
        """Finish, and leave the Trainer as it was.

        Args:
            error: The exception that ended the fit.
        """
        self._undo()
        if error is None and not self._trained and nothing_left(self._trainer):
            self.profiler.step_aside(NOTHING_LEFT)
            warn_once(
                f"{NOTHING_LEFT}: the Trainer is at step {self.global_step}; none was recorded"
            )
            return
        if error is not None:
            self._told.cut_short()
        trace = None if error is None else error.__traceback__
        self.profiler.__exit__(None if error is None else type(error), error, trace)

    @property
    def global_step(self) -> int:
        """Lightning's number of the next step."""
        return int(self._trainer.global_step)

    @property
    def next_step(self) -> int:
        """The run's number of the next step."""
        return self._first + self._told.steps

    def rates(self, optimizer: Any) -> None:
        """Record the learning rates of an optimizer that is about to step."""
        self.profiler.log(**learning_rates(self._trainer.optimizers, optimizer))

    def loss(self, outputs: Any) -> None:
        """Record the loss of the step that the batch has ended; else keep it for that step.

        Args:
            outputs: What a training step gave.
        """
        self._trained = True
        self._losses.add(outputs)
        if self._told.steps == self._steps:
            return
        self._steps = self._told.steps
        automatic = self._module.automatic_optimization
        scale = self._trainer.accumulate_grad_batches if automatic else 1
        self.profiler.log(loss=self._losses.taken(scale))

    def metrics(self, metrics: Mapping[str, Any]) -> None:
        """Record what is written to the loggers."""
        self.profiler.log(**named(metrics))


def nothing_left(trainer: Any) -> bool:
    """Whether a Trainer has made all the epochs, or all the steps, that it was to make."""
    done = ((trainer.current_epoch, trainer.max_epochs), (trainer.global_step, trainer.max_steps))
    return any(most is not None and 0 < most <= made for made, most in done)


def called(trainer: Any, module: Any) -> list[nn.Module]:
    """The modules whose calls are forward passes.

    In automatic optimization Lightning tells of those. In manual optimization
    they are calls that `training_step` makes: of the module and its parts; not
    of the module where a parallel wrapper runs all of `training_step` in a call of it.
    """
    if module.automatic_optimization:
        return [module]
    parts = [part for part in _parts(module) if any(True for _ in part.parameters())]
    return [module, *parts] if trainer.strategy.model is module else parts


def _parts(module: nn.Module) -> Iterator[nn.Module]:
    for part in module.children():
        if isinstance(part, CONTAINERS):
            yield from _parts(part)
        else:
            yield part
