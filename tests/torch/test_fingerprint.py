"""Fingerprints of batches: what they tell apart, and that taking them changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pytscope

torch = pytest.importorskip("torch", reason="records loaders of torch")
pytest.importorskip("pytscope_torch", reason="pytscope-torch is not installed")

from torch.utils.data import DataLoader, Dataset, IterableDataset  # noqa: E402  # as above

from pytscope.auto import AutoProfiler  # noqa: E402  # as above
from pytscope_torch.seams.indices import NAME, Indices, packed  # noqa: E402  # as above

BATCH, INTEGERS, SAMPLES = (f"batch_{kind}fingerprint" for kind in ("", "integers_", "samples_"))


class Samples(Dataset):  # type: ignore[misc]  # torch may be absent
    """Vectors with labels; `shift` is what an augmentation does to them."""

    def __init__(self, shift: float = 0.0, *, labels: bool = True, count: int = 12) -> None:
        self.shift = shift
        self.labels = labels
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        x = torch.full((4,), float(index)) + self.shift
        return (x, index % 3) if self.labels else (x, float(index))


def train(folder: Path, loader: Any, fetches: int = 1) -> Any:
    """Train on what the loader brings, so many batches a step; returns the fingerprints."""
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with AutoProfiler(folder, net, optimizer, fingerprint_batches=True):
        for number, (x, _) in enumerate(loader, 1):
            net(x).sum().backward()
            if number % fetches == 0:
                optimizer.step()
                optimizer.zero_grad()
    return marks(folder)


def marks(folder: Path) -> dict[str, list[int]]:
    shown = pytscope.open(folder).shown
    names = [name for name in shown.scalars if name.endswith("fingerprint")]
    return {name: shown.column("scalar", name)[1].tolist() for name in names}


def shuffled(samples: Any, seed: int = 0, **options: Any) -> Any:
    return DataLoader(
        samples, 3, shuffle=True, generator=torch.Generator().manual_seed(seed), **options
    )


def test_augmentation_changes_neither_labels_nor_numbers(tmp_path: Path) -> None:
    plain = train(tmp_path / "a", shuffled(Samples()))
    other = train(tmp_path / "b", shuffled(Samples(0.5)))
    assert len(set(plain[BATCH])) == 4
    assert not set(plain[BATCH]) & set(other[BATCH])
    assert plain[INTEGERS] == other[INTEGERS]
    assert plain[SAMPLES] == other[SAMPLES]


def test_another_order_changes_all(tmp_path: Path) -> None:
    plain = train(tmp_path / "a", shuffled(Samples()))
    other = train(tmp_path / "b", shuffled(Samples(), seed=1))
    for name in (BATCH, INTEGERS, SAMPLES):
        assert plain[name] != other[name]


def test_batches_of_one_kind_have_no_fingerprint_of_integers(tmp_path: Path) -> None:
    assert set(train(tmp_path / "floats", shuffled(Samples(labels=False)))) == {BATCH, SAMPLES}
    whole = [(torch.ones(4, dtype=torch.int64), 1) for _ in range(6)]
    loader = DataLoader(whole, 3, collate_fn=lambda batch: batch)
    with AutoProfiler(tmp_path / "whole", fingerprint_batches=True):
        net = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for batch in loader:
            net(batch[0][0].float()).sum().backward()
            optimizer.step()
    assert set(marks(tmp_path / "whole")) == {BATCH, SAMPLES}


def test_workers_and_steps_of_several_batches_keep_the_order(tmp_path: Path) -> None:
    alone = train(tmp_path / "alone", shuffled(Samples()), fetches=2)
    assert len(alone[SAMPLES]) == 2
    workers = train(tmp_path / "workers", shuffled(Samples(), num_workers=2), fetches=2)
    assert workers == alone


class Stream(IterableDataset):  # type: ignore[misc]  # torch may be absent
    """Samples without numbers."""

    def __iter__(self) -> Iterator[Any]:
        return iter([(torch.ones(4) * i, 0) for i in range(6)])


def test_samples_without_numbers_have_no_fingerprint_of_them(tmp_path: Path) -> None:
    assert set(train(tmp_path, DataLoader(Stream(), 3))) == {BATCH, INTEGERS}


def test_numbers_belong_to_the_batch_that_came() -> None:
    class Iterator:
        _send_idx, _rcvd_idx = 0, 0

    indices, iterator = Indices(), Iterator()
    for sent in range(3):
        iterator._send_idx = sent
        indices.drawn(iterator, [sent])
    iterator._rcvd_idx = 2  # the first one raised
    assert indices.taken(iterator) == packed([1])
    iterator._rcvd_idx = 3
    assert indices.taken(iterator) == packed(2)
    assert indices.taken(iterator) is None
    iterator._in_order = False  # type: ignore[attr-defined]  # as the loader's iterators have it
    indices.drawn(iterator, [4])
    assert indices.taken(iterator) is None


@pytest.mark.parametrize("index", [["a"], object(), (1.5,), [2**70]])
def test_odd_numbers_are_no_numbers(index: Any) -> None:
    indices = Indices()
    iterator = type("Iterator", (), {})()
    indices.drawn(iterator, index)
    assert indices.taken(iterator) is None


def test_loaders_are_left_as_they_were(tmp_path: Path) -> None:
    base = torch.utils.data.dataloader._BaseDataLoaderIter
    before = vars(base)[NAME]
    with AutoProfiler(tmp_path, fingerprint_batches=True):
        assert vars(base)[NAME] is not before
    assert vars(base)[NAME] is before


def stepped(prof: Any, net: Any, optimizer: Any, x: Any) -> None:
    net(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def test_an_evaluations_batches_are_left_out(tmp_path: Path) -> None:
    plain = train(tmp_path / "plain", shuffled(Samples()))
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with AutoProfiler(tmp_path / "run", net, optimizer, fingerprint_batches=True) as prof:
        for x, _ in shuffled(Samples()):
            net.eval()
            with torch.no_grad():
                for held_out, _ in DataLoader(Samples(7.0), 4):
                    net(held_out)
            net.train()
            stepped(prof, net, optimizer, x)
    assert marks(tmp_path / "run") == plain
    with AutoProfiler(tmp_path / "after", net, optimizer, fingerprint_batches=True) as prof:
        for x, _ in shuffled(Samples()):
            stepped(prof, net, optimizer, x)
            net.eval()
            with torch.no_grad():
                for held_out, _ in DataLoader(Samples(7.0), 4):
                    net(held_out)
            net.train()
    assert marks(tmp_path / "after") == plain


def test_batches_passed_over_at_a_resume_are_left_out(tmp_path: Path) -> None:
    plain = train(tmp_path / "plain", shuffled(Samples()))
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with AutoProfiler(tmp_path / "run", net, optimizer, fingerprint_batches=True).start(2) as prof:
        for number, (x, _) in enumerate(shuffled(Samples())):
            if number >= 2:
                stepped(prof, net, optimizer, x)
    assert marks(tmp_path / "run") == {name: values[2:] for name, values in plain.items()}


def test_batches_of_two_loaders_count_from_the_first_step_on(tmp_path: Path) -> None:
    def together(folder: Path, second: Any) -> Any:
        net = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with AutoProfiler(folder, net, optimizer, fingerprint_batches=True) as prof:
            for (x, _), (other, _) in zip(shuffled(Samples()), second, strict=True):
                stepped(prof, net, optimizer, x + other)
        return marks(folder)[BATCH]

    first = together(tmp_path / "a", shuffled(Samples()))
    second = together(tmp_path / "b", shuffled(Samples(1.0)))
    assert len(first) == 4
    assert not set(first) & set(second)
