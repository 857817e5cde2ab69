"""Where batches come from."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

from tests.torch.auto.loops.registry import loop, untimed
from tests.torch.auto.made import DATA, Case, Truth, batches, loader, torch


class Stamped(torch.utils.data.Dataset[Any]):
    """Samples that tell when they were ready, on the one clock of all processes."""

    def __init__(self, count: int, pace: float) -> None:
        self.count = count
        self.pace = pace

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        time.sleep(40 * DATA * self.pace)
        return torch.ones(4) * (index % 3), torch.ones(1), time.perf_counter_ns()


def _train_from_workers(case: Case, fetched: Any) -> None:
    asked = time.perf_counter_ns()
    for x, y, ready in fetched:
        step = case.truth.steps[-1]  # the loop waited at least until the sample was there
        step["data"] = step.get("data", 0) + max(0, int(ready) - asked)
        case.train(x, y)
        asked = time.perf_counter_ns()


@loop
def workers(case: Case) -> None:
    samples = Stamped(case.count, case.truth.pace)
    with case.recording():
        _train_from_workers(case, torch.utils.data.DataLoader(samples, num_workers=2))


@loop
def persistent_workers(case: Case) -> None:
    fetched = torch.utils.data.DataLoader(
        Stamped(case.count // 2, case.truth.pace), num_workers=2, persistent_workers=True
    )
    with case.recording():
        for _ in range(2):
            _train_from_workers(case, fetched)


@untimed
def spawned_workers(case: Case) -> None:
    with case.recording():
        for x, y in loader(None, 2, num_workers=1, multiprocessing_context="spawn"):
            case.train(x, y)


class Stream(torch.utils.data.IterableDataset[Any]):
    """Samples of which nobody knows how many there are."""

    def __init__(self, truth: Truth, count: int) -> None:
        self.truth = truth
        self.count = count

    def __iter__(self) -> Iterator[Any]:
        for index in range(self.count):
            self.truth.sleep("data", DATA)
            yield torch.ones(4) * (index % 3), torch.ones(1)


@loop
def stream(case: Case) -> None:
    with case.recording():
        for x, y in torch.utils.data.DataLoader(Stream(case.truth, case.count)):
            case.train(x, y)


@loop
def unbatched(case: Case) -> None:
    with case.recording():
        for x, y in loader(case.truth, case.count, batch_size=None):
            case.train(x, y)


class Slow(torch.utils.data.RandomSampler):
    """A sampler that takes its time before the first index of an epoch."""

    def __init__(self, truth: Truth, *args: Any) -> None:
        super().__init__(*args)
        self.truth = truth

    def __iter__(self) -> Iterator[int]:
        self.truth.sleep("data", 2 * DATA)
        yield from super().__iter__()


@loop
def iterator_made_anew_every_step(case: Case) -> None:
    """One batch an epoch: making the iterator is waiting for data too."""
    made = loader(case.truth, case.count)
    sampler = Slow(case.truth, made.dataset)
    fetched = torch.utils.data.DataLoader(made.dataset, sampler=sampler)
    with case.recording():
        for _ in range(case.count):
            for x, y in fetched:
                case.train(x, y)
                break


@loop
def batch_fetched_ahead(case: Case) -> None:
    with case.recording():
        fetched = iter(loader(case.truth, case.count))
        batch = next(fetched)
        while batch is not None:
            out = case.net(batch[0])
            ahead = next(fetched, None)
            case.loss(out, batch[1]).backward()
            case.step()
            batch = ahead


@loop
def two_loaders(case: Case) -> None:
    labelled, unlabelled = loader(case.truth, case.count), loader(case.truth, case.count)
    with case.recording():
        for (x, y), (z, _) in zip(labelled, unlabelled, strict=True):
            (case.loss(case.net(x), y) + case.net(z).mean()).backward()
            case.step()


@loop
def prefetching_thread(case: Case) -> None:
    """Another thread fetches; the loop waits for it, which only the loop's author can tell."""
    ready: queue.Queue[Any] = queue.Queue(1)

    class Timed(torch.utils.data.Dataset[Any]):
        def __len__(self) -> int:
            return case.count

        def __getitem__(self, index: int) -> Any:
            time.sleep(0.02 * case.truth.pace)
            return torch.ones(4) * (index % 3), torch.ones(1)

    over = threading.Event()

    def prefetch() -> None:
        for batch in torch.utils.data.DataLoader(Timed()):
            ready.put(batch)
        ready.put(None)
        over.wait()

    thread = threading.Thread(target=prefetch, name="prefetch")
    with case.recording():
        thread.start()
        while True:
            with case.truth.timed("other"):
                batch = ready.get()
            if batch is None:
                break
            case.train(*batch)
    over.set()
    thread.join()


@loop
def list_in_memory(case: Case) -> None:
    kept = [(torch.ones(1, 4) * (i % 3), torch.ones(1, 1)) for i in range(case.count)]
    with case.recording():
        for x, y in kept:
            case.train(x, y)


@loop
def generator(case: Case) -> None:
    with case.recording():
        for x, y in batches(case.truth, case.count):
            case.train(x, y)


@loop
def generator_that_is_told_of(case: Case) -> None:
    def told() -> Iterator[Any]:
        for index in range(case.count):
            case.truth.sleep("data", DATA)
            yield torch.ones(1, 4) * (index % 3), torch.ones(1, 1)

    with case.recording():
        for x, y in case.profiler.iter_data(told()) if case.profiler else told():
            case.train(x, y)
