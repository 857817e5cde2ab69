"""One training that is recorded: from `on_train_begin` to its end, however it ends."""

from __future__ import annotations

import weakref
from typing import Any

from accelerate.utils.memory import should_reduce_batch_size
from transformers import Trainer

from pytscope.recording.harmless import harmless, warn_once
from pytscope_hf.frames import loop_runs
from pytscope_hf.seams import PHASES, trainer_seams
from pytscope_hf.values import NAMES, Tokens
from pytscope_torch.auto import AutoProfiler
from pytscope_torch.framework import Told
from pytscope_torch.seams import Undo, together

NOTHING_LEFT = "there was nothing left to train"
LEFT = "the training loop was left, by an exception that nobody told of"


class Training:
    """Follows one training of a Trainer and tells its recording what only the Trainer knows.

    Args:
        profiler: The recording, started.
        args: The Trainer's arguments.
        state: Its state.

    Attributes:
        profiler: As given.
        tries_again: Whether the Trainer begins again when memory runs out.
    """

    def __init__(self, profiler: AutoProfiler, args: Any, state: Any) -> None:
        self.profiler = profiler
        self.tries_again = bool(args.auto_find_batch_size)
        self._tokens = Tokens(state, args.world_size)
        self._told = Told(profiler)
        self._failed = False
        self._first: int = state.global_step
        self._trainer: Any = _nobody
        self._put: list[Undo] = []
        self._undo = together(self._put)

    def follow(self, trainer: Any) -> None:
        """Put into the Trainer what tells of its phases and of its end.

        Args:
            trainer: The Trainer; None when it is not to be found, and nothing tells.
        """
        if trainer is not None:
            self._trainer = weakref.ref(trainer)
            self._told = Told(self.profiler, PHASES)
            trainer_seams(trainer, self._told, self._left, self.look, self._put)

    @property
    def recording(self) -> bool:
        """Whether it is being recorded."""
        return self.profiler.recording

    def goes_on(self, trainer: Any, model: Any, first: int) -> bool:
        """Whether a training that begins is the next try of this one, whose memory ran out.

        Steps of a try that made some are done again: that is another attempt.

        Args:
            trainer: The Trainer, or None.
            model: What it trains now.
            first: Global step that it begins at.
        """
        same = trainer is not None and self._trainer() is trainer
        if not (self._failed and same and self.recording) or self._told.steps or first:
            return False
        self._failed = False
        if model is not None:
            self._told.look_at(model)
        return True

    def step_ended(self, state: Any) -> None:
        """The Trainer counts a step."""
        if not self.profiler.stepped:  # by an optimizer that is none of torch's
            self.profiler.end_step()
        tokens = self._tokens.of_step(state)
        if tokens:
            self.profiler.log(tokens=tokens)

    def log(self, values: dict[str, Any]) -> None:
        """Record values that the Trainer logs.

        Args:
            values: By name. The learning rate is left out where each step has it: old
                versions of the Trainer log that of the next one.
        """
        if self._told.rated:
            values.pop(NAMES["learning_rate"], None)
        self.profiler.log(**values)

    def over(self, state: Any) -> None:
        """The training has come to its end, where it had anything to do.

        Args:
            state: The Trainer's state.
        """
        left = state.max_steps - self._first
        if left > 0 or state.global_step > self._first or not self.recording:
            self.end()
            return
        self._undo()
        self.profiler.step_aside(NOTHING_LEFT)
        warn_once(f"{NOTHING_LEFT}: the Trainer is at step {state.global_step}; none was recorded")

    def end(self, error: BaseException | None = None) -> None:
        """The training is over: end the attempt, leave the Trainer as it was.

        Args:
            error: What ended it, if it did not come to its end.
        """
        self._undo()
        if error is None:
            self.profiler.finish()
        else:
            self._told.cut_short()
            self.profiler.__exit__(type(error), error, error.__traceback__)

    def abandon(self, why: str) -> None:
        """The training is long over, nobody knows since when.

        Args:
            why: What ended it, for the record.
        """
        self._undo()
        self.profiler.abandon(why)

    def _left(self, error: BaseException) -> None:
        """An exception leaves the training loop."""
        with harmless("ending the recording"):
            if self.tries_again and should_reduce_batch_size(error):
                self._failed = True
                self._told.failed(error)
            else:
                self.end(error)

    def look(self, who: Any) -> None:
        """A method is called, outside of a phase, that the loop may no longer be around.

        Args:
            who: Whose method it is.
        """
        with harmless("looking for the training loop"):
            if self._told.here:
                trainer = self._trainer()
                another = who is not trainer and isinstance(who, Trainer)
                if trainer is None or not loop_runs(trainer if another else None):
                    self.abandon(LEFT)


def _nobody() -> None:
    """No Trainer."""
