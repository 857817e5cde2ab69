"""What recording costs, by what can be counted: calls, entries, objects, bytes, writes, modules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytscope.recording.drain import Drain
from pytscope.recording.files import RunFile
from pytscope.recording.keys import BEGIN, END, LOG
from pytscope.recording.profiler import Profiler
from pytscope.recording.writer import ABSORB
from tests.core.recording.counting import calls, objects_kept

from .decode import attempt
from .truth import child, only

VALUES = {"loss": 2.5, "grad_norm": 0.25, "lr": 0.001}
Body = Callable[[Any, int], None]


def marks(prof: Any, _i: int) -> None:
    prof.begin_step()
    prof.mark("forward")
    prof.mark("backward")
    prof.mark("optimizer")
    prof.end_step()


def full(prof: Any, _i: int) -> None:
    prof.begin_step()
    prof.mark("data")
    prof.mark("forward")
    prof.mark("backward")
    prof.mark("optimizer")
    prof.log(**VALUES)
    prof.end_step()


def mixed(prof: Any, i: int) -> None:
    prof.begin_step()
    prof.mark("data")
    prof.mark("forward")
    prof.mark("backward")
    if i % 33 == 7:
        prof.mark("gc")
    prof.mark("optimizer")
    if i % 50 == 49:
        prof.mark("eval")
    if i % 10 == 9:
        prof.log(**VALUES)
    if i % 20 == 4:
        prof.mark("log")
    prof.end_step()


def training_pace() -> Callable[[], int]:
    readings = iter(range(10**15, 10**17, 12_345_678))
    return lambda: next(readings)


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[Profiler]:
    """A recorder whose list nobody takes from."""
    prof = Profiler(tmp_path).start()
    assert prof._writer.stop()
    prof._writer.room = sys.maxsize
    prof._events.clear()
    yield prof
    prof.finish()


@pytest.mark.parametrize(("body", "made"), [(marks, 5), (full, 7)])
def test_a_stamp_is_one_call(silent: Profiler, tmp_path: Path, body: Body, made: int) -> None:
    idle = Profiler(tmp_path / "idle")
    assert calls(lambda: body(silent, 0)) == 2 + made
    assert calls(lambda: body(idle, 0)) == 2 + made


@pytest.mark.parametrize(("body", "entries"), [(marks, 10), (full, 14)])
def test_a_stamp_is_two_entries(silent: Profiler, body: Body, entries: int) -> None:
    for i in range(100):
        body(silent, i)
    assert len(silent._events) == 100 * entries


def test_stamps_leave_nothing_to_the_garbage_collector(silent: Profiler) -> None:
    def steps() -> None:
        for i in range(1_000):
            marks(silent, i)

    assert objects_kept(steps) < 10


@pytest.mark.parametrize(("body", "most"), [(marks, 21), (full, 41), (mixed, 31)])
def test_bytes_a_step(tmp_path: Path, body: Body, most: float) -> None:
    with Profiler(tmp_path, inline=True, clock=training_pace()) as prof:
        before = 0
        for i in range(4_000):
            body(prof, i)
            if i == 1_999:
                prof._writer.flush()
                before = (tmp_path / "rank00000.pts").stat().st_size
        prof._writer.flush()
        grown = (tmp_path / "rank00000.pts").stat().st_size - before
    assert grown / 2_000 < most
    assert len(only(tmp_path)) == 4_000


def test_one_write_for_many_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    write = RunFile.write

    def counted(file: RunFile, data: bytes) -> None:
        written.append(len(data))
        write(file, data)

    monkeypatch.setattr(RunFile, "write", counted)
    with Profiler(tmp_path, inline=True, flush_every=500) as prof:
        for i in range(5_000):
            full(prof, i)
    assert 10 <= len(written) <= 20


@pytest.mark.parametrize(("body", "most"), [(full, 0.5), (mixed, 6.0)])
def test_packing_looks_at_shapes_and_not_at_steps(body: Body, most: float) -> None:
    events: list[Any] = []

    class Stamps:
        """Stamps a millisecond apart."""

        def _stamp(self, key: object) -> None:
            events.extend((key, 10**9 + 10**6 * len(events)))

        def begin_step(self) -> None:
            self._stamp(BEGIN)

        def mark(self, name: str) -> None:
            self._stamp(name)

        def log(self, loss: float, grad_norm: float, lr: float) -> None:
            events.extend((LOG, (loss, grad_norm, lr, None, None)))

        def end_step(self) -> None:
            self._stamp(END)

    for i in range(500):
        body(Stamps(), i)
    drain = Drain(10**9, 0)
    drain.take(list(events))  # plans are made once
    assert calls(lambda: drain.take(list(events))) / 500 < most


def test_an_endless_step_takes_bounded_room(tmp_path: Path) -> None:
    longest = 0
    with Profiler(tmp_path, inline=True, clock=training_pace()) as prof, prof.step():
        for _ in range(100_000):
            prof.mark("forward")
            prof.mark("backward")
            longest = max(longest, len(prof._events))
    assert longest < 3 * ABSORB
    (row,) = attempt((tmp_path / "rank00000.pts").read_bytes())["steps"]
    sums: dict[str, int] = {}
    for name, ns in row["segments"]:
        sums[name] = sums.get(name, 0) + ns
    for name in ("forward", "backward"):  # the writer looks at the clock as well
        assert sums[name] == pytest.approx(100_000 * 12_345_678, rel=1e-3)


def test_recording_loads_the_standard_library_alone(tmp_path: Path) -> None:
    heavy = "numpy attr attrs cattrs click rich pluggy packaging torch asyncio"
    code = """
import sys
from pytscope import Profiler
with Profiler(sys.argv[1]) as prof:
    for batch in prof.iter_data(range(10)):
        with prof.step():
            prof.mark("forward")
            prof.log(loss=1.0, seen=batch)
print(*{name.partition(".")[0] for name in sys.modules} & set(sys.argv[2].split()))
"""
    assert child(code, tmp_path, heavy).stdout.split() == []
