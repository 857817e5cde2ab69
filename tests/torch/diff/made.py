"""Small real trainings that are alike but for what a test changes, recorded for a comparison."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import pytscope

torch = pytest.importorskip("torch", reason="trains with torch")
pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")

from torch.utils.data import DataLoader, Dataset  # noqa: E402  # as skipped above

from pytscope.auto import AutoProfiler  # noqa: E402  # as above

SAMPLES, BATCH, CLASSES, WIDTH = 48, 8, 3, 6
AN_EPOCH = SAMPLES // BATCH
"""Steps of an epoch."""


class Points(Dataset):  # type: ignore[misc]  # torch may be absent
    """Points around the centres of their classes.

    Args:
        noise: Adds something to a sample, or None.
        labels: Whether targets are whole numbers.
    """

    def __init__(self, noise: Callable[[], Any] | None = None, *, labels: bool = True) -> None:
        generator = torch.Generator().manual_seed(99)
        self.y = torch.arange(SAMPLES) % CLASSES
        centres = torch.randn(CLASSES, WIDTH, generator=generator)
        self.x = centres[self.y] + 0.5 * torch.randn(SAMPLES, WIDTH, generator=generator)
        self.noise = noise
        self.labels = labels

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> Any:
        x = self.x[index] if self.noise is None else self.x[index] + self.noise()
        return x, (self.y[index] if self.labels else self.y[index].float())


class Lookup(torch.nn.Module):  # type: ignore[misc]  # as above
    """Rows of a table, whose gradient adds up in the order in which threads come to it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.zeros(8, 16))
        self.out = torch.nn.Linear(16 + WIDTH, CLASSES)
        self.register_buffer("rows", torch.randint(0, 8, (4096,)))
        self.register_buffer("shares", torch.randn(4096, 16))

    def forward(self, x: Any) -> Any:
        looked_up = (self.table[self.rows] * self.shares).sum(0) / 64
        return self.out(torch.cat((looked_up.expand(len(x), -1), x), 1))


def mlp() -> Any:
    """A model with something random in it."""
    nn = torch.nn
    return nn.Sequential(nn.Linear(WIDTH, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, CLASSES))


@attrs.frozen(kw_only=True)
class Recipe:
    """What a training is made with.

    Attributes:
        seed: PyTorch's; Python's and numpy's are left to chance, as in most scripts.
        numpy_seed: numpy's, or None.
        order: Seed of the loader's order; None takes PyTorch's own generator.
        reorder: Seed of the order from the second epoch on, or None for the same one.
        model: Makes the model.
        weights: Changes the model before it is trained, or None.
        dtype: Element type of parameters and inputs.
        half: Whether autocast is on.
        augmented: Whether samples get noise from numpy's generator.
        labels: Whether targets are whole numbers.
        workers: Processes of the loader.
        optimizer: Makes the optimizer.
        schedule: Makes the scheduler, or None.
        logs: Whether the loss is logged.
        given: Whether the profiler is given model and optimizer.
        options: For `AutoProfiler`.
    """

    seed: int = 0
    numpy_seed: int | None = None
    order: int | None = 5
    reorder: int | None = None
    model: Callable[[], Any] = mlp
    weights: Callable[[Any], None] | None = None
    dtype: Any = torch.float32
    half: bool = False
    augmented: bool = False
    labels: bool = True
    workers: int = 0
    optimizer: Callable[[Any], Any] = lambda p: torch.optim.AdamW(p, lr=0.02)
    schedule: Callable[[Any], Any] | None = None
    logs: bool = True
    given: bool = True
    options: dict[str, Any] = attrs.field(factory=lambda: {"fingerprint_batches": True})


class Training:
    """A training that can be stopped, saved and resumed.

    Args:
        recipe: What it is made with.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        torch.manual_seed(recipe.seed)
        random.seed()
        np.random.seed(recipe.numpy_seed)  # noqa: NPY002  # the global state that scripts use
        self.model = recipe.model().to(recipe.dtype)
        if recipe.weights is not None:
            with torch.no_grad():
                recipe.weights(self.model)
        self.optimizer = recipe.optimizer(self.model.parameters())
        self.scheduler = recipe.schedule(self.optimizer) if recipe.schedule else None
        noise = (lambda: float(np.random.rand())) if recipe.augmented else None  # noqa: NPY002  # as above
        self.data = Points(noise, labels=recipe.labels)

    def batches(self, skip: int = 0) -> Iterator[Any]:
        """Batches without end, epoch after epoch; the first so many are passed over.

        They are fetched all the same, as by most loops that go on where they were.
        """
        recipe = self.recipe
        seeded = None if recipe.order is None else torch.Generator().manual_seed(recipe.order)
        loader = DataLoader(
            self.data, BATCH, shuffle=True, generator=seeded, num_workers=recipe.workers
        )
        for epoch in count():
            if epoch and recipe.reorder is not None and seeded is not None:
                seeded.manual_seed(recipe.reorder)
            for batch in loader:
                if not skip:
                    yield batch
                skip = max(0, skip - 1)

    def saved(self) -> dict[str, Any]:
        """Everything that a checkpoint should hold, but the place in the data."""
        return {
            "model": copy.deepcopy(self.model.state_dict()),
            "optimizer": copy.deepcopy(self.optimizer.state_dict()),
            "scheduler": self.scheduler and copy.deepcopy(self.scheduler.state_dict()),
            "random": torch.get_rng_state(),
        }

    def load(self, saved: dict[str, Any]) -> None:
        """Restore what a checkpoint holds."""
        for name in ("model", "optimizer", "scheduler"):
            if saved.get(name) is not None:
                getattr(self, name).load_state_dict(saved[name])
        if "random" in saved:
            torch.set_rng_state(saved["random"])

    def run(self, folder: Path, steps: int, *, first: int = 0, seen: int | None = None) -> Any:
        """Train and record.

        Args:
            folder: Of the run.
            steps: Number of steps.
            first: Global number of the first.
            seen: Batches to leave out, those of the steps before by default.

        Returns:
            The run.
        """
        recipe = self.recipe
        given = (self.model, self.optimizer) if recipe.given else ()
        fed = self.batches(first if seen is None else seen)
        with AutoProfiler(folder, *given, **recipe.options).start(first) as prof:
            for _, (x, y) in zip(range(steps), fed, strict=False):
                loss = self.step(x, y)
                if recipe.logs:
                    prof.log(loss=loss)
        return pytscope.open(folder)

    def step(self, x: Any, y: Any) -> Any:
        """One step; returns the loss."""
        recipe = self.recipe
        with torch.autocast("cpu", torch.bfloat16, enabled=recipe.half):
            out = self.model(x.to(recipe.dtype))
            if recipe.labels:
                loss = torch.nn.functional.cross_entropy(out, y)
            else:
                loss = (out[:, 0] - y).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.scheduler is not None:
            self.scheduler.step()
        return loss.detach()


def trained(folder: Path, steps: int = 12, **changes: Any) -> Any:
    """The run of a training from its start."""
    return Training(Recipe(**changes)).run(folder, steps)


def compared(a: Any, b: Any) -> Any:
    """How two runs part, by the comparison that everybody can make."""
    comparison = pytscope.diff(a, b)
    (divergence,) = comparison.divergences
    return comparison, divergence


def resumed(folder: Path, lost: str = "", *, steps: int = 12, at: int = 5, **changes: Any) -> Any:
    """The run of a training that stopped and went on.

    Args:
        folder: Of the run.
        lost: What the checkpoint has not, or `place`.
        steps: Number of steps.
        at: Step at which it went on.
        changes: What it is made with.
    """
    first = Training(Recipe(**changes))
    first.run(folder, at)
    saved = first.saved()
    saved.pop(lost, None)
    second = Training(Recipe(**changes))
    second.load(saved)
    return second.run(folder, steps - at, first=at, seen=0 if lost == "place" else at)
