"""What AutoProfiler costs, by what can be counted: calls, entries, objects, bytes, modules."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.core.recording.counting import calls
from tests.core.recording.decode import attempt
from tests.core.recording.truth import child
from tests.torch.auto.made import AutoProfiler, torch  # skips without pytscope-torch

from pytscope_torch.draining import NamingDrain  # isort: skip

Loop = Callable[[int], None]
BATCH = (torch.ones(2, 4), torch.ones(2, 1))


class Training:
    """A loop as anybody writes it, over a list or a `DataLoader`."""

    def __init__(self) -> None:
        self.model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.batches: Callable[[int], Iterable[Any]] = lambda steps: [BATCH] * steps

    def __call__(self, steps: int) -> None:
        for x, y in self.batches(steps):
            (self.model(x) - y).pow(2).mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


@pytest.fixture(params=["list", "loader"])
def training(request: pytest.FixtureRequest) -> Training:
    made = Training()
    if request.param == "loader":
        made.batches = lambda steps: torch.utils.data.DataLoader([BATCH] * steps, batch_size=None)
    return made


@pytest.fixture
def loop() -> Training:
    return Training()


@pytest.fixture
def silent(training: Training, tmp_path: Path) -> Iterator[Any]:
    """A recorder past its first steps, whose list nobody takes from."""
    prof = AutoProfiler(tmp_path, training.model, training.optimizer).start()
    assert prof._writer.stop()
    prof._writer.room = sys.maxsize
    training(8)
    prof._events.clear()
    gc.disable()  # a collection is stamped as well
    yield prof
    gc.enable()
    prof.finish()


def a_step(counted: Callable[[int], int]) -> float:
    """Of something counted over some steps, what one step more adds."""
    return (counted(48) - counted(16)) / 32


def test_calls_a_step(training: Training, silent: Any) -> None:
    recorded = a_step(lambda steps: calls(lambda: training(steps)))
    silent.finish()
    bare = a_step(lambda steps: calls(lambda: training(steps)))
    fetched = silent._stamps.fetched
    assert recorded - bare <= (19 if fetched else 16)


def test_entries_a_step(training: Training, silent: Any) -> None:
    def entries(steps: int) -> int:
        before = len(silent._events)
        training(steps)
        return len(silent._events) - before

    assert a_step(entries) == (24 if silent._stamps.fetched else 20)


def test_stamps_leave_nothing_to_the_garbage_collector(training: Training, silent: Any) -> None:
    training(4)
    gc.collect()
    before = len(gc.get_objects())
    training(200)
    gc.collect()
    assert len(gc.get_objects()) - before < 20
    assert len(silent._events) >= 204 * 20


def test_naming_looks_at_shapes_and_not_at_steps(training: Training, silent: Any) -> None:
    training(400)
    drain = NamingDrain(0, 0)
    events = list(silent._events)
    drain._named(events)  # shapes are named once
    assert calls(lambda: drain._named(events)) / 400 < 0.5


def test_bytes_a_step(loop: Training, tmp_path: Path) -> None:
    readings = iter(range(10**15, 10**18, 1_234_567))
    file = tmp_path / "rank00000.pts"
    sizes = []
    clock = {"clock": lambda: next(readings), "inline": True}
    with AutoProfiler(tmp_path, loop.model, loop.optimizer, **clock) as prof:
        for _ in range(3):
            loop(1_000)
            prof._writer.flush()
            sizes.append(file.stat().st_size)
    assert (sizes[2] - sizes[1]) / 1_000 < 50
    assert len(attempt(file.read_bytes())["steps"]) == 3_000


def test_the_event_list_stays_short(loop: Training, tmp_path: Path) -> None:
    longest = 0
    with AutoProfiler(tmp_path, loop.model, loop.optimizer, inline=True, flush_every=50) as prof:
        for _ in range(50):
            loop(20)
            longest = max(longest, len(prof._events))
    assert longest < 3 * 50 * 20


def test_a_start_looks_at_no_living_objects(
    loop: Training, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked = []
    monkeypatch.setattr(gc, "get_objects", lambda *_: walked.append(1) or [])
    with AutoProfiler(tmp_path, loop.model, loop.optimizer) as prof:
        loop(4)
    assert prof.recording is False
    assert not walked


def test_importing_pytscope_loads_nothing_of_it(tmp_path: Path) -> None:
    code = """
import sys
import pytscope
from pytscope import Profiler
with Profiler(sys.argv[1]) as prof:
    prof.begin_step()
    prof.end_step()
print(*{name.partition(".")[0] for name in sys.modules} & {"torch", "pytscope_torch", "psutil"})
"""
    assert child(code, tmp_path / "run").stdout.split() == []
    assert os.listdir(tmp_path / "run") == ["rank00000.pts"]  # noqa: PTH208  # names alone
