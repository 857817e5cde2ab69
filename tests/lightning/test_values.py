"""Values recorded with a fit: losses, learning rates, metrics, settings, and the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lightning.pytorch", reason="lightning is not installed")

from lightning.pytorch.callbacks import Callback

import pytscope
from tests.lightning.made import Case, Model, pl, torch
from tests.lightning.situations import SITUATIONS, Players


def played(folder: Path, name: str) -> Any:
    case: Any = Case(folder, pace=0)
    SITUATIONS[name](case)
    return case


def scalars(case: Any, name: str) -> list[float | None]:
    return [record.scalars.get(name) for record in case.timeline().records()]


def test_losses_are_those_of_the_steps(tmp_path: Path) -> None:
    case = played(tmp_path, "automatic")
    assert scalars(case, "loss") == [float(loss) for loss in case.losses]


def test_the_loss_of_accumulated_batches_is_their_mean(tmp_path: Path) -> None:
    case = played(tmp_path, "accumulation")
    each = [float(loss) for loss in case.losses]
    parts = [each[a:b] for a, b in ((0, 3), (3, 6), (6, 8), (8, 11), (11, 14), (14, 16))]
    assert scalars(case, "loss") == pytest.approx([sum(p) / len(p) for p in parts], rel=1e-5)


def test_learning_rates_are_those_that_the_steps_were_made_with(tmp_path: Path) -> None:
    case = played(tmp_path, "scheduled_rates")
    assert scalars(case, "lr") == pytest.approx([0.01 * 0.5**i for i in range(16)])


def test_learning_rates_of_groups_and_of_further_optimizers(tmp_path: Path) -> None:
    class Grouped(Players):
        def configure_optimizers(self) -> Any:
            first = [
                {"params": [p], "lr": lr}
                for p, lr in zip(self.linear.parameters(), (1, 2), strict=True)
            ]
            one = self.case[0].optimizer([*first, {"params": self.generator.parameters(), "lr": 3}])
            return [one, self.case[0].optimizer(self.critic.parameters(), lr=0.5)]

    case: Any = Case(tmp_path, pace=0)
    case.fitted(Grouped, max_epochs=1)
    found = list(case.timeline().records())[3].scalars
    assert {name: found[name] for name in ("lr", "lr.1", "lr.2", "lr_1")} == {
        "lr": 1,
        "lr.1": 2,
        "lr.2": 3,
        "lr_1": 0.5,
    }


def test_metrics_are_recorded_when_they_are_written_to_loggers(tmp_path: Path) -> None:
    case = played(tmp_path, "loggers")
    written = [value is not None for value in scalars(case, "train_loss")]
    assert written == [step % 2 == 1 for step in range(16)]
    validated = [step for step, v in enumerate(scalars(case, "val_loss")) if v is not None]
    assert validated == [7, 15]


def test_lightnings_own_loggers_are_timed(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0)
    case.fitted(logger=[pl.loggers.CSVLogger(tmp_path, name=name) for name in ("a", "b")])
    written = case.timeline().phase_ns("log")
    assert all(written[step] > 0 for step in range(2, 16, 2))  # the step after each second one
    assert len(list(tmp_path.rglob("metrics.csv"))) == 2


def test_a_metric_with_a_name_of_ours_is_kept_apart(tmp_path: Path) -> None:
    class Clashing(Model):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            self.log_dict({"loss": 7.0, "tokens": 8.0, "self": 9.0})
            return super().training_step(batch, batch_idx)

    case: Any = Case(tmp_path, pace=0)
    case.fitted(Clashing, max_epochs=1)
    assert scalars(case, "loss") == [float(loss) for loss in case.losses]
    assert scalars(case, "tokens") == [None] * 8
    assert list(case.timeline().records())[3].scalars["logged/self"] == 9.0


def test_no_logged_tensor_is_read_while_it_is_on_a_device(tmp_path: Path) -> None:
    """A tensor of another device than the host goes to the writer as it is."""
    from pytscope_lightning.values import Losses

    losses = Losses()
    for value in (1.0, 3.0):
        losses.add({"loss": torch.tensor(value, device="meta")})  # reading it would raise
    assert losses.taken(2).device.type == "meta"
    assert losses.taken(2) is None


def test_values_and_phases_of_the_users_own(tmp_path: Path) -> None:
    class Own(Callback):
        def on_train_batch_end(self, *_: Any) -> None:
            with case.callback.profiler.phase("mine"):
                case.callback.profiler.log(mine=1.0)

    case: Any = Case(tmp_path, pace=0)
    case.fitted(callbacks=[Own()], max_epochs=1)
    assert "mine" in case.timeline().phases
    assert scalars(case, "mine") == [1.0] * 8


def test_settings_of_the_trainer_and_the_module_are_kept(tmp_path: Path) -> None:
    class Known(Model):
        def __init__(self, case: Any) -> None:
            super().__init__(case)
            self.save_hyperparameters({"width": 4})

    case: Any = Case(tmp_path, pace=0)
    case.fitted(Known, max_epochs=1, gradient_clip_val=0.5)
    config = pytscope.open(case.folder).config
    assert config["hparams"] == {"width": 4}
    assert config["trainer"]["gradient_clip_val"] == 0.5
    assert config["trainer"]["strategy"] == "SingleDeviceStrategy"


def test_more_options_go_to_the_profiler(tmp_path: Path) -> None:
    case: Any = Case(
        tmp_path,
        pace=0,
        name="mine",
        config={"a": 1},
        collect_memory=True,
        fingerprint_batches=True,
    )
    case.fitted(max_epochs=1)
    run = pytscope.open(case.folder)
    assert (run.name, run.config) == ("mine", {"a": 1})
    assert all(record.memory_bytes for record in run.rank(0).records())
    assert len({r.scalars["batch_fingerprint"] for r in run.rank(0).records()} - {None}) > 1
