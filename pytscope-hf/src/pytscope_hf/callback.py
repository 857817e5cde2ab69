"""`PytscopeCallback`: records what a Hugging Face Trainer trains."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from transformers import Trainer, TrainerCallback

from pytscope.recording.harmless import harmless, warn_once
from pytscope_hf.frames import caller
from pytscope_hf.training import LEFT, Training
from pytscope_hf.values import logged
from pytscope_torch.auto import AutoProfiler
from pytscope_torch.framework import check_options

GIVEN = dict.fromkeys(("model", "optimizer"), "it records the Trainer's own")
"""Arguments of `AutoProfiler` that the Trainer gives."""
TRIES = "memory ran out after some steps; the Trainer begins again with a smaller batch"


class PytscopeCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not looked into
    """Records each `Trainer.train()` as an attempt of a run.

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

    def __getstate__(self) -> dict[str, Any]:
        """A copy, here or in another process, is an idle callback of the same settings."""
        return {**self.__dict__, "_training": None}

    @property
    def profiler(self) -> AutoProfiler | None:
        """The `AutoProfiler` of the training that is going on, or None."""
        training = self._training
        return training.profiler if training is not None and training.recording else None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002  # an event's arguments
        """Start an attempt, at the Trainer's global step."""
        with harmless("starting the recording", always=True):
            self._begin(args, state, caller(Trainer), kwargs)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002  # as above
        """Note what belongs to each step."""
        if self._training is not None:
            with harmless("noting a step"):
                self._training.step_ended(state)

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002  # as above
        """Record what the Trainer logs: losses, gradient norm, learning rate, metrics."""
        if self._training is not None:
            with harmless("recording what the Trainer logs"):
                self._training.profiler.log(**logged(kwargs.get("logs") or {}, state))

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002  # as above
        """End the attempt."""
        training, self._training = self._training, None
        if training is not None:
            with harmless("finishing the recording"):
                training.over(state)

    def _begin(self, args: Any, state: Any, trainer: Any, around: dict[str, Any]) -> None:
        handler = getattr(trainer, "callback_handler", None)
        ours = (c for c in getattr(handler, "callbacks", ()) if isinstance(c, PytscopeCallback))
        first = next(ours, self)
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
