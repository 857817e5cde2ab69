"""Fits whose phases sleep, and what they really took by the script's own stamps."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pytscope

torch = pytest.importorskip("torch", reason="tests the callback for Lightning")
pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")
pytest.importorskip("pytscope_lightning", reason="pytscope-lightning is not installed")
pl = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")

from lightning.pytorch.loggers import CSVLogger  # noqa: E402  # needs what is skipped above

from pytscope.integrations.lightning import PytscopeCallback  # noqa: E402  # as above
from tests.torch.auto.made import (  # noqa: E402  # as above
    BACKWARD,
    FORWARD,
    LOSS,
    OPTIMIZER,
    Batches,
    SleepyBackward,
    Truth,
)

OTHER = 0.002


class Model(pl.LightningModule):
    """A module that sleeps in every hook that is a phase.

    Args:
        case: Whose truth it tells.
    """

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 1)
        self.dropout = torch.nn.Dropout(0.25)
        self.case = [case]  # in a list, for the case holds modules

    @property
    def truth(self) -> Truth:
        return self.case[0].truth

    def compute(self, x: Any, phase: str = "forward") -> Any:
        """The model's own work."""
        self.truth.sleep(phase, FORWARD)
        return SleepyBackward.apply(self.dropout(self.linear(x)), self.truth, BACKWARD)

    def loss(self, out: Any, y: Any, phase: str = "forward") -> Any:
        """The loss, which sleeps as a part of the training step."""
        self.truth.sleep(phase, LOSS)
        loss = ((out - y) ** 2).mean()
        self.case[0].losses.append(loss.detach())
        return loss

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        x, y = batch
        loss = self.loss(self.compute(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        x, y = batch
        self.truth.sleep("eval", FORWARD)
        self.log("val_loss", ((self.linear(x) - y) ** 2).mean())

    def configure_optimizers(self) -> Any:
        return self.case[0].optimizer(self.parameters())


class SleepyLogger(CSVLogger):
    """A logger that takes its time.

    Args:
        case: Whose truth it tells.
    """

    def __init__(self, case: Case) -> None:
        super().__init__(case.space, name="logs")
        self._case = case

    def log_metrics(self, metrics: Any, step: Any = None) -> None:
        self._case.truth.sleep("log", OTHER)
        super().log_metrics(metrics, step)


class Case:
    """One or more fits, recorded or not, beside what they really took.

    Args:
        folder: The run's folder goes into it, as does all else the fits write.
        count: Batches of an epoch.
        pace: Factor on every sleep.
        recorded: Whether it is recorded.
        options: For every `PytscopeCallback` of the case.
    """

    def __init__(
        self,
        folder: Path,
        *,
        count: int = 8,
        pace: float = 1.0,
        recorded: bool = True,
        **options: Any,
    ) -> None:
        torch.manual_seed(0)
        np.random.seed(0)  # noqa: NPY002  # the state that training scripts have
        random.seed(0)
        folder.mkdir(parents=True, exist_ok=True)
        self.space = folder
        self.folder = folder / "run"
        self.count = count
        self.truth = Truth(pace)
        self.losses: list[Any] = []
        self.modules: list[Any] = []
        self.recorded = recorded
        self.options = options
        self.callback: Any = None
        self.trainer: Any = None
        self.owned = True

    def optimizer(self, parameters: Any, **options: Any) -> Any:
        """An optimizer that sleeps; the first made is the one whose steps are counted."""
        made = torch.optim.SGD(parameters, **{"lr": 0.01, "momentum": 0.5, **options})
        made.register_step_pre_hook(lambda *_: self.truth.sleep("optimizer", OPTIMIZER))
        if self.owned:
            made.register_step_post_hook(lambda *_: self.truth.next_step())
        self.owned = False
        return made

    def data(self, phase: str = "data", count: int = 0, **options: Any) -> Any:
        """A loader that sleeps as one phase."""
        made = Batches(self.truth, count or self.count, phase)
        return torch.utils.data.DataLoader(made, shuffle=phase == "data", **options)

    def fitted(
        self,
        kind: Callable[[Case], Any] = Model,
        *,
        loader: Any = None,
        validate: bool = False,
        callbacks: Sequence[Any] = (),
        ckpt_path: Any = None,
        data: Any = None,
        **options: Any,
    ) -> Any:
        """Fit a module with a Trainer of these options; the Trainer."""
        self.owned = True
        model = kind(self)
        self.modules.append(model)
        self.trainer = self.made(callbacks, validate=validate, **options)
        batches = (data,) if data is not None else (self.data() if loader is None else loader,)
        if validate and data is None:
            batches += (self.data("eval", count=3),)
        keys = ("datamodule",) if data is not None else ("train_dataloaders", "val_dataloaders")
        self.trainer.fit(model, **dict(zip(keys, batches, strict=False)), ckpt_path=ckpt_path)
        return self.trainer

    def made(self, callbacks: Sequence[Any] = (), *, validate: bool = False, **options: Any) -> Any:
        """A Trainer, with a `PytscopeCallback` if the case is recorded."""
        own = []
        if self.recorded:
            self.callback = self.callback or PytscopeCallback(self.folder, **self.options)
            own = [self.callback]
        plain: dict[str, Any] = {
            "accelerator": "cpu",
            "devices": 1,
            "max_epochs": 2,
            "logger": False,
            "enable_checkpointing": False,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "default_root_dir": self.space,
            "log_every_n_steps": 2,
            "limit_val_batches": None if validate else 0,
        }
        return pl.Trainer(callbacks=[*callbacks, *own], **{**plain, **options})

    def timeline(self) -> Any:
        return pytscope.open(self.folder).rank(0)

    def said(self) -> list[str]:
        """What the recording found worth a sentence."""
        events = self.timeline().attempts[-1].events
        return [event["message"] for event in events if event["kind"] == "warning"]


def state_of(case: Case) -> dict[str, Any]:
    """Everything that a callback must not change, as plain values."""
    return {
        "losses": [float(loss) for loss in case.losses],
        "weights": [plain(m.state_dict()) for m in case.modules],
        "modes": [[part.training for part in m.modules()] for m in case.modules],
        "optimizers": [plain(o.state_dict()) for o in case.trainer.optimizers],
        "metrics": plain(dict(case.trainer.callback_metrics)),
        "step": case.trainer.global_step,
        "torch": torch.get_rng_state().tolist(),
        "numpy": plain(np.random.get_state()),  # noqa: NPY002  # as above
        "random": random.getstate(),
    }


def plain(value: Any) -> Any:
    if isinstance(value, (torch.Tensor, np.ndarray)):
        return (str(value.dtype), value.tolist())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


@contextmanager
def pause(case: Case, phase: str, seconds: float = OTHER) -> Iterator[None]:
    """Sleep as a phase, and then do what is inside as that phase."""
    with case.truth.timed(phase):
        time.sleep(seconds * case.truth.pace)
        yield
