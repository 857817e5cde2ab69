"""`PytscopeCallback`: records what a Hugging Face Trainer trains."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers import Trainer, TrainerCallback

from pytscope.recording.harmless import harmless, warn_once
from pytscope_hf.frames import caller, loop_runs
from pytscope_hf.outside import watch
from pytscope_hf.seams import evaluation_seams
from pytscope_hf.training import LEFT, Training
from pytscope_hf.values import logged
from pytscope_torch.auto import AutoProfiler
from pytscope_torch.evaluating import Evaluating
from pytscope_torch.framework import check_options
from pytscope_torch.seams import Undo, together

GIVEN = dict.fromkeys(("model", "optimizer"), "it records the Trainer's own")
"""Arguments of `AutoProfiler` that the Trainer gives."""
TRIES = "memory ran out after some steps; the Trainer begins again with a smaller batch"


class PytscopeCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not looked into
    """Records each `Trainer.train()` as an attempt of a run, and evaluations outside of one.

        trainer = Trainer(model, args, train_dataset=…, callbacks=[PytscopeCallback("runs/exp")])
        trainer.train()

    Phases are those of `AutoProfiler`, and `eval`, `checkpoint` and `log` as the
    Trainer's own. A step is one of `state.global_step`; `resume_from_checkpoint`
    continues the run as a new attempt. What the Trainer logs is recorded when it
    logs it; nothing waits for a device in between.

    Nothing in here raises into training or changes it: what cannot be recorded
    is said once in the `pytscope` log and in the report.

    Args:
        run_dir: Folder of the run; None is the Trainer's `output_dir`.
        **options: Any other argument of `pytscope.auto.AutoProfiler`, such as
            `distributed=True` to record every rank.

    Raises:
        TypeError: There is no such option.
    """

    def __init__(self, run_dir: str | os.PathLike[str] | None = None, **options: Any) -> None:
        """Nothing is recorded before `Trainer.train()`; the class says what the arguments mean."""
        super().__init__()
        check_options("PytscopeCallback", options, GIVEN)
        self.run_dir = run_dir
        self.options = options
        self._training: Training | None = None
        self._evaluating: Evaluating | None = None
        self._best = 0

    def __getstate__(self) -> dict[str, Any]:
        """A copy, here or in another process, is an idle callback of the same settings."""
        return {**self.__dict__, "_training": None, "_evaluating": None}

    @property
    def profiler(self) -> AutoProfiler | None:
        """The `AutoProfiler` of the training that is going on, or None."""
        training = self._training
        return training.profiler if training is not None and training.recording else None

    def on_init_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002  # an event's arguments
        """Look out for evaluations outside of training."""
        with harmless("looking for the Trainer"):
            watch(caller(Trainer), recorded)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002  # as above
        """Start an attempt, at the Trainer's global step."""
        with harmless("starting the recording", always=True):
            trainer = caller(Trainer)
            watch(trainer, recorded)  # added to it later
            self._best = 0
            self._begin(args, state, trainer, kwargs)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002  # as above
        """Note what belongs to each step."""
        if self._training is not None:
            with harmless("noting a step"):
                self._training.step_ended(state)

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002  # as above
        """Record what the Trainer logs: losses, gradient norm, learning rate, metrics."""
        self._found(kwargs.get("logs"), state)

    def on_predict(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002  # as above
        """Record the metrics of a prediction, which the Trainer does not log."""
        self._found(kwargs.get("metrics"), state)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002  # as above
        """End the attempt."""
        training, self._training = self._training, None
        if training is not None:
            with harmless("finishing the recording"):
                training.over(state)
        with harmless("noting which model is the best"):
            self._best = best_step(args, state)

    def evaluated(self, trainer: Any, name: str, call: Callable[[], Any]) -> Any:
        """Record what a Trainer evaluates outside of training, as a part of the run.

        Args:
            trainer: The Trainer.
            name: The method that does.
            call: Its call.
        """
        evaluating, undo = None, list[Undo]()
        with harmless("recording an evaluation", always=True):
            evaluating = self._evaluation(trainer, name, undo)
        if evaluating is None:
            together(undo)()
            return call()
        self._evaluating = evaluating
        try:
            out = call()
        except BaseException as error:
            self._evaluated(undo, error)
            raise
        self._evaluated(undo, None)
        return out

    def _evaluation(self, trainer: Any, name: str, undo: list[Undo]) -> Evaluating | None:
        if self._training is not None:
            self._training.look(trainer)
        if self.profiler is not None or self._evaluating is not None or loop_runs(trainer):
            return None
        evaluating = Evaluating(self._folder(trainer.args), name, self._named(trainer.args))
        evaluation_seams(trainer, evaluating, undo)
        return evaluating if evaluating.start(self._best or trainer.state.global_step) else None

    def _evaluated(self, undo: list[Undo], error: BaseException | None) -> None:
        evaluating, self._evaluating = self._evaluating, None
        with harmless("finishing the recording of an evaluation"):
            together(undo)()
            if evaluating is not None:
                evaluating.finish(error)

    def _found(self, values: Any, state: Any) -> None:
        with harmless("recording what the Trainer logs"):
            if self._training is not None:
                self._training.log(logged(values or {}, state))
            elif self._evaluating is not None:
                self._evaluating.found(logged(values or {}, state))

    def _begin(self, args: Any, state: Any, trainer: Any, around: dict[str, Any]) -> None:
        first = callback_of(trainer) or self
        if first is not self:
            warn_once(
                f"the Trainer has more than one PytscopeCallback: the first records into "
                f"{first._folder(args)}, that for {self._folder(args)} does not record"  # noqa: SLF001  # one of us
            )
            return
        model = getattr(trainer, "model_wrapped", None)
        model = model if model is not None else around.get("model")
        before, self._training = self._training, None
        if before is not None:
            if before.goes_on(trainer, model, state.global_step):
                self._training = before
                return
            before.abandon(TRIES if before.tries_again else LEFT)
        profiler = AutoProfiler(
            self._folder(args), model, around.get("optimizer"), **self._named(args)
        )
        profiler.start(state.global_step)
        if profiler.recording:
            self._training = self._followed(Training(profiler, args, state), trainer)

    def _followed(self, training: Training, trainer: Any) -> Training:
        followed = False
        try:
            training.follow(trainer)
            followed = True
        finally:
            if not followed:
                training.end()
        return training

    def _folder(self, args: Any) -> str | os.PathLike[str]:
        return args.output_dir if self.run_dir is None else self.run_dir

    def _named(self, args: Any) -> dict[str, Any]:
        """The options, with a name and the Trainer's arguments where none were given."""
        options = dict(self.options)
        if self.run_dir is None:
            options.setdefault("name", Path(os.path.abspath(args.output_dir)).name)  # noqa: PTH100  # resolves no link
        options.setdefault("config", args.to_sanitized_dict())
        return options


def callback_of(trainer: Any) -> PytscopeCallback | None:
    """The callback that records a Trainer: the first of its kind."""
    handler = getattr(trainer, "callback_handler", None)
    ours = (c for c in getattr(handler, "callbacks", ()) if isinstance(c, PytscopeCallback))
    return next(ours, None)


def recorded(trainer: Any, name: str, call: Callable[[], Any]) -> Any:
    """A call of a Trainer's method that evaluates; arguments as for `evaluated`."""
    callback = callback_of(trainer)
    return call() if callback is None else callback.evaluated(trainer, name, call)


def best_step(args: Any, state: Any) -> int:
    """Steps that the model has made which is loaded when training is over; 0 for the last one."""
    path = state.best_model_checkpoint if args.load_best_model_at_end else None
    number = str(path or "").rpartition("-")[2]
    return int(number) if number.isdecimal() else 0
