"""Fits of several ranks, each a process, whose modules can be sent there."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.strategies import ModelParallelStrategy
from torch.distributed.fsdp import fully_shard

from pytscope.integrations.lightning import PytscopeCallback

STEPS = 8
DATA, FORWARD, EVAL = 0.004, 0.003, 0.005


class Sleepy(torch.utils.data.Dataset[Any]):
    """Samples that take time; those of validation longer."""

    def __init__(self, seconds: float, count: int) -> None:
        self.seconds = seconds
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        time.sleep(self.seconds)
        return torch.ones(4) * index, torch.ones(1)


class Net(pl.LightningModule):
    """A module that sleeps; in manual optimization too.

    Args:
        manual: Whether it optimizes by hand.
    """

    def __init__(self, manual: bool = False) -> None:
        super().__init__()
        self.body = torch.nn.Linear(4, 1)
        self.automatic_optimization = not manual

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        x, y = batch
        time.sleep(FORWARD)
        loss = ((self.body(x) - y) ** 2).mean()
        if not self.automatic_optimization:
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        self.log("val", self.body(batch[0]).mean(), sync_dist=True)

    def test_step(self, batch: Any, batch_idx: int) -> None:
        self.log("test", self.body(batch[0]).mean(), sync_dist=True)

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=1e-3)


class Sharded(Net):
    """A module whose parameters are spread over the ranks."""

    def configure_model(self) -> None:
        fully_shard(self.body, mesh=self.device_mesh["data_parallel"])


def fit(folder: Path, strategy: Any, ranks: int, net: Any = None, **options: Any) -> Any:
    """Fit over some ranks, validating in the midst of it; the Trainer."""
    torch.set_num_threads(1)
    trainer = pl.Trainer(
        callbacks=[PytscopeCallback(folder, **{"distributed": True, **options})],
        accelerator="cpu",
        devices=ranks,
        strategy=strategy,
        max_steps=STEPS,
        val_check_interval=4,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    training = torch.utils.data.DataLoader(Sleepy(DATA, STEPS * ranks))
    trainer.fit(net or Net(), training, torch.utils.data.DataLoader(Sleepy(EVAL, 2 * ranks)))
    return trainer


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    trained = fit(Path(sys.argv[1]) / "automatic", "ddp", 2)
    trained.test(Net(), torch.utils.data.DataLoader(Sleepy(EVAL, 4)), verbose=False)
    fit(Path(sys.argv[1]) / "manual", "ddp", 2, Net(manual=True))
    sharding = ModelParallelStrategy(process_group_backend="gloo")
    fit(Path(sys.argv[1]) / "sharded", sharding, 2, Sharded())
