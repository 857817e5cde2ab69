"""`PytscopeTracker`: records a loop that is written with accelerate."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from accelerate import Accelerator
from accelerate.tracking import GeneralTracker

from pytscope.recording.harmless import harmless
from pytscope_hf.frames import caller
from pytscope_hf.seams import accelerator_seams
from pytscope_hf.values import named
from pytscope_torch.auto import AutoProfiler
from pytscope_torch.framework import Told, check_options
from pytscope_torch.seams import Undo, together

TOLD = ("checkpoint", "log")
_put_in: list[PytscopeTracker] = []
"""Trackers whose blocks are in an accelerator's class; a loop that fails ends none of them."""


class PytscopeTracker(GeneralTracker):  # type: ignore[misc]  # accelerate is not looked into
    """Records a loop between `init_trackers` and `end_training`.

        accelerator = Accelerator(log_with=[PytscopeTracker("runs/exp")])
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        accelerator.init_trackers("exp", config={"lr": 1e-4})
        for batch in loader:
            with accelerator.accumulate(model):
                accelerator.backward(model(**batch).loss)
                optimizer.step()
                optimizer.zero_grad()
        accelerator.end_training()

    A step is a step that the optimizer really made: once in
    `gradient_accumulation_steps`, when `accelerator.sync_gradients` is set.
    `accelerator.log()` is recorded, and is phase `log`; `save_state` and
    `save_model` are `checkpoint`. Nothing in here raises into training.

    Args:
        run_dir: Folder of the run.
        step: Global number of the first step, of a loop that goes on after `load_state`.
        **options: Any other argument of `pytscope.auto.AutoProfiler`. Without
            `model` and `optimizer` those are recorded that were prepared first.
    """

    name = "pytscope"
    requires_logging_directory = False
    main_process_only = False

    def __init__(
        self, run_dir: str | os.PathLike[str] = "runs/accelerate", *, step: int = 0, **options: Any
    ) -> None:
        """Nothing is recorded before `init_trackers`; the class says what the arguments mean."""
        super().__init__()
        check_options("PytscopeTracker", options)
        self.run_dir = run_dir
        self.step = step
        self.options = options
        self._profiler: AutoProfiler | None = None
        self._put: list[Undo] = []

    def __getstate__(self) -> dict[str, Any]:
        """A copy, here or in another process, is an idle tracker of the same settings."""
        return {**self.__dict__, "_profiler": None, "_put": []}

    @property
    def tracker(self) -> AutoProfiler | None:
        """The `AutoProfiler`, from `init_trackers` on."""
        return self._profiler

    def start(self) -> None:
        """Start to record, unless that has just been done.

        Newer versions of accelerate call this in `init_trackers`, of a tracker that is
        initialised again as often as it has been.
        """
        profiler = self._profiler
        if profiler is not None and profiler.recording and not profiler.stepped:
            return
        with harmless("starting the recording", always=True):
            self._start({})

    def store_init_configuration(self, values: Mapping[str, Any]) -> None:
        """Keep the loop's configuration with the run, and start, unless a step has been made."""
        with harmless("starting the recording", always=True):
            profiler = self._profiler
            if profiler is not None and profiler.recording:
                if profiler.stepped or "config" in self.options:
                    return
                self._put_back()
                profiler.step_aside("it begins anew, with a configuration")
            self._start({"config": values})

    def log(self, values: Mapping[str, Any], step: int | None = None, **_more: Any) -> None:
        """Record numbers for the step just made.

        Args:
            values: Numbers by name; everything else is left out.
            step: Counted by the loop, maybe of micro-batches; the run has its own count.
        """
        del step
        with harmless("recording what the loop logs"):
            if self._profiler is None:
                self._start({})
            if self._profiler is not None:
                self._profiler.log(**named(values))

    def finish(self) -> None:
        """End the recording; `end_training` calls this."""
        profiler = self._profiler
        if profiler is not None:
            with harmless("finishing the recording"):
                self._put_back()
                profiler.finish()

    def _start(self, config: dict[str, Any]) -> None:
        accelerator = caller(Accelerator)
        profiler = self._profiler = AutoProfiler(
            self.run_dir, **{**prepared(accelerator), **config, **self.options}
        )
        profiler.start(self.step)
        for other in tuple(_put_in):
            if other._profiler is None or not other._profiler.recording:  # noqa: SLF001  # one of us
                other._put_back()  # noqa: SLF001  # as above
        if profiler.recording and accelerator is not None:
            _put_in.append(self)
            accelerator_seams(type(accelerator), Told(profiler, TOLD), self._put)

    def _put_back(self) -> None:
        _put_in[:] = [other for other in _put_in if other is not self]
        put, self._put = self._put, []
        together(put)()


def prepared(accelerator: Any) -> dict[str, Any]:
    """What an accelerator has prepared by now, as arguments of `AutoProfiler`."""
    models = list(getattr(accelerator, "_models", ()))
    optimizers = list(getattr(accelerator, "_optimizers", ()))
    return {"model": models or None, "optimizer": optimizers[0] if optimizers else None}
