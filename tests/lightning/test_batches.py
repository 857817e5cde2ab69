"""Fingerprints of batches: each step has those of the batches that it trains on.

Lightning fetches one batch ahead of the loop where a loader has no length.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lightning.pytorch", reason="lightning is not installed")

from pytscope_torch.fingerprint import fetched, joined
from tests.lightning.made import Case, Model, torch
from tests.lightning.situations import Listed, Stream

DataLoader = torch.utils.data.DataLoader


class Numbers(torch.utils.data.Dataset[Any]):
    """Each sample is another."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return torch.full((4,), float(index)), torch.ones(1)


class Keeping(Model):
    """A module that keeps what it is given, by the step that it is for."""

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        kept = self.case[0].__dict__.setdefault("fed", {})
        parts = list(batch.values()) if isinstance(batch, dict) else [batch]
        kept.setdefault(self.trainer.global_step, []).extend(parts)
        x, y = parts[0]
        return self.loss(self.compute(x), y)


class Taking(Keeping):
    """The same of a module that fetches its batches itself."""

    def training_step(self, dataloader_iter: Any) -> Any:
        batch, batch_idx, _ = next(dataloader_iter)
        return super().training_step(batch, batch_idx)


def stream(case: Case) -> Any:
    made = Stream(case)
    made.samples = Numbers(case.count)
    return DataLoader(made)


SITUATIONS: dict[str, Callable[[Case], Any]] = {
    "plain": lambda case: case.fitted(Keeping, loader=DataLoader(Numbers(7))),
    "stream": lambda case: case.fitted(Keeping, loader=stream(case)),
    "accumulated_stream": lambda case: case.fitted(
        Keeping, loader=stream(case), accumulate_grad_batches=3
    ),
    "validated_stream": lambda case: case.fitted(
        Keeping, loader=stream(case), validate=True, val_check_interval=3
    ),
    "two_loaders": lambda case: case.fitted(
        Keeping, loader={"a": DataLoader(Numbers(7)), "b": stream(case)}
    ),
    "fetched_in_the_training_step": lambda case: case.fitted(Taking, loader=stream(case)),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_step_has_the_fingerprints_of_its_batches(tmp_path: Path, name: str) -> None:
    case: Any = Case(tmp_path, pace=0, fingerprint_batches=True)
    SITUATIONS[name](case)
    expected = {}
    for step, batches in case.fed.items():
        expected[step] = joined([fetched(batch, 0, None).batch for batch in batches])
    timeline = case.timeline()
    rows, values = timeline.column("scalar", "batch_fingerprint")
    assert dict(zip(timeline.step[rows].tolist(), values.tolist(), strict=True)) == expected
    assert len(expected) == len(timeline)


def test_fetchers_are_left_as_they_were(tmp_path: Path) -> None:
    from lightning.pytorch.loops import fetchers

    kinds = (fetchers._DataFetcher, fetchers._PrefetchDataFetcher)
    before = [vars(kind)["__next__"] for kind in kinds]
    SITUATIONS["stream"](Case(tmp_path, pace=0, fingerprint_batches=True))
    assert [vars(kind)["__next__"] for kind in kinds] == before


def test_batches_that_no_loader_of_torchs_gives_have_none(tmp_path: Path) -> None:
    case: Any = Case(tmp_path, pace=0, fingerprint_batches=True)
    case.fitted(loader=Listed(case))
    assert "batch_fingerprint" not in case.timeline().scalars
