"""Print what `fingerprint_batches` adds to a recorded training step, by what batches hold.

    python bench/fingerprints.py [--rounds N] [--write]

`--write` puts the section into docs/performance.md.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import page
import tiny
import torch
from auto import STEPS, WARM_UP, Turn
from rounds import Middle, difference, interleaved, middle, ratio
from torch import nn
from torch.utils.data import DataLoader, Dataset, RandomSampler

from pytscope.auto import AutoProfiler

KIB = 1024
KINDS = {
    "32 samples, 2 tensors, 16 KiB": (32, 1, 16 * KIB),
    "32 samples, 2 tensors, 1 MiB": (32, 1, KIB * KIB),
    "32 samples, 2 tensors, 8 MiB": (32, 1, 8 * KIB * KIB),
    "32 samples, 8 tensors, 16 KiB": (32, 7, 16 * KIB),
    "256 samples, 2 tensors, 128 KiB": (256, 1, 128 * KIB),
}
"""Of each batch its samples, how many tensors beside the labels, and their bytes in all."""
TEXT = """# Fingerprints of batches

Measured by `nox -s bench -- --fingerprints --write`: {machine}, PyTorch {torch}.

What `fingerprint_batches=True` adds to a step that `AutoProfiler` records: AutoProfiler's model
above, batches of samples drawn at random and collated by a `DataLoader` without workers, one of
the tensors the labels. {rounds} rounds of turns in random order, each {steps} steps after {warm_up}
untimed ones; CPU time of the training thread, the least disturbed tenth, and of the rounds the
median.

{table}
Of each tensor 64 elements are hashed, of a batch up to eight tensors, and each sample's number:
so it costs one to two hundred microseconds a step, by the number of tensors and of samples, and
about as much for a megabyte as for a few kilobytes. All of it is work of the training thread, and
a part of what the report says recording took.
"""


class Samples(Dataset[Any]):
    """Samples of some tensors and a label, by number."""

    def __init__(self, samples: int, tensors: int, size: int) -> None:
        width = size // (4 * samples * tensors)
        self._rows = [torch.randn(4 * samples, width) for _ in range(tensors)]
        self._labels = torch.randint(0, 10, (4 * samples,))

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, index: int) -> Any:
        return tuple(rows[index] for rows in self._rows), self._labels[index]


class Fed(nn.Module):
    """The model, of as much of the first tensor as it takes."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, given: tuple[torch.Tensor, ...]) -> Any:
        """Whatever the batch holds, the same work."""
        part = given[0][:, : tiny.WIDTH]
        return self.model(nn.functional.pad(part, (0, tiny.WIDTH - part.shape[1])))


class Training(tiny.Training):
    """The same training on batches out of a dataset."""

    def __init__(self, samples: int, tensors: int, size: int) -> None:
        super().__init__()
        self._size = samples
        self.model = Fed(self.model)  # type: ignore[assignment]  # called alike
        self._samples = Samples(samples, tensors, size)

    def loader(self, steps: int) -> Any:
        """A `DataLoader` that collates each batch anew."""
        drawn = RandomSampler(self._samples, replacement=True, num_samples=steps * self._size)
        return DataLoader(self._samples, batch_size=self._size, sampler=drawn)


def variants(folder: Path) -> dict[str, Turn]:
    """Every kind of batch, recorded with fingerprints and without."""
    numbers = iter(range(10**9))

    def made(training: Training, wanted: bool) -> Callable[[], Any]:
        given = (training.model, training.optimizer)
        return lambda: AutoProfiler(folder / str(next(numbers)), *given, fingerprint_batches=wanted)

    found = {}
    for kind, of in KINDS.items():
        for name, wanted in (("with", True), ("without", False)):
            training = Training(*of)
            found[f"{kind} {name}"] = Turn(training, made(training, wanted), loader=True)
    return found


def _with(value: Middle, form: str) -> str:
    return f"{value.value:{form}} ({value.low:{form}} to {value.high:{form}})"


def section(folder: Path, rounds: int) -> str:
    """Measure, and write the section."""
    found = interleaved(dict(variants(folder)), rounds)
    us = {name: [turn[0] / 1e3 for turn in turns] for name, turns in found.items()}
    rows = []
    for kind in KINDS:
        more, less = us[f"{kind} with"], us[f"{kind} without"]
        step = f"{middle(less).value:,.0f}"
        rows.append(
            [kind, step, _with(difference(more, less), ".0f"), _with(ratio(more, less), ".2f")]
        )
    head = ["a batch of", "step without, µs", "added, µs", "of it without"]
    return TEXT.format(
        machine=page.machine(),
        torch=torch.__version__,
        rounds=rounds,
        steps=STEPS,
        warm_up=WARM_UP,
        table=page.table(head, rows),
    )


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        text = section(Path(folder), args.rounds)
    print(text)
    if args.write:
        page.put(text)


if __name__ == "__main__":
    main()
