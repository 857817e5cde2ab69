"""A small CNN trained by Lightning, recorded by one line: `PytscopeCallback(...)`.

    python examples/lightning_fit.py --slow-collator && pytscope analyze runs/lightning
    python examples/lightning_fit.py --devices 2 --save-every 5 && pytscope analyze runs/lightning

Without options it is healthy; each of the others makes one part of it too dear.
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, default_collate

from pytscope.integrations.lightning import PytscopeCallback


class Classifier(pl.LightningModule):
    """Three convolutions and a linear layer, as anybody writes it."""

    def __init__(self, width: int, validation_s: float) -> None:
        super().__init__()
        self.validation_s = validation_s

        def block(inside: int, outside: int) -> list[nn.Module]:
            return [nn.Conv2d(inside, outside, 3, stride=2, padding=1), nn.ReLU()]

        body = [*block(3, width), *block(width, 2 * width), *block(2 * width, 4 * width)]
        self.body = nn.Sequential(*body, nn.Flatten(), nn.Linear(4 * width * 4 * 4, 10))

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        """Forward pass and loss."""
        images, labels = batch
        loss = nn.functional.cross_entropy(self.body(images), labels)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: Any, _: int) -> None:
        """The loss of pictures that are not trained on."""
        images, labels = batch
        time.sleep(self.validation_s)  # a metric that is counted in Python, say
        self.log("val_loss", nn.functional.cross_entropy(self.body(images), labels))

    def on_save_checkpoint(self, _: dict[str, Any]) -> None:
        """Be saved."""
        time.sleep(0.02)  # the slow shared disk that a checkpoint usually goes to

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Plain SGD."""
        return torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9)


class Images(TensorDataset):
    """Random pictures of 32 x 32 pixels in ten classes."""

    def __init__(self, count: int) -> None:
        super().__init__(torch.randn(count, 3, 32, 32), torch.randint(0, 10, (count,)))


def slow_collate(samples: Sequence[Any]) -> Any:
    """Put a batch together, as slowly as one that pads and tokenizes."""
    time.sleep(0.03)
    return default_collate(list(samples))


def train(args: argparse.Namespace) -> None:
    pl.seed_everything(0, verbose=False)
    torch.set_num_threads(1)  # so small a model is slower on several
    size, ranks = args.batch_size, args.devices
    collate = slow_collate if args.slow_collator else default_collate
    training = DataLoader(Images(args.steps * size * ranks), size, collate_fn=collate)
    validation = DataLoader(Images(4 * size * ranks), size)
    checkpoints = ModelCheckpoint(
        Path(args.run_dir) / "checkpoints", every_n_train_steps=args.save_every
    )
    trainer = pl.Trainer(
        callbacks=[PytscopeCallback(args.run_dir, distributed=True), checkpoints],
        max_steps=args.steps,
        val_check_interval=args.validate_every,
        check_val_every_n_epoch=None,
        accelerator="cpu",
        devices=ranks,
        strategy="ddp" if ranks > 1 else "auto",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=args.run_dir,
    )
    trainer.fit(Classifier(args.width, 0.05 if args.slow_validation else 0.0), training, validation)
    if trainer.is_global_zero:
        print(f"{trainer.global_step} steps; now: pytscope analyze {args.run_dir}")


def parsed(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run-dir", default="runs/lightning")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--devices", type=int, default=1, help="ranks, each a process")
    parser.add_argument("--slow-collator", action="store_true", help="30 ms more a batch")
    parser.add_argument("--slow-validation", action="store_true", help="50 ms more a batch")
    parser.add_argument("--validate-every", type=int, default=100, metavar="N")
    parser.add_argument("--save-every", type=int, default=100, metavar="N")
    return parser.parse_args(words)


if __name__ == "__main__":
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", message=".*does not have many workers")  # data is in memory
    warnings.filterwarnings("ignore", message=".*LeafSpec")  # of Lightning 2.6 with PyTorch 2.13
    train(parsed())
