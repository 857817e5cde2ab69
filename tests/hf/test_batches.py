"""Fingerprints of batches: each step has those of the batches that it trains on.

accelerate's loaders fetch one batch ahead of the loop.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pytscope
from tests.hf.made import Case, torch

accelerate = pytest.importorskip("accelerate", reason="has the loaders that fetch ahead")

from accelerate import Accelerator, DataLoaderConfiguration, skip_first_batches  # noqa: E402  # as above
from torch.utils.data import DataLoader, Dataset, IterableDataset  # noqa: E402  # as above

from pytscope.auto import AutoProfiler  # noqa: E402  # as above
from pytscope_torch.fingerprint import fetched, joined  # noqa: E402  # as above


class Samples(Dataset):  # type: ignore[misc]  # torch may be absent
    """Each sample is another."""

    def __init__(self, count: int = 7) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        return torch.full((4,), float(index)), torch.tensor(index)


class Stream(IterableDataset):  # type: ignore[misc]  # torch may be absent
    """Such samples, of a number that nobody knows."""

    def __iter__(self) -> Iterator[Any]:
        return (Samples()[index] for index in range(7))


def expected(batches: list[Any]) -> int:
    """The fingerprint of a step that trains on these."""
    return joined([hash_ for b in batches if (hash_ := fetched(b, 0, None).batch) is not None])


def recorded(folder: Path) -> dict[int, int]:
    shown = pytscope.open(folder).shown
    rows, values = shown.column("scalar", "batch_fingerprint")
    return dict(zip(shown.step[rows].tolist(), values.tolist(), strict=True))


class Loop:
    """A loop written with accelerate that keeps what each of its steps trained on.

    Args:
        data: Samples.
        accumulate: Batches a step.
        size: Samples of a batch.
        settings: How accelerate makes loaders.
    """

    def __init__(
        self, data: Any, accumulate: int = 1, size: int = 1, settings: dict[str, Any] | None = None
    ) -> None:
        made = DataLoaderConfiguration(**(settings or {}))
        self.accelerator = Accelerator(
            cpu=True, gradient_accumulation_steps=accumulate, dataloader_config=made
        )
        net = torch.nn.Linear(4, 1)
        loaders = [DataLoader(d, size) for d in (data, Samples(9), Samples(3))]
        prepared = self.accelerator.prepare(net, torch.optim.SGD(net.parameters()), *loaders)
        self.net, self.optimizer, self.loader, self.second, self.held_out = prepared
        self.steps: list[list[Any]] = []
        self.seen: list[Any] = []

    def epoch(self, batches: Any) -> None:
        """Train on batches, or on tuples of them."""
        for batch in batches:
            several = batch if isinstance(batch[0], (tuple, list)) else [batch]
            with self.accelerator.accumulate(self.net):
                self.seen += several
                self.accelerator.backward(sum(self.net(x).sum() for x, _ in several))
                self.optimizer.step()
                if self.accelerator.sync_gradients:
                    self.steps.append(self.seen)
                    self.seen = []
                self.optimizer.zero_grad()

    def evaluate(self) -> None:
        self.net.eval()
        with torch.no_grad():
            for x, _ in self.held_out:
                self.net(x)
        self.net.train()


def plain(loop: Loop) -> None:
    for _ in range(2):
        loop.epoch(loop.loader)


def evaluated(loop: Loop) -> None:
    loop.evaluate()
    for _ in range(2):
        loop.epoch(loop.loader)
        loop.evaluate()


def resumed(loop: Loop) -> None:
    loop.epoch(skip_first_batches(loop.loader, 3))
    loop.epoch(loop.loader)


def paired(loop: Loop) -> None:
    for _ in range(2):
        loop.epoch(zip(loop.loader, loop.second, strict=False))


def left_early(loop: Loop) -> None:
    loop.epoch(itertools.islice(loop.loader, 3))
    loop.epoch(loop.loader)


PARTS = {"dispatch_batches": True}
LOOPS: dict[str, tuple[Callable[[Loop], None], int, dict[str, Any]]] = {
    "plain": (plain, 14, {}),
    "stream": (plain, 14, {"data": Stream()}),
    "accumulated": (plain, 6, {"accumulate": 3}),
    "accumulated_stream": (evaluated, 8, {"data": Stream(), "accumulate": 2}),
    "evaluated": (evaluated, 14, {}),
    "resumed": (resumed, 11, {}),
    "resumed_stream": (resumed, 11, {"data": Stream()}),
    "two_loaders": (paired, 14, {}),
    "left_early": (left_early, 10, {}),
    "uneven": (plain, 8, {"size": 2, "settings": {"even_batches": False}}),
    "dispatched": (plain, 8, {"size": 2, "settings": PARTS}),
    "dispatched_stream": (
        evaluated,
        14,
        {"data": Stream(), "settings": PARTS},
    ),
    "split": (plain, 14, {"settings": {"split_batches": True}}),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_step_has_the_fingerprints_of_its_batches(tmp_path: Path, name: str) -> None:
    run, count, options = LOOPS[name]
    loop = Loop(**{"data": Samples(), **options})
    first = 3 if "resumed" in name else 0
    profiler = AutoProfiler(tmp_path, loop.net, loop.optimizer, fingerprint_batches=True)
    profiler.start(first)
    run(loop)
    profiler.finish()
    assert len(loop.steps) == count
    assert recorded(tmp_path) == {
        first + step: expected(batches) for step, batches in enumerate(loop.steps)
    }


class Keeping(Case.__init__.__kwdefaults__["kind"]):  # type: ignore[misc]  # a Trainer
    """A Trainer that keeps the batches that its model is given."""

    fed: list[tuple[int, Any]]

    def training_step(self, model: Any, inputs: Any, *rest: Any, **more: Any) -> Any:
        self.fed.append((self.state.global_step, dict(inputs)))
        return super().training_step(model, inputs, *rest, **more)


TRAININGS: dict[str, dict[str, Any]] = {
    "several_epochs": {"num_train_epochs": 2},
    "accumulated_with_a_rest": {"num_train_epochs": 2, "gradient_accumulation_steps": 3},
    "evaluated": {"eval_strategy": "steps", "eval_steps": 2},
    "stream": {"stream": True, "max_steps": 9},
}


@pytest.mark.parametrize("name", TRAININGS)
def test_so_has_one_of_the_trainers(tmp_path: Path, name: str) -> None:
    marked = {"options": {"fingerprint_batches": True}, "kind": Keeping}
    case = Case(tmp_path, 7, pace=0, **marked, **TRAININGS[name])
    case.trainer.fed = []
    case.train()
    steps: dict[int, list[Any]] = {}
    for step, batch in case.trainer.fed:
        steps.setdefault(step, []).append(batch)
    assert recorded(case.folder) == {step: expected(b) for step, b in steps.items()}


def test_loaders_are_left_as_they_were(tmp_path: Path) -> None:
    from accelerate.data_loader import DataLoaderDispatcher, DataLoaderShard

    before = [vars(kind)["__iter__"] for kind in (DataLoaderShard, DataLoaderDispatcher)]
    loop = Loop(Samples())
    with AutoProfiler(tmp_path, loop.net, loop.optimizer, fingerprint_batches=True):
        plain(loop)
    after = [vars(kind)["__iter__"] for kind in (DataLoaderShard, DataLoaderDispatcher)]
    assert before == after


def test_a_batch_is_let_go_of_before_the_next_one_is_fetched(tmp_path: Path) -> None:
    """As without: who trains on a device has no room for another one."""
    import weakref

    known: list[Any] = []
    alive: list[int] = []

    class Watching(Samples):
        def __getitem__(self, index: int) -> Any:
            alive.append(sum(one() is not None for one in known))
            found = super().__getitem__(index)
            known.append(weakref.ref(found[0]))
            return found

    counts = []
    for on in (False, True):
        known.clear()
        alive.clear()
        loop = Loop(Watching())
        if on:
            with AutoProfiler(tmp_path, loop.net, loop.optimizer, fingerprint_batches=True):
                _pass_over(loop.loader)
        else:
            _pass_over(loop.loader)
        counts.append(list(alive))
    assert counts[0] == counts[1]


def _pass_over(loader: Any) -> None:
    for batch in loader:
        del batch
