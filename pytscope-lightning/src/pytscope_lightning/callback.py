"""The callback's hooks: when a recording starts and ends, and what is logged in it."""

# ruff: noqa: ARG002  # hooks are called with arguments that not each of them needs

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import Any, ClassVar

from pytscope.recording.harmless import harmless, warn_once
from pytscope_lightning.counting import Count
from pytscope_lightning.outside import LOOPS, Outside
from pytscope_lightning.recording import Recording
from pytscope_torch.auto import AutoProfiler
from pytscope_torch.framework import check_options

IDLE = ("_recording", "_count", "_waits", "_outside")
"""What a copy has not."""
LENT = frozenset(("log", "log_dict"))
"""What the Trainer puts into its callbacks: methods of the model."""
GIVEN = dict.fromkeys(("model", "optimizer"), "it records the Trainer's own")
"""Arguments of `AutoProfiler` that the Trainer gives."""
NO_FOLDER = 'PytscopeCallback needs the folder of the run: PytscopeCallback("runs/exp")'
A_CLASS = (
    "the Trainer was given the class PytscopeCallback instead of an instance: "
    'callbacks=[PytscopeCallback("runs/exp")]'
)


class Hooks:
    """Records each `Trainer.fit` as an attempt of a run, and what is evaluated outside of one.

        trainer = Trainer(callbacks=[PytscopeCallback("runs/exp")])
        trainer.fit(model)

    A step is a step of the optimizer, of several the first that
    `configure_optimizers` returns. Phases `data`, `h2d`, `forward`, `backward`,
    `optimizer`, `eval`, `checkpoint` and `log` are told apart by Lightning's own
    edges. `fit(ckpt_path=...)` continues the run as a new attempt.

    Nothing in here raises into training or changes it: what cannot be recorded
    is said once in the `pytscope` log and in the report.

    Args:
        run_dir: Folder of the run.
        **options: Any other argument of `pytscope.auto.AutoProfiler`, such as
            `distributed=True` to record every rank.

    Raises:
        TypeError: There is no folder, or no such option.
    """

    _importable: ClassVar[type[Any]]

    def __init__(self, run_dir: str | os.PathLike[str] = "", **options: Any) -> None:
        """Nothing is recorded before `Trainer.fit`; the class says what the arguments mean."""
        super().__init__()
        check_options("PytscopeCallback", options, GIVEN)
        if not run_dir:
            raise TypeError(NO_FOLDER)
        self.run_dir = run_dir
        self.options = options
        self.stands_back = False
        """Whether it leaves the recording to any other callback of its kind."""
        self._be_idle()

    def _be_idle(self) -> None:
        self._recording: Recording | None = None
        self._count = Count()
        self._waits = False
        self._outside: Outside | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, here or in another process, is an idle callback of the same settings."""
        kept = {name: v for name, v in self.__dict__.items() if name not in (*IDLE, *LENT)}
        return _made, (getattr(type(self), "_importable", type(self)), kept)

    @property
    def profiler(self) -> AutoProfiler | None:
        """The `AutoProfiler` that records at the moment, for values and phases of your own."""
        return self._recording.profiler if self._recording is not None else None

    # --- start and end --------------------------------------------------------

    def setup(self: Any, trainer: Any, pl_module: Any = None, stage: str = "") -> None:
        """Get ready for an evaluation outside of a fit; refuse to be a class.

        The first hook, which the Trainer calls on a class as it is.

        Raises:
            TypeError: The Trainer was given the class.
        """
        if isinstance(self, Hooks):
            with harmless("getting ready to record an evaluation"):
                self._set_up(trainer, getattr(stage, "value", stage))
            return
        for kind in self.callbacks:  # of the Trainer, which `self` is then
            if isinstance(kind, type) and issubclass(kind, Hooks):
                for name in LENT & vars(kind).keys():
                    delattr(kind, name)
        raise TypeError(A_CLASS)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Start, unless the strategy reads checkpoints later: one has the first step's number."""
        with harmless("starting the recording of a Trainer", always=True):
            self._finish(None)
            self._waits = trainer.strategy.restore_checkpoint_after_setup
            if not self._waits:
                self._start(trainer, pl_module)

    def on_sanity_check_start(self, trainer: Any, pl_module: Any) -> None:
        """Start, if that had to wait for a checkpoint."""
        self.on_train_start(trainer, pl_module)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Start, if that had to wait for a checkpoint."""
        waited, self._waits = self._waits, False
        if waited:
            with harmless("starting the recording of a Trainer", always=True):
                self._start(trainer, pl_module)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Finish."""
        self._finish(None)

    def on_exception(self: Any, trainer: Any, pl_module: Any, exception: Any = None) -> None:
        """Finish, and note what ended the fit."""
        if isinstance(self, Hooks):  # of a class, `setup` has said so
            self._finish(exception)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Finish what a fit that was cut short has left."""
        self._finish(None)

    def _start(self, trainer: Any, module: Any) -> None:
        if not self._is_first(trainer):
            return
        first = self._count.first(trainer)
        recording = Recording(trainer, module, self.run_dir, self.options)
        self._recording = recording if recording.start(first) else None

    def _is_first(self, trainer: Any) -> bool:
        ours = (c for c in trainer.callbacks if isinstance(c, Hooks))
        one = min(ours, key=lambda callback: callback.stands_back, default=self)
        if one is not self and not self.stands_back:
            warn_once(
                f"the Trainer has more than one PytscopeCallback: the first records into "
                f"{os.fspath(one.run_dir)}, that for {os.fspath(self.run_dir)} does not record"
            )
        return one is self

    def _set_up(self, trainer: Any, kind: str) -> None:
        self._leave()
        self._count.forget()
        if kind in LOOPS and self._recording is None and self._is_first(trainer):
            count = self._count
            self._outside = Outside(
                trainer, kind, self.run_dir, self.options, count.load, lambda: count.first(trainer)
            )

    def _leave(self) -> None:
        outside, self._outside = self._outside, None
        if outside is not None:
            outside.undo()

    def _finish(self, error: BaseException | None) -> None:
        with harmless("leaving a Trainer as it was"):
            self._leave()
        recording, self._recording = self._recording, None
        if recording is not None:
            with harmless("noting how far a Trainer has come"):
                self._count.over(recording)
            with harmless("finishing the recording of a Trainer"):
                recording.finish(error)

    # --- checkpoints ----------------------------------------------------------

    def on_save_checkpoint(
        self,
        trainer: Any,
        pl_module: Any,
        checkpoint: MutableMapping[str, Any],
    ) -> None:
        """Keep the number of the next step, where Lightning counts differently."""
        if self._recording is not None:
            with harmless("noting the step in a checkpoint"):
                self._count.save(self._recording, checkpoint)

    def on_load_checkpoint(
        self,
        trainer: Any,
        pl_module: Any,
        checkpoint: MutableMapping[str, Any],
    ) -> None:
        """Learn the number of the next step."""
        with harmless("reading the step from a checkpoint"):
            self._count.load(checkpoint)

    # --- values ---------------------------------------------------------------

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        """Record the learning rates that the step is made with."""
        if self._recording is not None:
            with harmless("recording learning rates"):
                self._recording.rates(optimizer)

    def on_train_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Record the loss of the step, when the batch was its last."""
        if self._recording is not None:
            with harmless("recording the loss"):
                self._recording.loss(outputs)


def _made(cls: Any, settings: dict[str, Any]) -> Any:
    made = cls.__new__(cls)
    made.__dict__.update(settings)
    made._be_idle()  # noqa: SLF001  # one of ours
    return made
