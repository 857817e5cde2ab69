"""What is put into a Trainer's class while one of its trainings is recorded, and taken out again.

The Trainer's events tell when an evaluation or a checkpoint is over, not when it
began, and none comes when an exception ends the training. So the methods that
evaluate, save and log are blocks of their phase, both edges exact, and those
that the training loop calls tell of the exception that leaves it. A method is
put over where the trainer's own class has it, overridden or not.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from torch.utils.data import dataloader as _loaders

from pytscope.recording.keys import Open
from pytscope_hf.frames import called_by_loop
from pytscope_torch.evaluating import Evaluating
from pytscope_torch.framework import CHECKPOINT, EVAL, LOGGING, Told
from pytscope_torch.seams import Undo, put

PHASES = ("eval", "checkpoint", "log")
BLOCKS = {
    "_evaluate": EVAL,
    "evaluate": EVAL,
    "predict": EVAL,
    "_save_checkpoint": CHECKPOINT,
    "save_model": CHECKPOINT,
    "_load_best_model": CHECKPOINT,
    "log": LOGGING,
}
"""Methods of a Trainer that are one phase as a whole, but for those of the others inside."""
LOGS = "_maybe_log_save_evaluate"
"""The method that reads the loss and the gradient norm for the log, then does all the others."""
WHOLE = ("_run_epoch", "_finalize_training", "_evaluate")
"""Methods that a training consists of, in versions of the Trainer that have the first."""
PARTS = (
    "training_step",
    "get_batch_samples",
    LOGS,
    "_evaluate",
    "_load_rng_state",
    "_load_best_model",
    "log",
)
"""What the loop calls in the others."""

SAVES = {
    "save_state": CHECKPOINT,
    "save_model": CHECKPOINT,
    "load_state": CHECKPOINT,
    "log": LOGGING,
}
"""Methods of an Accelerator that are one phase as a whole."""

Left = Callable[[BaseException], None]
Look = Callable[[Any], None]


def trainer_seams(trainer: Any, told: Told, left: Left, before: Look, undo: list[Undo]) -> None:
    """Put blocks and look-outs into the class of a trainer.

    Args:
        trainer: The trainer.
        told: Of its recording.
        left: Called with the exception that leaves its training loop; must not raise.
        before: Called before a block that is not inside of another, with whose method it
            is; must not raise.
        undo: What takes them out again is added to it.
    """
    kind = type(trainer)
    for name, key in BLOCKS.items():
        undo += over(kind, name, partial(block, told, key, before))
    undo += over(kind, LOGS, partial(logging, told))
    handler = type(getattr(trainer, "callback_handler", None))
    undo += over(handler, "on_save", partial(block, told, CHECKPOINT, before))
    for owner, name in look_outs(kind, handler):
        undo += over(owner, name, partial(looking_out, left, weakref.ref(trainer)))


def evaluation_seams(trainer: Any, told: Evaluating, undo: list[Undo]) -> None:
    """Put into the class of a trainer what tells of another phase in an evaluation.

    Args:
        trainer: The trainer.
        told: Of the evaluation.
        undo: What takes it out again is added to it.
    """
    undo += over(type(trainer), "log", partial(block, told, LOGGING, None))


def look_outs(kind: type[Any], handler: type[Any]) -> Iterator[tuple[type[Any], str]]:
    """Methods through which an exception passes that ends the training."""
    if hasattr(kind, WHOLE[0]):
        yield from ((kind, name) for name in WHOLE)
        yield handler, "call_event"
        return
    yield from ((kind, name) for name in PARTS)
    yield handler, "call_event"
    from accelerate.optimizer import AcceleratedOptimizer

    yield AcceleratedOptimizer, "step"
    if not hasattr(kind, "get_batch_samples"):
        for name in ("_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"):
            yield getattr(_loaders, name, object), "_next_data"


def accelerator_seams(kind: type[Any], told: Told, undo: list[Undo]) -> None:
    """Put blocks into the class of an accelerator.

    Args:
        kind: The class.
        told: Of the recording.
        undo: What takes them out again is added to it.
    """
    for name, key in SAVES.items():
        undo += over(kind, name, partial(block, told, key, None))


def block(
    told: Told | Evaluating, key: Open, before: Look | None, method: Callable[..., Any]
) -> Callable[..., Any]:
    """A method as a block of a phase."""

    @functools.wraps(method)
    def stamped(*args: Any, **kwargs: Any) -> Any:
        if before is not None and not told.inside:
            before(args[0] if args else None)
        told.enter(key)
        try:
            return method(*args, **kwargs)
        finally:
            told.leave(key)

    return stamped


def logging(told: Told, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method that may log, evaluate and save: a block of `log` when it logs."""

    @functools.wraps(method)
    def stamped(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.control.should_log:
            return method(self, *args, **kwargs)
        told.enter(LOGGING)
        try:
            return method(self, *args, **kwargs)
        finally:
            told.leave(LOGGING)

    return stamped


def looking_out(
    left: Left, trainer: Callable[[], Any], method: Callable[..., Any]
) -> Callable[..., Any]:
    """A method that tells of the exception that leaves it and then the trainer's loop."""

    @functools.wraps(method)
    def watched(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except StopIteration:
            raise
        except BaseException as error:
            if called_by_loop(trainer()):
                left(error)
            raise

    return watched


def over(
    kind: type[Any], name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> list[Undo]:
    """Put something over a method, in the class that defines it; nothing where there is none.

    Args:
        kind: A class that has the method.
        name: The method's name.
        make: Makes of the method what is put over it.
    """
    owner = next((cls for cls in kind.__mro__ if name in vars(cls)), None)
    method = vars(owner)[name] if owner is not None else None
    return [put(owner, name, make(method))] if inspect.isfunction(method) else []
