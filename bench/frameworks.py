"""Print what the callbacks add to a step of Lightning and of Hugging Face.

    python bench/frameworks.py [--rounds N] [--check] [--write]

A whole small training is a turn; the turns of all variants come in random order in one
process. What a step took is CPU time of the training thread between two steps, stamped
alike in every variant, the least disturbed half of them. `--check` ends with 1 where a
step takes a quarter longer than without a callback, `--write` puts the section into
docs/performance.md.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from time import thread_time_ns
from typing import Any

import lightning.pytorch as pl
import page
import torch
import transformers
from rounds import difference, interleaved, middle, ratio
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from pytscope.integrations import huggingface
from pytscope.integrations import lightning as ours

STEPS, WARM_UP = 120, 20
MOST = 1.25
"""A step with the callback, of one without, at which `--check` fails."""
WIDTH, BATCH, CLASSES = 128, 32, 10
TITLE = "# Lightning and Hugging Face"


class LightningWatch(pl.Callback):
    """Stamps the ends of steps, in any variant."""

    def __init__(self) -> None:
        self.stamps: list[int] = []

    def on_train_batch_end(self, *_: Any) -> None:
        """One more."""
        self.stamps.append(thread_time_ns())


class HuggingFaceWatch(transformers.TrainerCallback):
    """Stamps the ends of steps, in any variant."""

    def __init__(self) -> None:
        self.stamps: list[int] = []

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """One more."""
        self.stamps.append(thread_time_ns())


def step_ns(stamps: list[int]) -> float:
    """What a step took: the median of the quicker half."""
    steps = sorted(b - a for a, b in itertools.pairwise(stamps[WARM_UP:]))
    return statistics.median(steps[: len(steps) // 2])


def samples() -> TensorDataset:
    """Random vectors of ten classes."""
    count = STEPS * BATCH
    return TensorDataset(torch.randn(count, WIDTH), torch.randint(0, CLASSES, (count,)))


def layers() -> nn.Sequential:
    """Three layers."""
    hidden = (nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())
    return nn.Sequential(*hidden, nn.Linear(WIDTH, CLASSES))


class Module(pl.LightningModule):
    """A module as small as its framework's own work."""

    def __init__(self) -> None:
        super().__init__()
        self.body = layers()

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        """Forward pass and loss."""
        loss = nn.functional.cross_entropy(self.body(batch[0]), batch[1])
        self.log("loss", loss)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Plain SGD."""
        return torch.optim.SGD(self.parameters(), lr=1e-3)


class Model(nn.Module):
    """The same for a Trainer of Hugging Face."""

    def __init__(self) -> None:
        super().__init__()
        self.body = layers()

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Loss and predictions."""
        logits = self.body(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def fit(folder: Path, data: TensorDataset, callback: Any, profiler: str | None) -> float:
    """One training by Lightning; nanoseconds a step."""
    watch = LightningWatch()
    trainer = pl.Trainer(
        callbacks=[watch, *([callback] if callback else [])],
        profiler=profiler,
        max_steps=STEPS,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    trainer.fit(Module(), DataLoader(data, BATCH))
    return step_ns(watch.stamps)


def train(folder: Path, data: TensorDataset, callback: Any) -> float:
    """One training by Hugging Face; nanoseconds a step."""
    watch = HuggingFaceWatch()
    arguments = transformers.TrainingArguments(
        str(folder / "checkpoints"),
        max_steps=STEPS,
        per_device_train_batch_size=BATCH,
        logging_steps=10,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        dataloader_pin_memory=False,
        optim="sgd",
    )

    def together(rows: list[Any]) -> dict[str, torch.Tensor]:
        x, labels = zip(*rows, strict=True)
        return {"x": torch.stack(x), "labels": torch.stack(labels)}

    trainer = transformers.Trainer(
        Model(),
        arguments,
        train_dataset=data,
        data_collator=together,
        callbacks=[watch, *([callback] if callback else [])],
    )
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    return step_ns(watch.stamps)


def variants(folder: Path) -> dict[str, Callable[[], tuple[float, ...]]]:
    """Every training, with and without what records it."""
    data, numbers = samples(), itertools.count()

    def place() -> Path:
        return folder / str(next(numbers))

    def by_lightning(*, record: bool, profiler: str | None = None) -> Callable[[], tuple[float]]:
        def turn() -> tuple[float]:
            where = place()
            callback = ours.PytscopeCallback(where / "run") if record else None
            return (fit(where, data, callback, profiler),)

        return turn

    def by_transformers(*, record: bool) -> Callable[[], tuple[float]]:
        def turn() -> tuple[float]:
            where = place()
            callback = huggingface.PytscopeCallback(where / "run") if record else None
            return (train(where, data, callback),)

        return turn

    return {
        "Lightning": by_lightning(record=False),
        "Lightning, `PytscopeCallback`": by_lightning(record=True),
        "Lightning, its `SimpleProfiler`": by_lightning(record=False, profiler="simple"),
        "Hugging Face": by_transformers(record=False),
        "Hugging Face, `PytscopeCallback`": by_transformers(record=True),
    }


def section(found: dict[str, list[float]], rounds: int) -> str:
    """What was seen, as a section of the page."""
    lines = []
    for name, took in found.items():
        bare = found[name.partition(",")[0]]
        times = middle(took)
        row = [name, f"{times.value / 1e3:,.0f}", "", ""]
        if took is not bare:
            added, part = difference(took, bare), ratio(took, bare)
            row[2] = f"{added.value / 1e3:+.0f} ({added.low / 1e3:.0f} to {added.high / 1e3:.0f})"
            row[3] = f"{part.value:.2f} ({part.low:.2f} to {part.high:.2f})"
        lines.append(row)
    head = ["training", "step, µs", "added, µs", "of it without"]
    return f"""{TITLE}

Measured by `nox -s bench -- --frameworks --write`: {page.machine()}, PyTorch {torch.__version__}.

A three-layer model trained for {STEPS} steps, {rounds} rounds; in each every training takes a turn,
in random order, in one process. A step is CPU time of the training thread from one step's end to
the next, the median of the quicker half, and in brackets the interval that holds the median over
rounds in 95 of 100 repetitions. A step as small as this is nearly all the framework's own work.
Hugging Face has no profiler of its own to stand beside.

{page.table(head, lines)}
"""


def main() -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # of the frameworks
    logging.disable(logging.WARNING)
    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as folder:
        turns = interleaved(variants(Path(folder)), args.rounds)
    found = {name: [ns for (ns,) in took] for name, took in turns.items()}
    text = section(found, args.rounds)
    print(text)
    if args.write:
        page.put(text)
    worst = max(
        ratio(found[f"{name}, `PytscopeCallback`"], found[name]).value
        for name in ("Lightning", "Hugging Face")
    )
    return int(args.check and worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
