"""Situations that a fit may be in, each a function of a `Case`, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lightning.pytorch.callbacks import (
    Callback,
    EarlyStopping,
    GradientAccumulationScheduler,
    ModelCheckpoint,
    StochasticWeightAveraging,
)
from lightning.pytorch.plugins import MixedPrecision

from tests.lightning.made import FORWARD, OTHER, Case, Model, SleepyLogger, pl, torch
from tests.torch.auto.made import DATA, Batches

SITUATIONS: dict[str, Callable[[Case], Any]] = {}
STEPS: dict[str, int] = {}


def situation(steps: int) -> Callable[[Callable[[Case], Any]], Callable[[Case], Any]]:
    """Enter a situation, and how many optimizer steps are made in it with 8 batches an epoch."""

    def entered(function: Callable[[Case], Any]) -> Callable[[Case], Any]:
        SITUATIONS[function.__name__] = function
        STEPS[function.__name__] = steps
        return function

    return entered


@situation(16)
def automatic(case: Case) -> None:
    case.fitted()


class Called(Model):
    """A module that calls itself, as the documentation's first example does."""

    def forward(self, x: Any) -> Any:
        return self.compute(x)

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        x, y = batch
        return {"loss": self.loss(self(x), y), "more": 1}


@situation(16)
def module_called_in_the_training_step(case: Case) -> None:
    case.fitted(Called)


class Manual(Model):
    """Manual optimization; between its passes it sleeps as the loss."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.automatic_optimization = False

    def forward(self, x: Any) -> Any:
        return self.compute(x)

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        x, y = batch
        optimizer = self.optimizers()
        loss = self.loss(self(x), y, "loss")
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()
        return loss


@situation(16)
def manual(case: Case) -> None:
    case.fitted(Manual, validate=True)


class ManuallyAccumulated(Manual):
    """Two batches a step."""

    def training_step(self, batch: Any, batch_idx: int) -> None:
        x, y = batch
        self.manual_backward(self.loss(self(x), y, "loss"))
        if batch_idx % 2:
            self.optimizers().step()
            self.optimizers().zero_grad()


@situation(8)
def manual_accumulation(case: Case) -> None:
    case.fitted(ManuallyAccumulated)


class Part(torch.nn.Module):
    """A part of a module with a forward pass of its own."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 1)
        self.model = [model]

    def forward(self, x: Any) -> Any:
        self.model[0].truth.sleep("forward", FORWARD)
        return self.linear(x)


class Players(Manual):
    """Two optimizers, each of a part."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.generator, self.critic = Part(self), Part(self)

    def training_step(self, batch: Any, batch_idx: int) -> None:
        x, y = batch
        for part, optimizer in zip(
            (self.critic, self.generator), self.optimizers()[::-1], strict=True
        ):
            optimizer.zero_grad()
            self.manual_backward(self.loss(part(x), y, "loss"))
            optimizer.step()

    def configure_optimizers(self) -> Any:
        parts = (self.generator, self.critic)
        return [self.case[0].optimizer(part.parameters()) for part in parts]


@situation(16)
def two_optimizers(case: Case) -> None:
    case.fitted(Players)


@situation(6)
def accumulation(case: Case) -> None:
    case.fitted(accumulate_grad_batches=3)


@situation(12)
def scheduled_accumulation(case: Case) -> None:
    case.fitted(callbacks=[GradientAccumulationScheduler({0: 1, 1: 2})])


@situation(16)
def bf16(case: Case) -> None:
    case.fitted(precision="bf16-mixed")


@situation(16)
def scaled(case: Case) -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=1.0)
    case.fitted(plugins=[MixedPrecision("16-mixed", "cpu", scaler=scaler)], gradient_clip_val=1.0)


@situation(16)
def clipping(case: Case) -> None:
    case.fitted(gradient_clip_val=0.5)


@situation(16)
def validation_inside_an_epoch(case: Case) -> None:
    case.fitted(validate=True, val_check_interval=3)


@situation(6)
def validation_inside_an_accumulated_step(case: Case) -> None:
    case.fitted(validate=True, val_check_interval=2, accumulate_grad_batches=3)


class Saving(Model):
    """A module that takes its time to be saved."""

    def on_save_checkpoint(self, checkpoint: Any) -> None:
        self.truth.sleep("checkpoint", OTHER)


@situation(16)
def checkpoints(case: Case) -> None:
    saver = ModelCheckpoint(case.space / "saved", every_n_train_steps=2, save_top_k=-1)
    case.fitted(Saving, callbacks=[saver], enable_checkpointing=True)


@situation(16)
def checkpoints_of_validations(case: Case) -> None:
    saver = ModelCheckpoint(case.space / "saved", monitor="val_loss", save_top_k=1)
    case.fitted(
        Saving, callbacks=[saver], enable_checkpointing=True, validate=True, val_check_interval=4
    )


@situation(16)
def loggers(case: Case) -> None:
    case.fitted(logger=SleepyLogger(case), validate=True, enable_progress_bar=True)


@situation(24)
def averaged_weights(case: Case) -> None:
    averaging = StochasticWeightAveraging(swa_lrs=0.01, swa_epoch_start=1)
    case.fitted(callbacks=[averaging], max_epochs=3)


class Smoothed(Callback):
    """Averages weights as the training goes on, and evaluates with the average."""

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        average = torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
        self.average = torch.optim.swa_utils.AveragedModel(pl_module.linear, multi_avg_fn=average)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
        pl_module.truth.sleep("other", OTHER)
        self.average.update_parameters(pl_module.linear)


@situation(16)
def smoothed_weights(case: Case) -> None:
    case.fitted(callbacks=[Smoothed()], validate=True)


class Own(Model):
    """A module with hooks of its own."""

    def transfer_batch_to_device(self, batch: Any, device: Any, dataloader_idx: int) -> Any:
        self.truth.sleep("h2d" if self.trainer.training else "eval", OTHER)
        return super().transfer_batch_to_device(batch, device, dataloader_idx)

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        self.truth.sleep("transform" if self.trainer.training else "eval", OTHER)
        return batch

    def backward(self, loss: Any) -> None:
        self.truth.sleep("backward", OTHER)
        super().backward(loss)

    def optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        self.truth.sleep("optimizer", OTHER)
        super().optimizer_step(*args, **kwargs)
        self.truth.sleep("optimizer", OTHER)


@situation(16)
def hooks_of_the_users_own(case: Case) -> None:
    case.fitted(Own, validate=True)


class Stream(torch.utils.data.IterableDataset[Any]):
    """Samples of a number nobody knows."""

    def __init__(self, case: Case) -> None:
        self.samples = Batches(case.truth, case.count)

    def __iter__(self) -> Iterator[Any]:
        yield from (self.samples[i] for i in range(len(self.samples)))


@situation(16)
def loader_without_length(case: Case) -> None:
    case.fitted(loader=torch.utils.data.DataLoader(Stream(case)))


class Fetching(Model):
    """A module that fetches its batches itself."""

    def training_step(self, dataloader_iter: Any) -> Any:
        (x, y), _, _ = next(dataloader_iter)
        return self.loss(self.compute(x), y)


@situation(16)
def batches_fetched_in_the_training_step(case: Case) -> None:
    case.fitted(Fetching)


class Listed:
    """Batches that no loader of PyTorch's gives."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def __len__(self) -> int:
        return self.case.count

    def __iter__(self) -> Iterator[Any]:
        for i in range(self.case.count):
            self.case.truth.sleep("data", DATA)
            yield torch.ones(1, 4) * i, torch.ones(1, 1)


@situation(16)
def loader_of_another_kind(case: Case) -> None:
    case.fitted(loader=Listed(case))


class Paired(Model):
    """A module that is given batches of two loaders."""

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        (x, y), _ = batch["a"], batch["b"]
        return self.loss(self.compute(x), y)


@situation(16)
def two_loaders(case: Case) -> None:
    case.fitted(Paired, loader={"a": case.data(), "b": case.data(count=3)})


@situation(16)
def loader_with_workers(case: Case) -> None:
    plain = torch.utils.data.DataLoader(Batches(None, case.count), num_workers=1)
    case.fitted(loader=plain)


class Data(pl.LightningDataModule):
    """A data module that moves batches itself."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case

    def train_dataloader(self) -> Any:
        return self.case.data()

    def transfer_batch_to_device(self, batch: Any, device: Any, dataloader_idx: int) -> Any:
        self.case.truth.sleep("h2d", OTHER)
        return super().transfer_batch_to_device(batch, device, dataloader_idx)


@situation(16)
def data_module(case: Case) -> None:
    case.fitted(data=Data(case))


class Reluctant(Model):
    """A module that passes over every other batch."""

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        loss = super().training_step(batch, batch_idx)
        return None if batch_idx % 2 else loss


@situation(16)
def batches_passed_over(case: Case) -> None:
    case.fitted(Reluctant)


@situation(5)
def stopped_within_an_epoch(case: Case) -> None:
    case.fitted(max_epochs=-1, max_steps=5)


@situation(8)
def stopped_early(case: Case) -> None:
    stopper = EarlyStopping("val_loss", patience=1, stopping_threshold=1e9)
    case.fitted(callbacks=[stopper], validate=True)


class Searching(Model):
    """A module whose optimizer calls the training step several times a step."""

    def configure_optimizers(self) -> Any:
        made = torch.optim.LBFGS(self.parameters(), lr=0.01, max_iter=2)
        made.register_step_post_hook(lambda *_: self.truth.next_step())
        return made


@situation(16)
def line_search(case: Case) -> None:
    case.fitted(Searching)


class Scheduled(Model):
    """A module with schedulers of learning rates."""

    def configure_optimizers(self) -> Any:
        optimizer = self.case[0].optimizer(self.parameters())
        rates = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": rates, "interval": "step"}}


@situation(16)
def scheduled_rates(case: Case) -> None:
    case.fitted(Scheduled)


@situation(16)
def sorted_by_the_simple_profiler(case: Case) -> None:
    case.fitted(profiler="simple", validate=True)
