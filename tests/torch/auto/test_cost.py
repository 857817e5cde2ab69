"""What AutoProfiler costs, by what can be counted: calls, entries, objects, bytes, modules."""

from __future__ import annotations

import functools
import gc
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.core.recording.counting import calls, objects_kept
from tests.core.recording.decode import attempt
from tests.core.recording.truth import child
from tests.torch.auto.made import AutoProfiler, torch  # skips without pytscope-torch

from pytscope_torch.draining import NamingDrain  # isort: skip
from pytscope_torch.seams import modules  # isort: skip
from pytscope_torch.seams.references import ALONE  # isort: skip

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
    assert recorded - bare <= (11 if fetched else 10)


def test_entries_a_step(training: Training, silent: Any) -> None:
    def entries(steps: int) -> int:
        before = len(silent._events)
        training(steps)
        return len(silent._events) - before

    assert a_step(entries) == (24 if silent._stamps.fetched else 20)


def test_stamps_leave_nothing_to_the_garbage_collector(training: Training, silent: Any) -> None:
    training(4)
    assert objects_kept(lambda: training(200)) < 20
    assert len(silent._events) >= 1_004 * 20


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
    assert (sizes[2] - sizes[1]) / 1_000 < 58  # eight of them are the learning rate
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


class Frames:
    """`sys`, with an eye on who asks for frames."""

    def __init__(self) -> None:
        self.asked = 0

    def _getframe(self, depth: int) -> Any:
        self.asked += 1
        return sys._getframe(depth + 1)


class Adds(torch.nn.Linear):  # type: ignore[misc]  # torch may be absent
    """Called by names as well."""

    def forward(self, x: Any, more: float = 0.0) -> Any:
        return super().forward(x) + more


class Doubles(Adds):
    """What else may share a module's attributes."""

    def forward(self, x: Any, more: float = 0.0) -> Any:
        return 2 * super().forward(x, more)


def shallow(model: Any, value: float) -> Any:
    """A copy of a module's attributes with parameters of its own."""
    copied = object.__new__(type(model))
    copied.__dict__ = dict(model.__dict__)
    copied._parameters = {name: torch.full_like(p, value) for name, p in model._parameters.items()}
    return copied


@pytest.mark.skipif(not any(ALONE), reason="this interpreter's references tell nothing")
def test_frames_are_looked_at_only_while_there_are_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = Frames()
    monkeypatch.setattr(modules, "sys", frames)
    model, x = Adds(1, 1), torch.ones(1, 1)
    with AutoProfiler(tmp_path, model):
        for _ in range(20):
            model(x)
            model(x, more=1.0)
            model(x=x)
        assert frames.asked == 0
        copied = shallow(model, 3.0)
        assert copied(x).item() == 6.0
        assert copied(x, more=1.0).item() == 7.0
        model(x)
        assert frames.asked == 3
        del copied
        model(x)
        model(x=x)
        assert frames.asked == 3


def test_copies_compute_with_their_own_whenever_they_were_made(tmp_path: Path) -> None:
    model, x = Adds(1, 1), torch.ones(1, 1)
    copies: list[Any] = []

    def right() -> bool:
        found = [(one(x).item(), one(x=x, more=1).item()) for one in copies]
        return found == [(2.0 * i, 2.0 * i + 1) for i in range(len(copies))]

    with AutoProfiler(tmp_path, model) as prof:
        copies.append(shallow(model, 0.0))  # before any call
        assert right()
        copies += [shallow(model, 1.0), shallow(model, 2.0)]
        model(x)
        assert right()
        first = model.__dict__[modules.SLOT_NAME]
        model.__dict__[modules.SLOT_NAME] = model._call_impl  # as compiling in place does
        assert right()
        del copies[1:]
        assert right()
        prof._modules.keep()
        assert right()
        model.__dict__[modules.SLOT_NAME] = first  # somebody kept it and puts it back
        del first
        assert right()
    for number in (1, 2, 3):  # each of them holds a wrapper that is out of use
        assert right()
        copies.append(shallow(copies[0], float(number)))


def traced(call: Callable[[], Any]) -> Any:
    """A call while a debugger looks at every line."""

    def look(frame: Any, _event: str, _argument: Any) -> Any:
        frame.f_locals.keys()
        return look

    sys.settrace(look)
    try:
        return call()
    finally:
        sys.settrace(None)


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "called": lambda one, x: one(x),
    "by name": lambda one, x: one(x=x),
    "mapped": lambda one, x: next(map(one, [x])),
    "partial": lambda one, x: functools.partial(one, x)(),
    "spread": lambda one, x: next(itertools.starmap(one, [(x,)])),
    "method": lambda one, x: one.__call__(x),
    "type's": lambda one, x: type(one).__call__(one, x),
    "generator": lambda one, x: next(one(part) for part in [x]),
    "thread": lambda one, x: ThreadPoolExecutor(1).submit(one, x).result(),
    "checkpoint": lambda one, x: torch.utils.checkpoint.checkpoint(one, x, use_reentrant=False),
    "functional": lambda one, x: torch.func.functional_call(one, dict(one._parameters), (x,)),
    "vmap": lambda one, x: torch.func.vmap(one)(x[None])[0],
    "traced": lambda one, x: traced(lambda: one(x)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_is_told_however_it_is_called(tmp_path: Path, way: str) -> None:
    call, model, x = WAYS[way], Adds(1, 1), torch.ones(1, 1)
    sharing = object.__new__(Doubles)
    with AutoProfiler(tmp_path, model):
        own = [call(model, x).item() for _ in range(20)]
        copied = shallow(model, 3.0)
        for _ in range(20):
            assert call(copied, x).item() == 6.0
            own.append(call(model, x).item())
        del copied
        sharing.__dict__ = model.__dict__
        own.append(call(sharing, x).item() / 2)
        assert own == [call(model, x).item()] * 41
