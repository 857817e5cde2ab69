"""Trainers whose phases sleep, and what they really took by the script's own stamps."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pytscope

transformers = pytest.importorskip("transformers", reason="tests the Hugging Face callback")
pytest.importorskip("accelerate", reason="the Trainer needs it")
pytest.importorskip("pytscope_hf", reason="pytscope-hf is not installed")

from pytscope.integrations.huggingface import PytscopeCallback  # noqa: E402  # as skipped above
from tests.torch.auto.made import (  # noqa: E402  # as skipped above
    BACKWARD,
    DATA,
    FORWARD,
    LOSS,
    OPTIMIZER,
    SleepyBackward,
    Truth,
    _plain,
    torch,
)

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
EVAL = CHECKPOINT = LOG = 0.003
VERSION = tuple(int(part) for part in transformers.__version__.split(".")[:2])


class Net(torch.nn.Module):
    """A model that sleeps in both passes and gives its loss, as those of transformers do."""

    def __init__(self, truth: Truth) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 1)
        self.dropout = torch.nn.Dropout(0.25)
        self.truth = truth
        self.failing: Callable[[Any], None] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Net:
        made = Net(self.truth)
        made.load_state_dict(self.state_dict())
        return made

    def forward(self, x: Any, labels: Any = None) -> Any:
        self.truth.sleep("forward" if torch.is_grad_enabled() else "eval", FORWARD)
        if self.failing is not None and torch.is_grad_enabled():
            self.failing(x)
        out = SleepyBackward.apply(self.dropout(self.linear(x)), self.truth, BACKWARD)
        return {"loss": ((out - labels) ** 2).mean(), "logits": out}


class Samples(torch.utils.data.Dataset[Any]):
    """Samples that take time to load, as the phase that is told."""

    def __init__(self, truth: Truth, count: int, phase: str = "data") -> None:
        self.truth = truth
        self.count = count
        self.phase = phase
        self.failing: Callable[[int], None] | None = None

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        self.truth.sleep(self.phase, DATA)
        if self.failing is not None:
            self.failing(index)
        return {"x": torch.ones(4) * (index % 3), "labels": torch.ones(1)}


class Stream(torch.utils.data.IterableDataset[Any]):
    """Samples without a length."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples

    def __iter__(self) -> Iterator[Any]:
        return (self.samples[index] for index in range(len(self.samples)))


class SGD(torch.optim.SGD):
    """An optimizer that sleeps before it steps, and knows that it has."""

    def __init__(self, parameters: Any, truth: Truth) -> None:
        super().__init__(parameters, lr=0.01, momentum=0.5)
        self.truth = truth
        self.failing: Callable[[], None] | None = None

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        self.truth.sleep("optimizer", OPTIMIZER)
        if self.failing is not None:
            self.failing()
        super().step(closure)
        self.truth.next_step()


class Sleepy(transformers.TrainerCallback):
    """Somebody else's callback that takes its time, and may fail."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.failing: Callable[[str, Any], None] | None = None

    def on_log(self, *_args: Any, **_around: Any) -> None:
        self.truth.sleep("log", LOG)

    def on_save(self, *_args: Any, **_around: Any) -> None:
        self.truth.sleep("checkpoint", CHECKPOINT)

    def on_evaluate(self, *_args: Any, **_around: Any) -> None:
        self.truth.sleep("eval", EVAL)

    def on_step_end(self, _args: Any, state: Any, *_rest: Any, **_around: Any) -> None:
        self.truth.sleep("other", 0.001)
        if self.failing is not None:
            self.failing("step_end", state)


class Sleeping(transformers.Trainer):
    """A Trainer with methods of its own, that take time too."""

    truth: Truth

    def compute_loss(self, model: Any, inputs: Any, *rest: Any, **more: Any) -> Any:
        found = super().compute_loss(model, inputs, *rest, **more)
        if torch.is_grad_enabled():
            self.truth.sleep("loss", LOSS)
        return found

    def _save(self, *args: Any, **options: Any) -> None:
        self.truth.sleep("checkpoint", CHECKPOINT)
        super()._save(*args, **options)

    def evaluate(self, *args: Any, **options: Any) -> Any:
        self.truth.sleep("eval", EVAL)
        return super().evaluate(*args, **options)


class Case:
    """A Trainer, recorded or not, beside what it really took.

    Args:
        folder: The run's folder is made in it, and the Trainer's.
        samples: Samples to train on.
        pace: Factor on every sleep.
        profiled: Whether it is recorded.
        options: For the callback.
        stream: Whether the samples come without a length.
        optimizer: Whether the Trainer is given one that sleeps.
        kind: The Trainer's class.
        arguments: `TrainingArguments`.
    """

    def __init__(
        self,
        folder: Path,
        samples: int = 16,
        *,
        pace: float = 1.0,
        profiled: bool = True,
        options: dict[str, Any] | None = None,
        stream: bool = False,
        optimizer: bool = True,
        kind: type[Any] = Sleeping,
        **arguments: Any,
    ) -> None:
        seed()
        self.folder = folder / "run"
        self.space = folder
        self.truth = Truth(pace)
        self.net = Net(self.truth)
        self.samples = Samples(self.truth, samples)
        self.optimizer = SGD(self.net.parameters(), self.truth) if optimizer else None
        self.sleepy = Sleepy(self.truth)
        callbacks: list[Any] = [self.sleepy]
        self.callback: Any = None
        if profiled:
            self.callback = PytscopeCallback(self.folder, **(options or {}))
            callbacks.append(self.callback)
        self.trainer = kind(
            self.net,
            arguments_of(folder / "out", **arguments),
            train_dataset=Stream(self.samples) if stream else self.samples,
            eval_dataset=Samples(self.truth, 3, "eval"),
            compute_metrics=self.metrics,
            optimizers=(self.optimizer, None),
            callbacks=callbacks,
        )
        self.trainer.truth = self.truth

    def metrics(self, _predicted: Any, compute_result: bool = True) -> dict[str, float]:
        self.truth.sleep("eval", EVAL)
        return {"of_three": 1.0}

    def train(self, **options: Any) -> Case:
        self.trainer.train(**options)
        return self

    def run(self) -> Any:
        return pytscope.open(self.folder)

    def timeline(self) -> Any:
        return self.run().rank(0)

    def records(self) -> list[Any]:
        return list(self.timeline().records())

    def events(self) -> str:
        return str([attempt.events for attempt in self.timeline().attempts])

    def state(self) -> dict[str, Any]:
        """Everything that the callback must not change, as plain values."""
        timed = ("runtime", "per_second", "_time")
        return {
            "log": [
                {k: v for k, v in entry.items() if not k.endswith(timed)}
                for entry in self.trainer.state.log_history
            ],
            "steps": self.trainer.state.global_step,
            "weights": _plain(self.net.state_dict()),
            "modes": [part.training for part in self.net.modules()],
            "optimizer": _plain(self.trainer.optimizer.state_dict()),
            "torch": torch.get_rng_state().tolist(),
            "numpy": _plain(np.random.get_state()),  # noqa: NPY002  # the state that scripts have
            "random": random.getstate(),
        }


def seed() -> None:
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002  # as above
    random.seed(0)


def arguments_of(folder: Path, kind: Any = transformers.TrainingArguments, **given: Any) -> Any:
    """Arguments for a quiet Trainer on the CPU that only trains."""
    settings = {
        "per_device_train_batch_size": 1,
        "per_device_eval_batch_size": 1,
        "num_train_epochs": 1,
        "logging_strategy": "no",
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": True,
        "disable_tqdm": True,
        "dataloader_pin_memory": False,
        **given,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on arguments that versions rename
        return kind(str(folder), **settings)


def check_startup(case: Any, **phases: float) -> None:
    """Startup of the last attempt holds at least so many seconds of these phases."""
    found: dict[str, int] = {}
    for name, ns in case.timeline().attempts[-1].startup:
        found[name] = found.get(name, 0) + ns
    for name, seconds in phases.items():
        assert found.get(name, 0) >= seconds * 1e9, (name, found)
